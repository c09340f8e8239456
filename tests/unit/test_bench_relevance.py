"""The questions of the bench of relevance, made from a small history, and what it makes of answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.bench.relevance import QUESTIONS, interval, scores
from tests.bench.relevance_sets import lines_of, load, make
from tests.support.git import Repository


def test_questions_are_commits_that_change_a_few_files_of_the_base(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "remote.git")
    repository.commit({"src/a.py": "1\n", "src/b.py": "1\n", "CHANGES.md": "1\n", "tests/test_a.py": "1\n"})
    base = repository.output("rev-parse", "main").decode().strip()
    later: tuple[tuple[str, dict[str | bytes, bytes | str | None]], ...] = (
        ("Mend the nest of herons (#12)", {"src/a.py": "2\n", "CHANGES.md": "2\n", "tests/test_a.py": "2\n"}),
        ("Fix a typo in it", {"src/a.py": "3\n"}),
        ("Add one file more", {"src/c.py": "1\n"}),
        ("Change what is new", {"src/c.py": "2\n"}),
        ("Only the tests differ", {"tests/test_a.py": "3\n"}),
        ("Bump to version 2", {"src/b.py": "2\n"}),
        ("Short one", {"src/b.py": "3\n"}),
        ("Both files at once", {"src/a.py": "4\n", "src/b.py": "4\n"}),
    )
    for message, files in later:
        repository.commit(files, message=message)
    made = make("birds", tmp_path / "remote.git", back=8)
    assert made.base == base
    assert [(question.subject, question.files) for question in made.questions] == [
        ("Mend the nest of herons", ("src/a.py",)),
        ("Both files at once", ("src/a.py", "src/b.py")),
    ]
    kept = tmp_path / "birds.jsonl"
    kept.write_text("\n".join(lines_of(made)), encoding="utf-8")
    assert load(kept) == made


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["a", "x"], [1, 1, 0.5, 1]),
        (["x", "x", "b", "a"], [0, 1, 1, 0.5]),
        (["1", "2", "3", "4", "5", "a"], [0, 0, 0.5, 1 / 6]),
        ([str(number) for number in range(10)] + ["a"], [0, 0, 0, 0]),
    ],
)
def test_the_metrics_count_files_not_hits(paths: list[str], expected: list[float]) -> None:
    assert scores(paths, ["a", "b"]) == expected


def test_an_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few, many = np.array([0.0, 1.0] * 10), np.array([0.0, 1.0] * 1000)
    assert interval(few)[0] < 0.5 < interval(few)[1]
    assert interval(many)[1] - interval(many)[0] < interval(few)[1] - interval(few)[0]


@pytest.mark.parametrize(("name", "count"), [("requests", 250), ("click", 249), ("rich", 250), ("ripgrep", 250)])
def test_the_sets_that_are_kept_hold_ids_subjects_and_paths(name: str, count: int) -> None:
    kept = load(QUESTIONS / f"{name}.jsonl")
    assert len(kept.questions) == count
    assert len({question.commit for question in kept.questions}) == count
