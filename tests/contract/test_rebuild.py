"""Another model, chunker or scrub: the new index is built beside the old one, which goes on answering."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

import huginn.rules
from huginn import scrub
from huginn.embed import Identity, Vector
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Refused
from huginn.index.label import make_label
from huginn.index.opening import open_shelf
from huginn.index.shelf import Choice, Collection, choose, outlived
from huginn.report import RunReport
from huginn.scrub import Clean
from tests.support.faults import Fuse, Killed, fused
from tests.support.git import Repository
from tests.support.workspace import Workspace

TEXT = "".join(f"def part{number}():\n    return {number} * 'heron in the water'\n\n\n" for number in range(60))


@pytest.fixture
def repositories(tmp_path: Path) -> list[Repository]:
    one, two = Repository(tmp_path / "one.git"), Repository(tmp_path / "two.git")
    one.commit({"many.py": TEXT, "walrus.md": "walrus\n"})
    two.commit({"osprey.md": "osprey\n"})
    return [one, two]


@pytest.fixture
def workspace(tmp_path: Path, repositories: list[Repository]) -> Workspace:
    workspace = Workspace(tmp_path, {repository.path.stem: repository.path for repository in repositories})
    workspace.refresh()
    return workspace


@contextmanager
def changed(*, rules: bool = False, model: bool = False, scrubber: bool = False) -> Iterator[None]:
    """Other rules, another model or another scrub than the index was made with."""
    with ExitStack() as stack:
        if rules:
            versions = {**huginn.rules.versions(), "chunker": "next"}
            stack.enter_context(patch.object(huginn.rules, "versions", lambda: versions))
        if model:
            embed = WordLlamaEmbedder.embed

            def other(self: WordLlamaEmbedder, texts: Sequence[Clean]) -> Sequence[Vector]:
                return [-vector for vector in embed(self, texts)]

            stack.enter_context(patch.object(WordLlamaEmbedder, "identity", Identity("other", "sha256:other", 256)))
            stack.enter_context(patch.object(WordLlamaEmbedder, "embed", other))
        if scrubber:
            stack.enter_context(patch.object(scrub, "fingerprint", lambda: "next"))
        yield


def embedded(report: RunReport) -> int:
    return sum(source.embedded for source in report.sources)


def break_one(workspace: Workspace) -> None:
    """The first repository cannot be reached, so that the new index cannot become complete."""
    path = Path(str(workspace.repos["one"]))
    path.rename(path.with_suffix(".away"))


def mend_one(workspace: Workspace) -> None:
    path = Path(str(workspace.repos["one"]))
    path.with_suffix(".away").rename(path)


def test_other_rules_build_anew_and_carry_all_vectors_over(workspace: Workspace) -> None:
    before = workspace.points()
    old = open_shelf(workspace.settings).current()
    with changed(rules=True):
        report = workspace.refresh()
        assert report.rebuild is not None
        assert (report.rebuild.switched, report.rebuild.carried, report.rebuild.points) == (True, True, len(before))
        assert report.rebuild.counts["two"] == (1, 1)
        assert embedded(report) == 0
        assert sum(source.reused for source in report.sources) == len(before)
        assert workspace.points() == before
        assert workspace.refresh().rebuild is None
        assert [source.outcome for source in workspace.refresh().sources] == ["unchanged", "unchanged"]
    shelf = open_shelf(workspace.settings)
    assert old is not None
    assert [other.id for other in shelf.others()] == [old.id]


def test_another_model_embeds_anew(workspace: Workspace) -> None:
    with changed(model=True):
        report = workspace.refresh()
        assert report.rebuild is not None
        assert (report.rebuild.switched, report.rebuild.carried) == (True, False)
        assert embedded(report) == sum(source.chunks for source in report.sources)
        fresh = workspace.fresh()
        fresh.refresh()
        assert workspace.points() == fresh.points()
        assert workspace.search("heron", mode="meaning").hits


def test_until_the_switch_the_old_index_answers_by_words_and_says_why_not_by_meaning(workspace: Workspace) -> None:
    break_one(workspace)
    with changed(model=True):
        report = workspace.refresh()
        assert report.rebuild is not None
        assert (report.rebuild.switched, report.rebuild.waiting) == (False, ["one"])
        assert "until it holds 1 of 2 sources (one)" in report.rebuild.told()
        assert workspace.paths_with("walrus") == ["walrus.md"]
        for mode in ("meaning", "hybrid"):
            with pytest.raises(Refused, match=r"mode: .*not to be had any more.*--mode words"):
                workspace.search("heron", mode=mode)
        mend_one(workspace)
        report = workspace.refresh()
        assert report.rebuild is not None
        assert report.rebuild.switched
        assert embedded(report) == next(source.chunks for source in report.sources if source.source == "one")
        assert workspace.search("heron", mode="meaning").hits


def test_until_the_switch_an_index_of_other_rules_answers_in_every_mode(workspace: Workspace) -> None:
    before = [hit.id for hit in workspace.search("heron in the water").hits]
    break_one(workspace)
    with changed(rules=True):
        workspace.refresh()
        assert [hit.id for hit in workspace.search("heron in the water").hits] == before


def test_going_back_before_the_switch_costs_nothing(workspace: Workspace) -> None:
    before = workspace.points()
    break_one(workspace)
    with changed(model=True):
        workspace.refresh()
    mend_one(workspace)
    report = workspace.refresh()
    assert report.rebuild is None
    assert [source.outcome for source in report.sources] == ["unchanged", "unchanged"]
    assert workspace.points() == before
    assert open_shelf(workspace.settings).others() == []


def test_going_back_after_the_switch_finds_the_retired_index_again(workspace: Workspace) -> None:
    before = workspace.points()
    with changed(model=True):
        workspace.refresh()
    report = workspace.refresh()
    assert report.rebuild is not None
    assert report.rebuild.switched
    assert embedded(report) == 0
    assert workspace.points() == before


@pytest.mark.parametrize("length", range(0, 60, 4))
def test_a_rebuild_that_is_killed_anywhere_goes_on_where_it_was(workspace: Workspace, length: int) -> None:
    with changed(rules=True):
        with fused(Fuse(length)), suppress(Killed):
            workspace.refresh()
        assert workspace.paths_with("walrus") == ["walrus.md"]
        workspace.refresh()
        fresh = workspace.fresh()
        fresh.refresh()
        assert workspace.points() == fresh.points()
        assert len(open_shelf(workspace.settings).others()) <= 1


def test_removals_reach_the_old_index_while_the_new_one_is_built(
    workspace: Workspace, repositories: list[Repository]
) -> None:
    break_one(workspace)
    repositories[1].commit({"osprey.md": None, "new.md": "quince\n"})
    with changed(rules=True):
        report = workspace.refresh()
        assert report.rebuild is not None
        assert not report.rebuild.switched
        assert workspace.paths_with("osprey") == []
        repositories[1].commit({"new.md": None})
        workspace.refresh()
        assert workspace.paths_with("quince") == []


def test_a_forgotten_repository_leaves_every_index_on_disk(workspace: Workspace, tmp_path: Path) -> None:
    with changed(rules=True):
        workspace.refresh()
        only = Workspace(tmp_path, {"two": workspace.repos["two"]})
        only.refresh()
        shelf = open_shelf(workspace.settings)
        for collection in shelf.others():
            index = shelf.open(collection, wait=0)
            assert index.sources("forge") == {"two": 1}
            index.close()


def test_an_index_of_another_scrub_goes_at_the_switch_and_is_scrubbed_until_then(workspace: Workspace) -> None:
    break_one(workspace)

    def stricter(text: str) -> scrub.Scrubbed:
        return scrubbed(text.replace("walrus", "[secret: animal]"))

    scrubbed = scrub.scrub
    with changed(scrubber=True):
        workspace.refresh()
        with patch.object(scrub, "scrub", stricter):
            texts = [hit.text for hit in workspace.search("md heron", mode="words", top_k=50).hits]
        assert any("[secret: animal]" in text for text in texts)
        assert not any("walrus" in text for text in texts)
        mend_one(workspace)
        report = workspace.refresh()
        assert report.rebuild is not None
        assert report.rebuild.switched
        assert open_shelf(workspace.settings).others() == []


def test_where_the_settings_say_ask_a_refresh_refuses_and_a_rebuild_does_it(workspace: Workspace) -> None:
    workspace.index_settings = {"rebuild": "ask"}
    with changed(rules=True):
        with pytest.raises(Refused, match="huginn rebuild --all"):
            workspace.refresh()
        assert workspace.paths_with("walrus") == ["walrus.md"]
        report = workspace.refresh(rebuild=True)
        assert report.rebuild is not None
        assert report.rebuild.switched


def test_a_retired_index_is_kept_as_long_as_the_settings_say(workspace: Workspace) -> None:
    with changed(rules=True):
        workspace.refresh()
        assert len(open_shelf(workspace.settings).others()) == 1
        workspace.index_settings = {"keep_hours": 0}
        workspace.refresh()
        assert open_shelf(workspace.settings).others() == []


def test_a_lost_pointer_makes_no_second_copy(workspace: Workspace) -> None:
    before = workspace.points()
    (workspace.settings.state / "index" / "current.json").unlink()
    report = workspace.refresh()
    assert embedded(report) == 0
    assert workspace.points() == before
    shutil.rmtree(workspace.settings.state / "index")
    workspace.refresh()
    assert workspace.points() == before


ONE = make_label("Test", Identity("m", "d", 4), {}, "s")
TWO = ONE.model_copy(update={"rules": "two"})
MOMENT = datetime(2024, 3, 1, tzinfo=UTC)


def collection(name: str, label: huginn.index.label.Label, retired: datetime | None = None) -> Collection:
    return Collection(name, name, label, retired)


def test_the_choice_of_what_to_write() -> None:
    one, two = collection("one", ONE), collection("two", TWO)
    old_two = collection("old", TWO, MOMENT)
    assert choose(None, [], ONE) == Choice(None, is_building=False)
    assert choose(None, [one], ONE) == Choice(one, is_building=False)
    assert choose(one, [], ONE) == Choice(one, is_building=False)
    assert choose(one, [], TWO) == Choice(None, is_building=True)
    assert choose(one, [two], TWO) == Choice(two, is_building=True)
    assert choose(one, [two], ONE) == Choice(one, is_building=False, drop=(two,))
    assert choose(one, [old_two], ONE) == Choice(one, is_building=False)
    asked_for = collection("asked for", ONE)
    assert choose(one, [asked_for, two], ONE) == Choice(asked_for, is_building=True, drop=(two,))
    assert choose(one, [collection("old", ONE, MOMENT)], ONE) == Choice(one, is_building=False)
    assert choose(one, [old_two], TWO) == Choice(old_two, is_building=True)


def test_what_is_retired_is_kept_for_a_while_unless_it_was_scrubbed_otherwise() -> None:
    current = collection("one", ONE)
    fresh, stale = collection("fresh", TWO, MOMENT), collection("stale", TWO, MOMENT - timedelta(days=2))
    leaky = collection("leaky", ONE.model_copy(update={"scrub": "before"}), MOMENT)
    building = collection("building", TWO)
    oldest = MOMENT - timedelta(days=1)
    assert outlived(current, [fresh, stale, leaky, building], ONE, oldest) == [stale, leaky]
    assert outlived(None, [fresh, leaky], ONE, oldest) == [leaky]
    stricter = ONE.model_copy(update={"scrub": "next"})
    assert outlived(current, [fresh, building], stricter, oldest) == [fresh]
