"""Fusion by hand (SRC-01), and the mix of both sides."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from huginn.search.fuse import Candidate, fuse, fuse_files, mix, ranked

CASES = json.loads((Path(__file__).parent.parent / "cases" / "src_01" / "lists.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_src_01_fusion_by_hand(case: dict[str, Any]) -> None:
    fused = fuse(case["lists"], k=case["k"])
    assert {hit.id: pytest.approx(hit.score, abs=1e-8) for hit in fused} == case["scores"]
    order = iter(hit.id for hit in fused)
    for group in case["expected"]:
        assert {next(order) for _ in group} == set(group)
    assert next(order, None) is None


def test_equal_scores_are_ordered_by_best_rank_and_then_by_id() -> None:
    hits = fuse([["b", "x"], ["a", "y"], ["c"]])
    assert [hit.id for hit in hits] == ["a", "b", "c", "x", "y"]


def test_a_point_that_is_first_in_two_lists_outranks_one_that_is_first_in_one() -> None:
    assert [hit.id for hit in fuse([["a", "b"], ["b", "a"], ["b"]])] == ["b", "a"]


def test_the_order_does_not_depend_on_the_order_of_the_lists() -> None:
    lists = [["a", "b", "c"], ["c", "d"], ["d", "a"], ["e"]]
    expected = [(hit.id, hit.score) for hit in fuse(lists)]
    for seed in range(20):
        random.Random(seed).shuffle(lists)
        assert [(hit.id, hit.score) for hit in fuse(lists)] == expected


def test_the_mix_is_the_formula_of_the_design() -> None:
    found = mix("abc", bm25={"a": 8.0, "b": 4.0}, cosine={"a": 0.2, "c": 0.5}, weight=2.0)
    assert [(entry.id, round(entry.score, 6)) for entry in found] == [
        ("a", round((1 + 2 * 0.2) / 3, 6)),
        ("c", round(2 * 0.5 / 3, 6)),
        ("b", round(0.5 / 3, 6)),
    ]


def test_without_a_common_word_meaning_alone_decides() -> None:
    assert [entry.id for entry in mix("ab", bm25={}, cosine={"a": 0.1, "b": 0.3}, weight=2.0)] == ["b", "a"]


def test_equal_candidates_are_ordered_by_id() -> None:
    assert [entry.id for entry in ranked([Candidate("b", 1.0), Candidate("a", 1.0)])] == ["a", "b"]


def candidates(*scored: tuple[str, float]) -> list[Candidate]:
    return [Candidate(point, score) for point, score in scored]


FILES = {point: point[0] for point in ("a1", "a2", "a3", "a4", "b1", "c1")}


def test_by_file_each_file_is_shown_by_its_best_chunk_before_any_second_one() -> None:
    fused = fuse_files([candidates(("a1", 0.9), ("a2", 0.8), ("b1", 0.4), ("c1", 0.3))], FILES)
    assert [hit.id for hit in fused] == ["a1", "b1", "c1", "a2"]
    assert [hit.score for hit in fused] == [1 / 6, 1 / 7, 1 / 8, 1 / 9]


def test_at_most_three_chunks_of_a_file_are_shown() -> None:
    fused = fuse_files([candidates(("a1", 0.9), ("a2", 0.8), ("a3", 0.7), ("a4", 0.6))], FILES)
    assert [hit.id for hit in fused] == ["a1", "a2", "a3"]
    assert fused[0].others == ["a2", "a3"]


def test_a_file_that_ranks_well_for_both_texts_by_different_chunks_comes_first() -> None:
    one, other = candidates(("b1", 0.9), ("a1", 0.8)), candidates(("c1", 0.9), ("a2", 0.8))
    by_file = fuse_files([one, other], FILES)
    assert by_file[0].id == "a1"
    assert by_file[0].ranks == {0: 2, 1: 2}
    assert by_file[0].score == pytest.approx(2 / 7)


def test_what_matches_exactly_comes_before_all_else_of_its_list() -> None:
    exact = [Candidate("a2", 0.1, exact=1), Candidate("c1", 0.1, exact=1), *candidates(("b1", 0.9), ("a1", 0.8))]
    assert [hit.id for hit in fuse_files([exact], FILES)] == ["a2", "c1", "b1", "a1"]
