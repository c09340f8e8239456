"""Every answer of an embedder is checked, and one bad text holds nobody back."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import wordllama

from huginn.embed import BatchFailed, Culprit, Identity, Vector, check_answer, embed_all
from huginn.embed.ahead import Threads
from huginn.embed.checked import probe_text
from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.errors import Unavailable
from huginn.scrub import Clean, scrub


class Scripted:
    """An embedder that answers by the length of a text, and fails as it is told."""

    model = "scripted"
    identity = Identity("scripted", "sha256:0", 3)
    software = ("scripted 1",)
    batch_size = 8
    batch_characters = 1000
    width = 1
    many = 1

    def __init__(self, *, poison: str = "poison", how: str = "raise", broken: bool = False) -> None:
        self.poison, self.how, self.broken = poison, how, broken
        self.calls: list[int] = []

    def fitted(self, text: Clean, *, surely: bool = False) -> Clean:
        return text

    def embed_query(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        return self.embed(texts)

    def probe(self) -> Vector:
        return self.embed([probe_text()])[0]

    def ahead(self) -> Threads:
        return Threads(self)

    def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        self.calls.append(len(texts))
        vectors = [np.asarray([len(text), 1, 2], dtype=np.float32) for text in texts]
        bad = [number for number, text in enumerate(texts) if self.broken or self.poison in text]
        for number in bad:
            if self.how == "raise":
                raise BatchFailed("the model says no")
            if self.how == "short":
                return vectors[:-1]
            vectors[number] = {
                "nan": np.asarray([1, np.nan, 1], dtype=np.float32),
                "zero": np.zeros(3, dtype=np.float32),
                "wide": np.ones(4, dtype=np.float32),
            }[self.how]
        return vectors


def texts(*words: str) -> list[Clean]:
    return [scrub(word).clean for word in words]


@pytest.mark.parametrize("how", ["raise", "short", "nan", "zero", "wide"])
def test_the_culprit_is_found_and_every_other_text_has_its_own_vector(how: str) -> None:
    words = texts(*(f"text {'x' * number}" for number in range(7)), "poison", *("y" * n for n in range(1, 12)))
    answers = embed_all(Scripted(how=how), words)
    assert [number for number, answer in enumerate(answers) if isinstance(answer, Culprit)] == [7]
    for word, answer in zip(words, answers, strict=True):
        if isinstance(answer, np.ndarray):
            assert answer[0] == len(word)


def test_a_batch_without_a_culprit_is_one_call() -> None:
    embedder = Scripted()
    embed_all(embedder, texts(*"abcdefghij"))
    assert embedder.calls == [8, 2]


@pytest.mark.parametrize("how", ["raise", "short", "nan", "zero", "wide"])
def test_a_model_that_fails_for_a_harmless_text_too_is_away(how: str) -> None:
    with pytest.raises(Unavailable, match="embedder"):
        embed_all(Scripted(how=how, broken=True), texts("a", "b"))


def test_an_embedder_that_is_away_is_not_asked_again_in_halves() -> None:
    class Away(Scripted):
        def embed(self, texts: Sequence[Clean]) -> Sequence[Vector]:
            self.calls.append(len(texts))
            raise Unavailable("embedder", "away")

    away = Away()
    with pytest.raises(Unavailable):
        embed_all(away, texts("a", "b", "c"))
    assert away.calls == [3]


def test_the_reason_holds_no_text() -> None:
    (answer,) = embed_all(Scripted(how="nan"), texts("poison in here"))
    assert isinstance(answer, Culprit)
    assert "poison" not in answer.reason


@pytest.mark.parametrize(
    "vectors",
    [[], [np.ones(3, dtype=np.float32)] * 2, [np.ones((1, 3), dtype=np.float32)], [np.full(3, np.inf, np.float32)]],
)
def test_an_answer_that_is_wrong_anywhere_is_refused_whole(vectors: list[Vector]) -> None:
    with pytest.raises(BatchFailed):
        check_answer(vectors, 1, 3)


def test_wordllama_gives_the_bits_of_the_library_whatever_the_batch() -> None:
    words = texts("a heron", "def stand(self): pass", "x", "Der Schlüssel liegt unter der Fußmatte " * 20)
    library = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    expected = library.embed([str(word) for word in words])
    embedder = WordLlamaEmbedder()
    assert (np.stack(list(embedder.embed(words))) == expected).all()
    for number, word in enumerate(words):
        assert (embedder.embed([word])[0] == expected[number]).all()


def test_wordllama_refuses_a_text_without_a_token() -> None:
    (answer,) = embed_all(WordLlamaEmbedder(), texts(""))
    assert isinstance(answer, Culprit)


def test_wordllama_is_known_by_the_digest_of_its_weights_and_leaves_logging_alone() -> None:
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    embedder = WordLlamaEmbedder()
    embedder.embed(texts("x"))
    assert embedder.identity.dimensions == 256
    assert embedder.identity.digest.startswith("sha256:")
    assert (logging.getLogger().handlers, logging.getLogger().level) == (handlers, level)


def test_a_missing_model_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huginn.embed.wordllama._package_folder", lambda: tmp_path)
    with pytest.raises(Unavailable, match="install wordllama again"):
        _ = WordLlamaEmbedder().identity
