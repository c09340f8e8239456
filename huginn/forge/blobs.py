"""The contents of files, by their ids.

In goes a blob's id, out come its bytes, as the repository holds them: no filter, no conversion of line ends. One
`git cat-file --batch` answers for all. The rule that lives here: bytes whose hash is not the id are no answer.
"""

from __future__ import annotations

import hashlib

from huginn.forge.git import Git
from huginn.forge.process import GitFailed


class Blobs:
    """A running `git cat-file --batch`."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process = git.start("cat-file", "--batch", asked=True)
        self._ahead = b""

    def read(self, blob: str) -> bytes:
        """Return the contents of one blob, or raise `GitFailed`. After that this reader is of no more use."""
        self._process.allow_more_time()
        try:
            self._process.write(blob.encode() + b"\n")
        except BrokenPipeError:
            raise GitFailed("cat-file has ended") from None
        header = self._line().split(b" ")
        if len(header) != 3 or header[1] != b"blob":
            raise GitFailed(f"{blob} is no blob here")
        content = self._exactly(int(header[2]))
        self._exactly(1)  # the line end behind it
        if object_id(content, len(blob)) != blob:
            raise GitFailed(f"{blob} does not hold what its id says")
        return content

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _line(self) -> bytes:
        while b"\n" not in self._ahead:
            self._ahead += self._some()
        line, _, self._ahead = self._ahead.partition(b"\n")
        return line

    def _exactly(self, size: int) -> bytes:
        pieces = [self._ahead[:size]]
        missing = size - len(pieces[0])
        self._ahead = self._ahead[size:]
        while missing:
            piece = self._some()
            pieces.append(piece[:missing])
            self._ahead = piece[missing:]
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def _some(self) -> bytes:
        piece = self._process.read()
        if not piece:
            raise GitFailed("cat-file has ended")
        return piece


def object_id(content: bytes, width: int) -> str:
    """Return the id of a blob with this content, in a repository whose ids have `width` digits."""
    framed = b"blob %d\0" % len(content) + content
    if width == 64:
        return hashlib.sha256(framed).hexdigest()
    return hashlib.sha1(framed, usedforsecurity=False).hexdigest()
