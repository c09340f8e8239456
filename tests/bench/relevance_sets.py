"""Sets of questions with known answers, made from a repository's own history.

A base commit some hundreds of commits back is what is indexed. Later commits that change one to five files which the
base has already are the questions (their subjects and bodies), and the files they changed the answers. Tests and
change logs are no answers, and commits that only bump a version or mend a slip of the pen ask nothing.

    python -m tests.bench.relevance_sets NAME CLONE [--back 600] [--most 250] > tests/bench/questions/NAME.jsonl

writes ids, subjects and paths, and no text of a tree; bodies are read from the clone when it is measured.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

MOST_FILES = 5
_NO_ANSWER = re.compile(
    r"(^|/)(tests?|testing|testdata|__tests__|spec|specs)/|(^|/)(test_[^/]*|[^/]*[_.]test\.[^/]*|conftest\.py)$"
    r"|(^|/)(changes|changelog|history|news|releases?|authors|contributors|copying|licen[cs]e|security)[^/]*$"
    r"|(^|/)(package(-lock)?\.json|yarn\.lock|cargo\.(lock|toml)|go\.(sum|mod)|poetry\.lock|pyproject\.toml|setup\.cfg)$"
    r"|(^|/)requirements[^/]*(\.txt|/.*)$|(^|/)\.(github|circleci|travis|pre-commit)[^/]*",
    re.IGNORECASE,
)
_NO_QUESTION = re.compile(
    r"^(merge|revert|release|bump|prepare|version|v?\d+\.\d+|deps|build\(deps|\[pre-commit|pre-commit|update changelog)"
    r"|\b(typos?|spelling|changelog|version bump|bump version|black|ruff|flake8|pyupgrade|gofmt|rustfmt|clippy)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*\((?:close[sd]?\s+|fix(?:es|ed)?\s+)?(?:gh-|[\w/-]*#)\d+\)\s*$", re.IGNORECASE)
_TRAILER = re.compile(
    r"^(signed-off-by|co-authored-by|reviewed-by|pr-url|fixes|closes|refs)\b.*$", re.IGNORECASE | re.M
)


@dataclass(frozen=True)
class Question:
    """A commit asked about: its subject without a number of an issue, and the files it changed."""

    commit: str
    subject: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Set:
    """The questions of a repository, and the commit whose tree is to be indexed for them."""

    name: str
    base: str
    questions: tuple[Question, ...]


def git(clone: Path, *arguments: str) -> str:
    """What git says, read only."""
    command = ["git", "--git-dir", str(clone), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")


def git_folder(clone: Path) -> Path:
    """The folder of git itself, of a clone with a work tree or a bare one."""
    return clone / ".git" if (clone / ".git").exists() else clone


def make(name: str, clone: Path, *, back: int = 600, most: int = 250) -> Set:
    """A set of at most so many questions, spread evenly over the last `back` commits of the first-parent line."""
    line = git(clone, "rev-list", "--first-parent", f"--max-count={back + 1}", "HEAD").split()
    base = line[-1]
    there = set(git(clone, "ls-tree", "-r", "-z", "--name-only", base).split("\0"))
    found = list(_questions(clone, base, there))
    number = min(most, len(found))
    return Set(name, base, tuple(found[turn * len(found) // number] for turn in range(number)))


def body(clone: Path, commit: str) -> str:
    """The body of a commit's message, without trailers; empty if it has none."""
    return _TRAILER.sub("", git(clone, "show", "-s", "--format=%b", commit)).strip()


def load(file: Path) -> Set:
    """A set that was written."""
    first, *rest = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return Set(first["name"], first["base"], tuple(Question(**{**row, "files": tuple(row["files"])}) for row in rest))


def lines_of(questions: Set) -> Iterator[str]:
    """A set as lines of JSON."""
    yield json.dumps({"name": questions.name, "base": questions.base})
    for question in questions.questions:
        yield json.dumps(asdict(question), ensure_ascii=False)


def _questions(clone: Path, base: str, there: set[str]) -> Iterator[Question]:
    log = git(clone, "log", "--no-merges", "--reverse", "--no-renames", "--name-status", "-z",
              "--format=%x01%H%x02%s%x03", f"{base}..HEAD")  # fmt: skip
    asked = set()
    for entry in log.split("\x01")[1:]:
        commit, _, rest = entry.partition("\x02")
        subject, _, changes = rest.partition("\x03")
        subject = _NUMBER.sub("", subject).strip()
        parts = [part for part in changes.replace("\n", "\0").split("\0") if part]
        states = dict(zip(parts[1::2], parts[::2], strict=False))
        files = sorted(path for path, state in states.items() if state == "M" and not _NO_ANSWER.search(path))
        is_asked = len(subject.split()) >= 3 and not _NO_QUESTION.search(subject) and subject not in asked
        if is_asked and 1 <= len(files) <= MOST_FILES and there.issuperset(files):
            asked.add(subject)
            yield Question(commit, subject, tuple(files))


def main(arguments: Sequence[str]) -> None:
    """Write a set to standard output."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.relevance_sets", description="Make questions.")
    parser.add_argument("name")
    parser.add_argument("clone", type=Path)
    parser.add_argument("--back", type=int, default=600, help="how many commits back the base lies")
    parser.add_argument("--most", type=int, default=250, help="how many questions at most")
    options = parser.parse_args(arguments)
    made = make(options.name, git_folder(options.clone), back=options.back, most=options.most)
    sys.stdout.write("".join(f"{line}\n" for line in lines_of(made)))


if __name__ == "__main__":
    main(sys.argv[1:])
