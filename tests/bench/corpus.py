"""The repository that is measured on: about 2,500 files and 30 MB of Python, copied from what is installed here.

It is the same for the same installation: files are taken in order of path, evenly spread, and so are the changes.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.git import EPOCH, Repository

_SIZES = range(200, 120_000)
_EDIT = "\n\ndef added_by_change_{number}(value):\n    return [value + {number}, '{path}']\n\n\n"


def make_corpus(path: Path, files: int, copies: int = 1) -> None:
    """Make the repository with its first commit. `copies`: each file stands under as many folders."""
    contents = dict(_sources(files))
    spread = {f"{_folder(copy)}{name}": content for copy in range(copies) for name, content in contents.items()}
    _commit(Repository(path), spread, 0)


def change(path: Path, number: int) -> None:
    """Commit on top a change of 1 % of the files: of five that it touches it edits three, deletes one, renames one."""
    repository = Repository(path)
    names = [
        name for name in repository.output("ls-tree", "-r", "-z", "--name-only", "main").decode().split("\0") if name
    ]
    every = max(1, min(100, len(names) // 5))
    changes: dict[str, bytes | None] = {}
    for turn, name in enumerate(names[number % every :: every]):
        content = repository.read("main", name)
        if turn % 5 == 3:
            changes[name] = None
        elif turn % 5 == 4:
            changes |= {name: None, f"moved{number}/{name}": content}
        else:
            changes[name] = _edited(content, name, number)
    _commit(repository, changes, number + 1)


def _edited(content: bytes, name: str, number: int) -> bytes:
    """With a function more in the middle of it."""
    lines = content.split(b"\n")
    middle = len(lines) // 2
    added = _EDIT.format(number=number, path=name).encode().split(b"\n")
    return b"\n".join([*lines[:middle], *added, *lines[middle:]])


def _sources(files: int) -> Iterator[tuple[str, bytes]]:
    """So many files of the installed packages, evenly spread over all of a usual size."""
    root = Path(sysconfig.get_path("purelib"))
    found = sorted(file for file in root.rglob("*.py") if file.is_file() and file.stat().st_size in _SIZES)
    for chosen in _spread(found, files):
        yield str(chosen.relative_to(root)), chosen.read_bytes()


def _spread(found: Sequence[Path], files: int) -> list[Path]:
    number = min(files, len(found))
    return [found[turn * len(found) // number] for turn in range(number)]


def _folder(copy: int) -> str:
    return f"copy{copy}/" if copy else ""


def _commit(repository: Repository, changes: Mapping[str, bytes | None], number: int) -> None:
    """One commit by `git fast-import`: a process for each of thousands of files would take longer than the bench."""
    person = f"Case Author <author@example.org> {EPOCH + 60 * number} +0000\n"
    stream = [f"commit refs/heads/main\ncommitter {person}data 8\nA change".encode()]
    stream.append(b"" if number == 0 else b"\nfrom refs/heads/main^0")
    for name, content in changes.items():
        if content is None:
            stream.append(f"\nD {name}".encode())
        else:
            stream.append(f"\nM 100644 inline {name}\ndata {len(content)}\n".encode() + content)
    repository.output("fast-import", "--quiet", stdin=b"".join([*stream, b"\n"]))
