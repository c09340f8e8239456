"""The second process that embeds: the other side of `second`, which tells how the two speak.

In: requests on standard input, texts in shared memory. Out: their vectors in the same slot, and an acknowledgement for
each request on standard output. A text for which there is no vector is named by its place with the reason.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from huginn.embed.checked import embed_all
from huginn.embed.port import Culprit, Shortened
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Unavailable
from huginn.scrub import Clean, from_our_process


def serve(memory: int) -> None:
    """Answer requests until there are no more. `memory` is the descriptor of what is shared."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all of a terminal; who started this one ends it
    acknowledgements = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no acknowledgement
    embedder = WordLlamaEmbedder()
    with suppress(BrokenPipeError):
        _tell(acknowledgements, {"digest": embedder.identity.digest})
        for line in sys.stdin.buffer:
            request = json.loads(line)
            _tell(acknowledgements, {"ticket": request["ticket"], **_served(embedder, memory, request)})


def _served(embedder: WordLlamaEmbedder, memory: int, request: dict[str, Any]) -> dict[str, Any]:
    texts = _texts(memory, request["at"], request["lengths"])
    try:
        answers = embed_all(embedder, texts)
    except Unavailable as error:
        return {"away": [error.reason.removeprefix("embedder: "), error.next_step]}
    vectors = np.zeros((len(texts), embedder.identity.dimensions), dtype=np.float32)
    culprits = []
    for place, answer in enumerate(answers):
        if isinstance(answer, Culprit):
            culprits.append((place, answer.reason))
        else:
            vectors[place] = answer.vector if isinstance(answer, Shortened) else answer
    os.pwrite(memory, vectors.data, request["at"])
    return {"culprits": culprits}


def _texts(memory: int, at: int, lengths: list[int]) -> list[Clean]:
    whole = os.pread(memory, sum(lengths), at)
    return [
        from_our_process(whole[start:end].decode("utf-8", "surrogatepass"))
        for start, end in pairwise(accumulate(lengths, initial=0))
    ]


def _tell(acknowledgements: int, message: dict[str, Any]) -> None:
    os.write(acknowledgements, json.dumps(message).encode() + b"\n")
