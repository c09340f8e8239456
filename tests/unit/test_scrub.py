"""The scrub as its users see it: who makes `Clean`, what stays the same, how masks behave."""

import copy
import pickle
import random
import string
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from huginn import scrub as module
from huginn.scrub import Clean, fingerprint, holds_secret, prepare, scrub, scrub_lines, scrub_question
from huginn.scrubbing import library

LETTERS = string.ascii_letters + string.digits
TOKEN = "gh" + "p_" + "".join(random.Random(1).choices(LETTERS, k=36))
PASSWORD = "".join(random.Random(2).choices(LETTERS + "!#%*", k=14))

# Texts in which secrets, masks, names and signs meet in all ways.
pieces = st.sampled_from(
    [
        *(
            TOKEN,
            PASSWORD,
            "password",
            "token",
            "api_key",
            " = ",
            ": ",
            '"',
            "'",
            "\n",
            "\r\n",
            " ",
            ",",
            "(",
            "&",
            "]",
        ),
        *(
            "[secret: ",
            "[secret: password]",
            "://",
            "user:",
            "@host",
            "?token=",
            "Bearer ",
            "cookie: a=",
            "ſ",
            "İ",
            "\0",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "A" * 64,
            "kind: Secret\ndata:\n  a: ",
            "b3Blbi4=",
        ),
    ]
)
mixed = st.lists(pieces | st.text(max_size=8), max_size=14).map("".join)
unhurried = settings(deadline=None)


@pytest.fixture(scope="module", autouse=True)
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    prepare(tmp_path_factory.mktemp("rules"))
    scrub("the first text compiles the rules")


class TestClean:
    def test_only_the_scrub_makes_it(self) -> None:
        with pytest.raises(TypeError):
            Clean("x")
        with pytest.raises(TypeError):
            Clean("x", object())

    def test_a_cut_is_clean_as_well(self) -> None:
        part = scrub("some text").clean.part(5, 9)
        assert type(part) is Clean
        assert part == "text"

    def test_it_survives_copies_and_pickling(self) -> None:
        clean = scrub("some text").clean
        for twin in (copy.copy(clean), copy.deepcopy([clean])[0], pickle.loads(pickle.dumps(clean))):
            assert type(twin) is Clean
            assert twin == clean

    def test_a_model_takes_it_and_writes_it_as_a_string_but_takes_no_string(self) -> None:
        class Payload(BaseModel):
            text: Clean

        payload = Payload(text=scrub("some text").clean)
        assert payload.model_dump_json() == '{"text":"some text"}'
        assert type(payload.model_dump()["text"]) in (str, Clean)
        assert Payload.model_json_schema()["properties"]["text"]["type"] == "string"
        with pytest.raises(ValidationError):
            Payload(text="some text")


class TestMasks:
    def test_a_mask_names_the_kind_and_the_kinds_are_counted(self) -> None:
        scrubbed = scrub(f"use {TOKEN} and {TOKEN}")
        assert scrubbed.clean == "use [secret: github token] and [secret: github token]"
        assert scrubbed.masked == {"github token": 2}

    def test_a_mask_is_no_secret_whatever_stands_in_front_of_it(self) -> None:
        for name in ("password", "token", "api_key", "secret", "Authorization", "cookie"):
            for text in (
                f"{name}: [secret: github token]",
                f'{name} = "[secret: {name.lower()}]"',
                f"{name}=[secret: jwt]",
            ):
                assert scrub(text).clean == text

    def test_every_cut_of_a_mask_stays_as_it_is(self) -> None:
        mask = "[secret: github token]"
        for cut in range(len(mask) + 1):
            assert not scrub(mask[cut:]).masked
            assert not scrub(mask[:cut]).masked
            assert not scrub(f"password: {mask[:cut]}").masked

    def test_a_mask_brings_no_hash_beside_it_under_suspicion(self) -> None:
        commit = "".join(random.Random(3).choices("0123456789abcdef", k=40))
        assert commit in scrub(f"{TOKEN} {commit}\n").clean

    def test_findings_that_overlap_become_one_mask_with_the_more_exact_name(self) -> None:
        assert scrub(f'token = "{TOKEN}"').clean == 'token = "[secret: github token]"'

    def test_offsets_hold_behind_letters_of_several_bytes(self) -> None:
        assert scrub(f"ключ 🔑 {TOKEN} ✓").clean == "ключ 🔑 [secret: github token] ✓"

    @pytest.mark.parametrize("odd", ["\ud800", "\0", "İ", "\x1b", "\u2028"])
    def test_odd_characters_neither_stop_it_nor_hide_a_secret(self, odd: str) -> None:
        text = f"{odd} password = '{PASSWORD}' {odd}\n{odd}{TOKEN}{odd}"
        clean = scrub(text).clean
        assert PASSWORD not in clean
        assert TOKEN not in clean
        assert clean.count(odd) == text.count(odd)


class TestForAllTexts:
    @unhurried
    @given(mixed)
    @example(f"password: [secret: password]{PASSWORD}")
    def test_scrubbing_twice_changes_nothing(self, text: str) -> None:
        once = scrub(text)
        twice = scrub(once.clean)
        assert twice.clean == once.clean
        assert not twice.masked

    @unhurried
    @given(mixed)
    def test_the_lines_stay_as_many(self, text: str) -> None:
        assert scrub(text).clean.count("\n") == text.count("\n")

    @unhurried
    @given(mixed)
    def test_a_token_never_stays(self, text: str) -> None:
        assert TOKEN not in scrub(text).clean

    @unhurried
    @given(mixed, st.integers(0, 300), st.integers(0, 300))
    def test_every_part_of_clean_text_is_clean(self, text: str, start: int, end: int) -> None:
        part = scrub(text).clean.part(start, end)
        assert type(part) is Clean
        assert TOKEN[:12] not in part

    @unhurried
    @given(mixed)
    def test_a_path_is_told_to_hold_a_secret_just_when_something_is_masked(self, text: str) -> None:
        assert holds_secret(text) == bool(scrub(text).masked)


class TestManyLines:
    """Lines that are looked at together come out as they do one by one."""

    one_line = mixed.map(lambda text: " ".join(text.splitlines())) | st.sampled_from(
        ["repo a/b.py | a b py | Session.send | session send", "password", "Authorization: Bearer", "kind: Secret"]
    )

    @unhurried
    @given(st.lists(one_line, max_size=5))
    @example([f"password = {PASSWORD}", "password ="])
    @example(["password", PASSWORD, f"token {TOKEN}.", TOKEN[:20], TOKEN[20:]])
    @example(["a\nb", f"password: {PASSWORD}"])
    @example([])
    def test_each_is_scrubbed_as_if_alone(self, lines: list[str]) -> None:
        assert scrub_lines(lines) == {line: scrub(line).clean for line in lines}

    @unhurried
    @given(st.lists(one_line, min_size=1, max_size=3), mixed)
    def test_they_are_clean(self, lines: list[str], text: str) -> None:
        cleaned = scrub_lines([*lines, text])
        assert all(type(clean) is Clean and TOKEN not in clean for clean in cleaned.values())


class TestHostileTexts:
    """What is examined must grow with the text, not with its square."""

    @pytest.mark.parametrize(
        "piece",
        [
            *(
                "a",
                " ",
                "\n",
                '"',
                "password=",
                "password: ",
                "password\n",
                "cookie: a=",
                "authorization: ",
                "://",
                "[",
                "<",
            ),
            *("http://hook", "ghp_a\n", "kind: Secret\ndata:\n", "curl -u ", "-----BEGIN PRIVATE KEY-----\n"),
            *("-----END PRIVATE KEY-----", "password = 'aB3dE5fG7hI9'\n"),
        ],
    )
    @pytest.mark.timeout(60)
    def test_a_piece_repeated_without_end_is_scrubbed_in_bounded_time(self, piece: str) -> None:
        text = (piece * (1 + 200_000 // len(piece)))[:200_000]
        assert scrub(text).clean.count("\n") == text.count("\n")


class TestCompilation:
    def test_importing_the_module_does_not_load_the_library(self) -> None:
        program = "import sys, huginn.scrub; sys.exit('kingfisher_sdk' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

    def test_the_compiled_rules_go_where_they_are_told_and_nowhere_else(self, tmp_path: Path) -> None:
        program = (
            "import sys, pathlib, huginn.scrub as s\n"
            "if len(sys.argv) > 1: s.prepare(pathlib.Path(sys.argv[1]))\n"
            "s.scrub('x1')"
        )
        home, cache = tmp_path / "home", tmp_path / "state" / "rules"
        home.mkdir()
        environment = {"HOME": str(home), "PYTHONPATH": str(Path(module.__file__).parents[1])}
        subprocess.run([sys.executable, "-c", program], check=True, env=environment)
        assert not list(tmp_path.rglob("*.vscdb"))
        subprocess.run([sys.executable, "-c", program, str(cache)], check=True, env=environment)
        assert list(cache.iterdir())
        assert not list(home.iterdir())

    def test_many_threads_compile_once_and_find_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compiled = library._Compiled()
        monkeypatch.setattr(library, "_compiled", compiled)
        text = f"password = '{PASSWORD}'\n{TOKEN}\n" * 20
        with ThreadPoolExecutor(8) as pool:
            scrubbed = list(pool.map(scrub, [text] * 16))
            scanners = set(pool.map(lambda _: id(compiled.scanner()), range(16)))
        assert len({result.clean for result in scrubbed}) == 1
        assert len(scanners) == 1

    def test_preparing_a_folder_is_no_reason_to_compile(self, tmp_path: Path) -> None:
        prepare(tmp_path / "rules")
        assert not (tmp_path / "rules").exists()


class TestFingerprint:
    @pytest.fixture(autouse=True)
    def _as_in_another_process(self) -> Iterator[None]:
        fingerprint.cache_clear()
        yield
        fingerprint.cache_clear()

    def test_it_is_short_and_the_same_each_time(self) -> None:
        assert fingerprint() == fingerprint()
        assert len(fingerprint()) == 16

    def test_it_changes_with_the_version(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = fingerprint()
        fingerprint.cache_clear()
        monkeypatch.setattr(module, "VERSION", "another")
        assert fingerprint() != before

    def test_it_changes_with_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = fingerprint()
        fingerprint.cache_clear()
        monkeypatch.setattr("importlib.metadata.version", lambda name: "another")
        assert fingerprint() != before


@pytest.mark.parametrize("word", ["kD8f2Lq9Zx7Tw3Rb5Nv1", "aB3+dE5/fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5cD7eF9"])
def test_a_question_loses_words_that_look_drawn_by_lot(word: str) -> None:
    assert word not in scrub_question(f"who used {word} here").clean
    assert word not in scrub_question(word).clean


@pytest.mark.parametrize(
    "question",
    [
        "4d243a4b2dae9f3e1c0b9a8d7e6f5a4b3c2d1e0f",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "$143273582443PhrSnKDHfgsYw7Tn:example.org",
        "$Kh3xQ9vT2mWc8LpZ5rBn7dYfG1sJ4aEuR6oI0tXqMlk",
        "!xK9vQ2mTb8WcLpZ5:example.org",
        "k8s.gcr.io/pause:3.2 x86_64-unknown-linux-gnu",
        "test_the_wheel_installs_and_finds_what_it_took_in",
        "AbstractSingletonProxyFactoryBean getElementsByTagNameNS",
        "Donaudampfschifffahrtsgesellschaftskapitän",
        "where is CVE-2024-32004 handled",
    ],
)
def test_a_question_keeps_names_and_ids(question: str) -> None:
    assert scrub_question(question).clean == question
