"""The bench's own arithmetic and printing; and its cheapest row, small, from beginning to end."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.bench.__main__ import MEASURES, main
from tests.bench.corpus import change, make_corpus
from tests.bench.place import CouldNotMeasure, Place
from tests.bench.rows import Row, interleaved, markdown, percentile, table, write_json
from tests.support.git import Repository

FAST = Row("fast enough", 1.04, 1.05, "1.0 s against 0.9 s")
SLOW = Row("too slow | by far", 120.4, 100, unit="ms")
BUSY = Row("kept busy", 0.96, 0.95, at_least=True)
IDLE = Row("left idle", 0.94, 0.95, at_least=True)


def test_a_bar_is_met_from_the_side_that_it_is_set_for() -> None:
    assert [row.is_met for row in (FAST, SLOW, BUSY, IDLE)] == [True, False, True, False]
    assert Row("exactly", 0.3, 0.3).is_met
    assert Row("exactly", 0.95, 0.95, at_least=True).is_met


def test_the_table_has_a_line_for_each_row_and_its_columns_stand_below_each_other() -> None:
    heading, *lines = table([FAST, SLOW, IDLE]).split("\n")
    assert [line.split()[-1] for line in lines] == ["yes", "NO", "NO"]
    assert {line.index(bar) for line, bar in zip(lines, ("≤ 1.05 ×", "≤ 100 ms", "≥ 0.95 ×"), strict=True)} == {
        heading.index("bar")
    }
    assert "1.04 ×" in lines[0]
    assert "120 ms" in lines[1]


def test_markdown_has_as_many_cells_in_each_line_whatever_a_text_holds() -> None:
    lines = markdown([FAST, SLOW]).splitlines()
    assert {line.replace(r"\|", "").count("|") for line in lines} == {6}
    assert len(lines) == 4


def test_the_document_says_of_each_row_whether_its_bar_is_met(tmp_path: Path) -> None:
    write_json(tmp_path / "bench.json", [FAST, IDLE], {"scale": 1.0})
    document = json.loads((tmp_path / "bench.json").read_text())
    assert document["scale"] == 1.0
    assert [(row["measured"], row["met"]) for row in document["rows"]] == [(1.04, True), (0.94, False)]


def test_measures_take_turns_and_each_is_told_by_its_median() -> None:
    order: list[str] = []
    answers = {"a": iter([9.0, 1.0, 2.0]), "b": iter([4.0, 6.0, 5.0])}

    def measure(name: str) -> float:
        order.append(name)
        return next(answers[name])

    assert interleaved(3, lambda: measure("a"), lambda: measure("b")) == [2.0, 5.0]
    assert order == ["a", "b"] * 3


def test_a_percentile_is_a_value_that_was_seen() -> None:
    assert percentile([5.0, 1.0, 4.0, 2.0, 3.0], 0.5) == 3.0
    assert percentile([float(number) for number in range(1, 101)], 0.95) == 95.0
    assert percentile([7.0], 0.95) == 7.0
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.95)


def test_the_corpus_is_the_same_each_time_and_a_change_edits_deletes_and_renames(tmp_path: Path) -> None:
    one, other = tmp_path / "one.git", tmp_path / "other.git"
    for path in (one, other):
        make_corpus(path, 40)
        change(path, 0)
    repository = Repository(one)
    assert repository.head == Repository(other).head
    lines = repository.git("diff", "--name-status", "--find-renames", "main~1", "main").split("\n")
    assert {line[0] for line in lines} == {"M", "D", "R"}
    assert len(repository.git("ls-tree", "-r", "--name-only", "main~1").split("\n")) == 40


def test_copies_of_the_corpus_stand_under_folders_of_their_own(tmp_path: Path) -> None:
    make_corpus(tmp_path / "four.git", 5, copies=4)
    names = Repository(tmp_path / "four.git").git("ls-tree", "-r", "--name-only", "main").split("\n")
    assert len(names) == 20


def test_a_child_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(CouldNotMeasure, match="No such file"):
        Place(tmp_path).child("tests.bench.bare:embed", texts=str(tmp_path / "missing.json"))


@pytest.mark.slow
def test_an_idle_run_is_measured_and_a_table_comes_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document, page = tmp_path / "bench.json", tmp_path / "bench.md"
    options = ["--scale", "0.01", "--times", "1", "--json", str(document), "--markdown", str(page)]
    assert main(["idle", *options, "--folder", str(tmp_path)]) == 0
    rows = json.loads(document.read_text())["rows"]
    assert all(math.isfinite(row["measured"]) for row in rows)  # a difference of two may be below zero
    assert "no-op refresh" in capsys.readouterr().out
    assert page.read_text().count("\n") == 2 + len(rows)
    assert {path.name for path in tmp_path.iterdir()} == {"bench.json", "bench.md"}


def test_what_could_not_be_measured_ends_in_another_code_and_keeps_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(MEASURES, "broken", f"{__name__}:broken")
    monkeypatch.setitem(MEASURES, "missed", f"{__name__}:missed")
    assert main(["missed"]) == 0
    assert main(["broken", "missed"]) == 1
    told = capsys.readouterr()
    assert "left idle" in told.out
    assert "it rained" in told.err


def broken(place: Place) -> list[Row]:
    raise CouldNotMeasure("it rained")


def missed(place: Place) -> list[Row]:
    return [IDLE]


def test_a_row_that_nobody_knows_is_refused_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["frist"])
    assert "first" in capsys.readouterr().err
