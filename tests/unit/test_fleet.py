"""How batches find their hosts: nobody waits for a slow one, failures are left out and come back, hosts must agree."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from huginn.embed import BatchFailed, Culprit, Identity, Shortened, Vector, embed_all, embed_queries
from huginn.embed.checked import batches, probe_text
from huginn.embed.fleet import Fleet, Limits
from huginn.embed.host import Facts, HostAway, HostBusy, ModelMissing
from huginn.errors import Refused, Unavailable
from huginn.scrub import Clean, scrub

SHORT = Limits(timeout_seconds=1, query_timeout_seconds=0.4, retry_seconds=0.02, batch_size=4, batch_characters=2000)


class FakeHost:
    """A host whose vectors tell the text they are of. `fails` may raise; `seconds` is what a batch takes."""

    def __init__(self, name: str, *, seconds: float = 0.0, digest: str = "sha256:aaa", dimensions: int = 3) -> None:
        self.name = name
        self.seconds = seconds
        self.digest_now = digest
        self.dimensions = dimensions
        self.context: int | None = 1000
        self.turn = 0.0
        self.away: Exception | None = None
        self.fails: Callable[[Sequence[str]], None] = lambda texts: None
        self.batches: list[list[str]] = []
        self.queries: list[str] = []
        self.calls = 0
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()

    def look(self) -> Facts:
        if self.away:
            raise self.away
        return Facts(Identity("fake:latest", self.digest_now, self.dimensions), self.context, "1.0")

    def digest(self) -> str:
        if self.away:
            raise self.away
        return self.digest_now

    def embed(self, texts: Sequence[Clean], *, is_query: bool = False) -> list[Vector]:
        with self._lock:
            self.calls += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            is_probe = list(texts) == [probe_text()]
            if not is_probe:
                self.batches.append([str(text) for text in texts])
            if is_query:
                self.queries.extend(texts)
        try:
            time.sleep(0 if is_probe else self.seconds)
            if self.away:
                raise self.away
            self.fails(texts)
            return [vector(text, self.turn) for text in texts]
        finally:
            with self._lock:
                self._at_once -= 1

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


def vector(text: str, turn: float = 0.0) -> Vector:
    return np.asarray([1 + sum(map(ord, text)), len(text) + turn * sum(map(ord, text)), 1], dtype=np.float32)


def fleet(*hosts: FakeHost, reserve: Sequence[FakeHost] = (), limits: Limits = SHORT, **more: object) -> Fleet:
    return Fleet("fake:latest", hosts, reserve, limits=limits, **more)  # type: ignore[arg-type]


def texts(count: int, characters: int = 8) -> list[Clean]:
    return [scrub(f"{number} ".ljust(characters, "x")).clean for number in range(count)]


def assert_each_has_its_own(words: Sequence[Clean], answers: Sequence[Vector | Shortened | Culprit]) -> None:
    assert len(words) == len(answers)
    for word, answer in zip(words, answers, strict=True):
        assert isinstance(answer, np.ndarray)
        assert answer.tolist() == vector(word).tolist()


def fail_with(error: Exception) -> Callable[[Sequence[str]], None]:
    def fail(_: Sequence[str]) -> None:
        raise error

    return fail


def test_every_text_gets_its_own_vector_in_order_whoever_is_faster() -> None:
    hosts = [FakeHost("a", seconds=0.004), FakeHost("b", seconds=0.001), FakeHost("c", seconds=0.002)]
    words = texts(100)
    assert_each_has_its_own(words, embed_all(fleet(*hosts), words))
    assert all(host.batches for host in hosts)
    assert sorted(text for host in hosts for text in host.texts) == sorted(words)


def test_a_slow_host_does_not_hold_the_others() -> None:
    slow, fast = FakeHost("slow", seconds=0.2), FakeHost("fast", seconds=0.002)
    embed_all(fleet(slow, fast), texts(80))
    assert len(slow.batches) <= 2
    assert len(fast.batches) >= 18


def test_a_host_works_on_one_batch_at_a_time_also_for_several_callers() -> None:
    one = FakeHost("one", seconds=0.002)
    together = fleet(one)
    callers = [threading.Thread(target=embed_all, args=(together, texts(12))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert one.most_at_once == 1
    assert len(one.texts) == 48


def test_hosts_are_busy_at_the_same_time() -> None:
    hosts = [FakeHost(name) for name in "abcd"]
    all_at_once = threading.Barrier(4)

    def wait_for_the_others(given: Sequence[str]) -> None:
        if list(given) != [probe_text()]:
            all_at_once.wait(timeout=10)

    for host in hosts:
        host.fails = wait_for_the_others
    words = texts(64)
    assert_each_has_its_own(words, embed_all(fleet(*hosts), words))


def test_a_reserve_host_serves_only_while_no_other_can() -> None:
    host, reserve = FakeHost("gpu"), FakeHost("cpu")
    together = fleet(host, reserve=[reserve])
    embed_all(together, texts(20))
    assert reserve.batches == []
    host.away = HostAway("cannot be reached")
    words = texts(20)
    assert_each_has_its_own(words, embed_all(together, words))
    assert len(reserve.texts) == 20
    host.away = None
    time.sleep(0.2)
    reserve.batches.clear()
    embed_all(together, texts(20))
    assert reserve.batches == []


def test_a_busy_host_is_waited_for_and_is_no_reason_to_take_the_reserve() -> None:
    host, reserve = FakeHost("gpu"), FakeHost("cpu")
    together = fleet(host, reserve=[reserve])
    embed_all(together, texts(1))
    refusals = iter([HostBusy(), HostBusy(), HostBusy()])

    def busy(_: Sequence[str]) -> None:
        for refusal in refusals:
            raise refusal

    host.fails = busy
    embed_all(together, texts(8))
    assert len(host.batches) == 1 + 3 + 2
    assert reserve.batches == []


def test_a_host_that_is_busy_for_too_long_is_given_up() -> None:
    host = FakeHost("gpu")
    together = fleet(host, limits=Limits(timeout_seconds=0.1, retry_seconds=0.01))
    embed_all(together, texts(1))
    host.fails = fail_with(HostBusy())
    began = time.monotonic()
    with pytest.raises(Unavailable, match="gpu has been too busy for too long"):
        embed_all(together, texts(1))
    assert 0.1 <= time.monotonic() - began < 1


def test_a_host_that_fails_is_left_out_for_longer_each_time_and_taken_in_again() -> None:
    bad, good = FakeHost("bad"), FakeHost("good", seconds=0.001)
    together = fleet(bad, good)
    embed_all(together, texts(1))
    bad.away = HostAway("breaks off the connection")
    words = texts(200)
    assert_each_has_its_own(words, embed_all(together, words))
    assert len(bad.batches) <= 6
    bad.away, bad.batches = None, []
    time.sleep(0.7)
    embed_all(together, texts(200))
    assert len(bad.batches) > 5


def test_when_all_are_away_the_error_names_each_with_its_reason_after_bounded_tries() -> None:
    one, two = FakeHost("one:11434"), FakeHost("two:11434")
    together = fleet(one, two)
    embed_all(together, texts(8))
    one.calls = two.calls = 0
    one.away, two.away = HostAway("cannot be reached"), HostAway("does not answer in time", for_long=True)
    with pytest.raises(Unavailable, match=r"one:11434 cannot be reached; two:11434 does not answer in time"):
        embed_all(together, texts(1))
    assert (one.calls, two.calls) == (3, 1)


def test_a_host_that_hung_is_not_asked_again_for_as_long_as_that_took() -> None:
    hung = FakeHost("hung", seconds=0.3)
    together = fleet(hung, limits=Limits(retry_seconds=0.001))
    _ = together.identity
    hung.fails = fail_with(HostAway("does not answer in time", for_long=True))
    together._agreement._probed.add("hung")
    for _ in range(5):
        with pytest.raises(Unavailable):
            embed_all(together, texts(1))
        time.sleep(0.02)
    assert len(hung.batches) == 1


def test_a_host_that_came_late_is_looked_at_before_it_serves() -> None:
    here, late = FakeHost("here", seconds=0.002), FakeHost("late")
    late.away = HostAway("cannot be reached")
    together = fleet(here, late)
    embed_all(together, texts(8))
    assert late.batches == []
    late.away, late.digest_now = None, "sha256:bbb"
    time.sleep(0.05)
    with pytest.raises(Refused, match=r"here has aaa with 3 dimensions, late has bbb"):
        embed_all(together, texts(100))
    assert late.batches == []


@pytest.mark.parametrize("other", [{"digest": "sha256:bbb"}, {"dimensions": 4}])
def test_hosts_that_disagree_about_the_model_refuse_the_run_reserve_included(other: dict[str, object]) -> None:
    with pytest.raises(Refused, match="the hosts disagree about fake:latest"):
        _ = fleet(FakeHost("a"), reserve=[FakeHost("b", **other)]).identity  # type: ignore[arg-type]


def test_the_address_is_no_part_of_the_identity() -> None:
    assert fleet(FakeHost("a"), FakeHost("b")).identity == fleet(FakeHost("c")).identity


def test_hosts_that_give_other_vectors_for_the_probe_refuse_the_run() -> None:
    one, other = FakeHost("one", seconds=0.002), FakeHost("other", seconds=0.002)
    other.turn = 1.0
    with pytest.raises(Refused, match="give different vectors for the same text"):
        embed_all(fleet(one, other), texts(50))


def test_an_answer_of_a_model_that_has_been_replaced_does_not_count() -> None:
    host = FakeHost("a")
    together = fleet(host)
    embed_all(together, texts(1))
    host.digest_now = "sha256:bbb"
    with pytest.raises(Refused, match=r"on a has changed, from aaa to bbb"):
        embed_all(together, texts(1))


def test_a_host_is_asked_for_its_digest_while_it_is_at_work_on_the_next_batch() -> None:
    second = threading.Event()

    class Asked(FakeHost):
        def digest(self) -> str:
            if len(self.batches) == 1:
                second.wait(10)
            return super().digest()

        def embed(self, texts: Sequence[Clean], *, is_query: bool = False) -> list[Vector]:
            if len(self.batches) == 1:
                second.set()
            return super().embed(texts, is_query=is_query)

    host = Asked("a")
    together = fleet(host)
    began = time.monotonic()
    callers = [threading.Thread(target=embed_all, args=(together, texts(1))) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(host.batches) == 2
    assert time.monotonic() - began < 5, "the second batch has waited for what is asked after the first"
    assert host.most_at_once == 1


def test_a_host_that_embeds_but_does_not_tell_its_digest_is_left_out_and_what_it_gave_does_not_count() -> None:
    class Silent(FakeHost):
        silent = False

        def digest(self) -> str:
            if self.silent:
                raise HostAway("does not answer in time")
            return super().digest()

    host = Silent("a", seconds=0.005)
    together = fleet(host)
    embed_all(together, texts(1))
    host.silent = True
    refused: list[Unavailable] = []

    def call() -> None:
        try:
            embed_all(together, texts(2))
        except Unavailable as error:
            refused.append(error)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(20)
    assert len(refused) == 3
    assert host.most_at_once == 1


def test_a_model_that_one_host_lacks_leaves_it_out_and_one_that_all_lack_is_refused() -> None:
    with_it, without = FakeHost("with"), FakeHost("without")
    without.away = ModelMissing("has no model fake:latest", for_long=True)
    words = texts(8)
    assert_each_has_its_own(words, embed_all(fleet(with_it, without), words))
    with pytest.raises(Refused, match="ollama pull fake:latest"):
        _ = fleet(without).identity


def test_a_failure_that_may_pass_is_tried_again_a_little_and_blames_no_text() -> None:
    host = FakeHost("a")
    together = fleet(host)
    embed_all(together, texts(1))
    refusals = iter([BatchFailed("worker went away", may_pass=True)])

    def once(_: Sequence[str]) -> None:
        for refusal in refusals:
            raise refusal

    host.fails = once
    words = texts(4)
    assert_each_has_its_own(words, embed_all(together, words))
    assert [len(batch) for batch in host.batches] == [1, 4, 4]


def test_a_broken_host_is_left_out_and_no_text_is_blamed_for_it() -> None:
    """It fails for every batch, the probe too: the texts go to the other host as they are."""
    broken, good = FakeHost("broken"), FakeHost("good", seconds=0.001)
    together = fleet(broken, good)
    embed_all(together, texts(40))
    broken.fails = fail_with(BatchFailed("a vector of nothing but zeros came back"))
    words = texts(40)
    assert_each_has_its_own(words, embed_all(together, words))


def test_a_host_whose_answers_are_wrong_is_told_from_the_others_by_its_own_probe() -> None:
    broken, good = FakeHost("broken"), FakeHost("good", seconds=0.001)
    together = fleet(broken, good)
    embed_all(together, texts(40))
    broken.embed = lambda given, is_query=False: [np.zeros(3, np.float32) for _ in given]  # type: ignore[method-assign, misc]
    words = texts(40)
    assert_each_has_its_own(words, embed_all(together, words))


def test_a_long_text_that_fails_otherwise_than_by_a_refusal_is_not_sent_shorter() -> None:
    host = FakeHost("a")

    def fail_long(given: Sequence[str]) -> None:
        if any(len(text) > 500 for text in given):
            raise BatchFailed("result holds NaN", may_pass=True)

    host.fails = fail_long
    [answer] = embed_all(fleet(host), [scrub("y " * 300).clean])
    assert answer == Culprit("result holds NaN")
    assert len(set(host.texts)) == 1


def test_a_culprit_is_found_among_several_hosts_and_keeps_its_reason() -> None:
    hosts = [FakeHost("a", seconds=0.001), FakeHost("b", seconds=0.001)]

    def picky(given: Sequence[str]) -> None:
        if any(text.startswith("7 ") for text in given):
            raise BatchFailed("result holds NaN (HTTP 500)", may_pass=True)

    for host in hosts:
        host.fails = picky
    answers = embed_all(fleet(*hosts), texts(20))
    assert [number for number, answer in enumerate(answers) if isinstance(answer, Culprit)] == [7]
    assert answers[7] == Culprit("result holds NaN (HTTP 500)")


def test_a_refused_request_is_never_sent_again_unchanged_and_a_long_text_once_shorter() -> None:
    host = FakeHost("a")
    host.context = None

    def strict(given: Sequence[str]) -> None:
        if any(len(text) > 400 for text in given):
            raise BatchFailed("too long (HTTP 400)", is_rejected=True)

    host.fails = strict
    words = [*texts(3), scrub("y " * 300).clean, scrub("z " * 900).clean]
    answers = embed_all(fleet(host), words)
    assert isinstance(answers[3], Shortened)
    assert answers[4] == Culprit("too long (HTTP 400)")
    assert len({tuple(batch) for batch in host.batches}) == len(host.batches)


def test_a_short_text_that_is_refused_is_a_culprit_and_loses_no_half() -> None:
    host = FakeHost("a")

    def refuse(given: Sequence[str]) -> None:
        if list(given) != [probe_text()]:
            raise BatchFailed("no", is_rejected=True)

    host.fails = refuse
    [answer] = embed_all(fleet(host), texts(1))
    assert answer == Culprit("no")


def test_a_text_over_the_models_context_is_cut_before_it_is_sent_between_characters() -> None:
    host = FakeHost("a")
    host.context = 108
    together = fleet(host)
    for text, kept in ((scrub("a" * 200).clean, 200), (scrub("a" * 201).clean, 200), (scrub("ß" * 150).clean, 100)):
        assert len(together.fitted(text)) == kept
        assert text.startswith(together.fitted(text))
        assert type(together.fitted(text)) is Clean
    assert len(together.fitted(scrub("a" * 180).clean, surely=True)) == 90


def test_queries_carry_the_instruction_and_documents_do_not() -> None:
    host = FakeHost("a")
    together = fleet(host, query_instruction="Find it")
    embed_queries(together, texts(1))
    embed_all(together, texts(1))
    assert host.queries == [f"Instruct: Find it\nQuery: {texts(1)[0]}"]
    assert host.batches == [host.queries, [*texts(1)]]


def test_a_search_goes_on_with_the_host_that_answers_and_does_not_wait_for_one_that_hangs() -> None:
    class Hanging(FakeHost):
        def look(self) -> Facts:
            time.sleep(2)
            return super().look()

    good, words = FakeHost("good"), texts(2)
    together = fleet(Hanging("hanging"), good, for_search=True)
    began = time.monotonic()
    assert_each_has_its_own(words, embed_queries(together, words))
    assert time.monotonic() - began < 1
    assert len(good.batches) == 1


def test_a_query_ends_within_its_own_limit_while_all_hosts_are_busy() -> None:
    host = FakeHost("gpu")
    together = fleet(host)
    _ = together.identity
    host.fails = fail_with(HostBusy())
    began = time.monotonic()
    with pytest.raises(Unavailable, match="gpu is busy"):
        embed_queries(together, texts(1))
    assert time.monotonic() - began < 0.9


def test_batches_are_cut_by_characters_and_count_and_a_long_text_stands_alone() -> None:
    assert list(batches([10, 10, 10, 95, 10], 64, 30, 1)) == [slice(0, 3), slice(3, 4), slice(4, 5)]
    assert list(batches([1, 1, 1], 2, 30, 1)) == [slice(0, 2), slice(2, 3)]
    assert list(batches([], 2, 30, 1)) == []


def test_for_several_hosts_batches_are_small_enough_that_all_are_busy_to_the_end() -> None:
    cuts = list(batches([500] * 256, 64, 16_000, 4))
    assert len(cuts) >= 16
    assert {cut.stop - cut.start for cut in cuts[:-1]} == {16}


def test_batches_after_a_very_long_text_are_of_the_usual_size_again() -> None:
    cuts = list(batches([10] * 300 + [20_000] + [10] * 300, 64, 16_000, 4))
    assert [cut.stop - cut.start for cut in cuts].count(1) <= 1
