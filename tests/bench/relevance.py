"""`python -m tests.bench.relevance`: how good answers are, by questions from real history.

Each set of `tests/bench/questions` for which a clone is given (`--repos /path/to/requests /path/to/click`, by the name
of the folder) is indexed at its base, in one index of its own, and asked; without clones it is this project's own
history. Told are hit@1, hit@5, recall@10 and MRR@10 by file, each with the interval that 95 of 100 resamplings of the
questions keep, and the difference to the run before that was kept in `--json`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from huginn.search import Query, search
from huginn.settings import load as load_settings
from tests.bench.place import Place
from tests.bench.relevance_index import indexed
from tests.bench.relevance_sets import Question, Set, body, git_folder, load, make

QUESTIONS = Path(__file__).parent / "questions"
METRICS = ("hit@1", "hit@5", "recall@10", "MRR@10")
FORMS = ("subject", "subject+body", "several texts", "brief")
MODES = ("hybrid", "meaning", "words")
_ROOT = Path(__file__).parents[2]
_RESAMPLINGS = 2000
_TOP_K = 50
Table = NDArray[np.float64]


def main(arguments: Sequence[str]) -> int:
    """Measure and tell."""
    options = _options(arguments)
    found: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="relevance-") as folder:
        for questions, clone in _sets(options.repos):
            _tell(f"{questions.name}: {len(questions.questions)} questions")
            settings = indexed(Path(folder), questions, clone)
            with Place(Path(folder)).started("tests.bench.runs:hold", config=str(settings)) as holder:
                holder.line()
                for key, rows in _asked(settings, questions, clone, options).items():
                    found.setdefault(key, []).extend(rows)
    before = json.loads(options.json.read_text(encoding="utf-8")) if options.json and options.json.exists() else {}
    for key, rows in found.items():
        sys.stdout.write(_line(key, np.array(rows), before.get(key)) + "\n")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({**before, **found}), encoding="utf-8")
    return 0


def scores(paths: Sequence[str], answers: Sequence[str]) -> list[float]:
    """The metrics of one question: the files of its hits, best first, against those that are its answers."""
    first = list(dict.fromkeys(paths))[:10]
    ranks = [rank for rank, path in enumerate(first, start=1) if path in answers]
    best = min(ranks, default=0)
    return [float(best == 1), float(1 <= best <= 5), len(ranks) / len(answers), 1 / best if best else 0.0]


def texts_of(question: Question, clone: Path, form: str) -> dict[str, Any] | None:
    """What is asked in a form; None where a question has no such form."""
    more = body(clone, question.commit)
    whole = f"{question.subject}\n\n{more}"
    match form:
        case "subject":
            return {"texts": [question.subject]}
        case _ if not more:
            return None
        case "subject+body":
            return {"texts": [whole.encode()[:1000].decode(errors="ignore")]}
        case "several texts":
            paragraphs = [each.strip().encode()[:1000].decode(errors="ignore") for each in whole.split("\n\n")]
            return {"texts": [each for each in paragraphs if each][:8]}
        case _:
            return {"brief": whole}


def interval(values: Table) -> tuple[float, float]:
    """Between which means 95 of 100 resamplings of these questions lie."""
    chance = np.random.default_rng(1)
    means = values[chance.integers(len(values), size=(_RESAMPLINGS, len(values)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _asked(config: Path, questions: Set, clone: Path, options: argparse.Namespace) -> Mapping[str, list[Any]]:
    """The scores of all questions, by mode and form. The index is held open by another process, which answers."""
    settings, found = load_settings(config), dict[str, list[Any]]()
    for mode in options.modes:
        for form in options.forms:
            for question in questions.questions:
                asked = texts_of(question, clone, form)
                if asked is not None:
                    hits = search(settings, Query(**asked, mode=mode, by=options.by, top_k=_TOP_K)).hits
                    paths = [hit.citation.path for hit in hits if hit.citation.kind == "forge"]
                    found.setdefault(f"{mode}, {form}", []).append(scores(paths, question.files))
    return found


def _sets(clones: Sequence[Path]) -> Iterator[tuple[Set, Path]]:
    if not clones:
        yield make("huginn", git_folder(_ROOT), back=200, most=100), git_folder(_ROOT)
    for clone in clones:
        kept = QUESTIONS / f"{clone.name}.jsonl"
        folder = git_folder(clone)
        yield (load(kept) if kept.exists() else make(clone.name, folder)), folder


def _line(key: str, rows: Table, before: Any) -> str:
    told = []
    earlier = np.array(before) if before is not None and len(before) == len(rows) else None
    for number, name in enumerate(METRICS):
        low, high = interval(rows[:, number])
        told.append(f"{name} {rows[:, number].mean():.3f} ({low:.3f} to {high:.3f})")
        if earlier is not None:
            low, high = interval(rows[:, number] - earlier[:, number])
            told[-1] += f" {(rows[:, number] - earlier[:, number]).mean():+.3f} ({low:+.3f} to {high:+.3f})"
    return f"{key}, {len(rows)} questions: " + "; ".join(told)


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.relevance", description="Measure how good answers are."
    )
    parser.add_argument("--repos", type=Path, nargs="*", default=[], metavar="CLONE", help="clones, else this project")
    parser.add_argument("--modes", nargs="*", choices=MODES, default=MODES)
    parser.add_argument("--forms", nargs="*", choices=FORMS, default=FORMS)
    parser.add_argument("--by", choices=("file", "chunk"), default="file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="compare with the run kept there, and keep this one")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
