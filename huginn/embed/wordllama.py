"""The embedded default: WordLlama's 256 dimensions, loaded from the model in its wheel, offline.

A vector is the mean of the rows of the embedding matrix that a text's tokens name. Without padding this gives the
same bits as the library's own `embed`, whatever the batch, in six tenths of the time.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from huginn.embed.checked import probe_text
from huginn.embed.port import Ahead, BatchFailed, Identity, Vector
from huginn.embed.second import SecondProcess
from huginn.errors import Unavailable
from huginn.scrub import Clean

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_BATCH = 64  # larger batches are slower and take more memory


class WordLlamaEmbedder:
    """See `huginn.embed.port.Embedder`."""

    model = "wordllama:l2_supercat_256"
    batch_size = _BATCH
    batch_characters = 1 << 30  # a text costs what it holds, whatever stands beside it
    width = 1
    many = 1_500  # a second process is ready after half a second, in which as many are embedded here

    @cached_property
    def identity(self) -> Identity:
        """The digest is that of the weights and the tokenizer in the wheel."""
        folder = _package_folder()
        sums = hashlib.sha256()
        for part in ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"):
            try:
                sums.update((folder / part).read_bytes())
            except OSError as error:
                raise _missing(f"{part}: {error.strerror}") from None
        return Identity(self.model, f"sha256:{sums.hexdigest()}", 256)

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
        tokenizer, matrix = self._model
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

    @cached_property
    def _model(self) -> tuple[Tokenizer, Vector]:
        roots = logging.getLogger().handlers[:]
        import wordllama  # noqa: PLC0415 - loads a tenth of a second's worth; a search by words goes without it

        try:
            model: Any = wordllama.WordLlama.load(cache_dir=_package_folder(), disable_download=True)
        except (OSError, ValueError) as error:
            raise _missing(type(error).__name__) from None
        finally:
            _undo_logging(roots)
        model.tokenizer.no_padding()
        return model.tokenizer, model.embedding


def _undo_logging(handlers: list[logging.Handler]) -> None:
    """The package calls `logging.basicConfig` on import, which would print every library's log on the terminal."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        if handler not in handlers:
            root.removeHandler(handler)
    root.setLevel(logging.WARNING)


def _package_folder() -> Path:
    try:
        found = metadata.distribution("wordllama").locate_file("wordllama")
    except metadata.PackageNotFoundError:
        raise _missing("the package wordllama is not installed") from None
    return Path(str(found))


def _missing(reason: str) -> Unavailable:
    return Unavailable("embedder", f"the model cannot be loaded ({reason})", next_step="install wordllama again")
