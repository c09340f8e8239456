"""The embedded default: WordLlama's 256 dimensions, loaded from the model in its wheel, offline.

A vector is the mean of the rows of the embedding matrix that a text's tokens name. Without padding this gives the
same bits as the library's own `embed`, whatever the batch, in six tenths of the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from huginn.embed.checked import probe_text
from huginn.embed.port import Ahead, BatchFailed, Identity, Vector
from huginn.embed.second import SecondProcess
from huginn.errors import Unavailable
from huginn.scrub import Clean

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_BATCH = 64  # larger batches are slower and take more memory


class WordLlamaEmbedder:
    """See `huginn.embed.port.Embedder`."""

    model = "wordllama:l2_supercat_256"
    batch_size = _BATCH
    batch_characters = 1 << 30  # a text costs what it holds, whatever stands beside it
    width = 1
    many = 1_500  # a second process is ready after half a second, in which as many are embedded here

    @property
    def identity(self) -> Identity:
        """The digest is that of the weights and the tokenizer in the wheel."""
        return Identity(self.model, f"sha256:{_digest(_package_folder())}", 256)

    @property
    def software(self) -> Sequence[str]:
        """The package that the model comes in."""
        return (f"wordllama {metadata.version('wordllama')}",)

    def fitted(self, text: Clean, *, surely: bool = False) -> Clean:
        """The whole text: a mean has no limit."""
        return text

    def embed_query(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """As any other text."""
        return self.embed(texts)

    def probe(self) -> Vector:
        """The vector of the probe."""
        return self.embed([probe_text()])[0]

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        """The mean of each text's token vectors. Raises `BatchFailed` for a text without a token."""
        tokenizer, matrix = _loaded(_package_folder())
        encoded = tokenizer.encode_batch([str(text) for text in texts], add_special_tokens=False)
        vectors = []
        for encoding in encoded:
            if not encoding.ids:
                raise BatchFailed("a text without a token")
            rows = matrix[encoding.ids]
            vectors.append(np.add.reduce(rows, axis=0, dtype=np.float32) / np.float32(len(encoding.ids)))
        return vectors

    def ahead(self) -> AbstractContextManager[Ahead]:
        """A second process: the tokenizer holds this one up, and whoever writes to the embedded index does too."""
        return self._second.used()

    @cached_property
    def _second(self) -> SecondProcess:
        return SecondProcess(self.identity)


@cache
def _digest(folder: Path) -> str:
    """Of both files of the model; told once for a process, which goes on with what it has loaded."""
    sums = hashlib.sha256()
    for part in (_WEIGHTS, _TOKENIZER):
        try:
            sums.update((folder / part).read_bytes())
        except OSError as error:
            raise _missing(f"{part}: {error.strerror}") from None
    return sums.hexdigest()


@cache
def _loaded(folder: Path) -> tuple[Tokenizer, Vector]:
    """The tokenizer and the embedding matrix, once for a process.

    They are read by the libraries that the package itself reads them by; to import the package would load an HTTP
    client as well, and takes longer than all the rest of a search.
    """
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415 - a search by words goes without them
    from tokenizers import Tokenizer  # noqa: PLC0415 - as above

    try:
        tokenizer = Tokenizer.from_str((folder / _TOKENIZER).read_text(encoding="utf-8"))
        with safe_open(folder / _WEIGHTS, framework="np") as weights:
            matrix = np.ascontiguousarray(weights.get_tensor("embedding.weight").astype(np.float32))
    except (OSError, ValueError, SafetensorError) as error:
        raise _missing(type(error).__name__) from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, matrix


@cache
def _package_folder() -> Path:
    try:
        found = metadata.distribution("wordllama").locate_file("wordllama")
    except metadata.PackageNotFoundError:
        raise _missing("the package wordllama is not installed") from None
    return Path(str(found))


def _missing(reason: str) -> Unavailable:
    return Unavailable("embedder", f"the model cannot be loaded ({reason})", next_step="install wordllama again")
