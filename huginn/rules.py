"""The versions of all rules that shape points: what the index's label has its fingerprint of."""

from __future__ import annotations

import unicodedata
from importlib import metadata

from huginn import scrub
from huginn.chat.fold import FOLD_VERSION
from huginn.chat.scope import SCOPE_VERSION
from huginn.chat.window import WINDOW_VERSION
from huginn.embed.port import Identity
from huginn.forge.chunk import CHUNKER_VERSION
from huginn.forge.header import HEADER_VERSION
from huginn.forge.read import DECODER_VERSION
from huginn.forge.skip import SKIP_VERSION
from huginn.index.label import Label, make_label
from huginn.index.payload import PAYLOAD_VERSION
from huginn.index.words import WORDS_VERSION
from huginn.settings import Settings


def versions() -> dict[str, str]:
    """Every rule but the scrub's with its version, and the libraries that shape points with theirs."""
    return {
        "decoder": DECODER_VERSION,
        "skip": SKIP_VERSION,
        "chunker": CHUNKER_VERSION,
        "header": HEADER_VERSION,
        "scope": SCOPE_VERSION,
        "fold": FOLD_VERSION,
        "window": WINDOW_VERSION,
        "payload": PAYLOAD_VERSION,
        "words": f"{WORDS_VERSION}/{metadata.version('qdrant-edge-py')}",
        "unicode": unicodedata.unidata_version,
    }


def current_label(settings: Settings, identity: Identity) -> Label:
    """The label that an index must have to be written to now."""
    return make_label(settings.forge.name, identity, versions(), scrub.fingerprint())
