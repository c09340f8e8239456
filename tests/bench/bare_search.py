"""Bare searches: the same lists asked of the engine directly, nothing of Huginn. Run by `tests.bench.child`.

For each text the engine's 50 nearest and its 50 best by words, in one batch; then, in a second one, the side that a
point of their union lacks. That is what a hybrid search is made of. The texts are embedded by the library, which is
part of a search too.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

import qdrant_edge as engine

from tests.bench.bare import load_embedder

_DEPTH = 50


class Bare:
    """A model, and what makes words of a question."""

    def __init__(self) -> None:
        self.model = load_embedder()
        self.words = engine.Bm25(engine.Bm25Config(tokenizer=engine.TokenizerType.Code, avg_len=256))

    def ask(self, shard: Any, texts: list[str]) -> None:
        """All lists of these texts, in two batches, and the payloads of the first ten."""
        queries: list[Any] = []
        for text, vector in zip(texts, self.model.embed(texts), strict=True):
            queries.append(engine.Query.Nearest(vector.tolist(), using="meaning"))
            queries.append(engine.Query.Nearest(self.words.embed_query(text), using="words"))
        found = self._lists(shard, queries, [None] * len(queries), [_DEPTH] * len(queries))
        lacking = [found[number ^ 1] - mine for number, mine in enumerate(found)]
        self._lists(shard, queries, lacking, [max(1, len(ids)) for ids in lacking])
        first: list[Any] = [uuid.UUID(found_id) for found_id in sorted(found[0])[:10]]
        shard.retrieve(first, True, False)

    def _lists(self, shard: Any, queries: list[Any], within: list[Any], limits: list[int]) -> list[set[str]]:
        forge = engine.FieldCondition("corpus", match=engine.MatchValue("forge"))
        requests = []
        for query, ids, limit in zip(queries, within, limits, strict=True):
            must: list[Any] = [forge]
            if ids is not None:
                must.append(engine.HasIdCondition({uuid.UUID(found_id) for found_id in ids}))
            exact = engine.SearchParams(exact=True)
            requests.append(
                engine.QueryRequest(limit=limit, query=query, filter=engine.Filter(must=must), params=exact)
            )
        answers = shard.query_batch(engine.QueryBatchRequest(requests))
        return [{str(point.id) for point in answer} for answer in answers]


def once(shard: str, text: str) -> None:
    """What a script would do: load the embedder, open the shard, ask."""
    opened = engine.EdgeShard.load(shard)
    Bare().ask(opened, [text])
    opened.close()


def opening_each_time(shard: str, questions: list[list[str]]) -> list[float]:
    """The seconds of each question; the model is loaded, the shard is opened for each."""
    bare = Bare()
    bare.model.embed(["warm"])
    seconds = []
    for texts in questions:
        began = time.perf_counter()
        opened = engine.EdgeShard.load(shard)
        bare.ask(opened, texts)
        opened.close()
        seconds.append(time.perf_counter() - began)
    return seconds


def held_open(shard: str, questions: list[list[str]]) -> list[float]:
    """The seconds of each question to a shard that is open."""
    bare = Bare()
    opened = engine.EdgeShard.load(shard)
    bare.ask(opened, questions[0])
    seconds = []
    for texts in questions:
        began = time.perf_counter()
        bare.ask(opened, texts)
        seconds.append(time.perf_counter() - began)
    opened.close()
    return seconds
