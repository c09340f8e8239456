"""The vector of words of a text: BM25 as the engine makes it, the same for every adapter.

Tokenizer `Code` takes names apart (fooBar, foo_bar) and keeps them whole too; average length 256 tokens. See the
engine's `Bm25Config`; the weight of rare words (IDF) is added by the store when it is asked.
"""

from __future__ import annotations

from functools import cache, lru_cache

from qdrant_edge import Bm25, Bm25Config, SparseVector, TokenizerType

from huginn.scrub import Clean

WORDS_VERSION = "1"


@cache
def _model() -> Bm25:
    return Bm25(Bm25Config(tokenizer=TokenizerType.Code, avg_len=256))


@lru_cache(maxsize=8192)
def tokens_of(text: str) -> frozenset[int]:
    """The tokens of a text, as the numbers that stand for them in its vector: equal where the index takes words for
    equal, whatever their capitals and endings. Words that stand everywhere ("the") have none.
    """
    return frozenset(_model().embed_query(text).indices)


def words_of_document(text: Clean) -> SparseVector:
    """The words of a stored text, weighted by how often they stand in it and by its length."""
    return _model().embed_document(text)


def words_of_query(text: Clean) -> SparseVector:
    """The words of a query, each with weight 1."""
    return _model().embed_query(text)
