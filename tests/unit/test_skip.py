"""A path is skipped for the one true reason, and shown so that no two paths look alike."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from huginn.errors import Refused
from huginn.forge.skip import SkipReason, SkipRules, display_path

FILE = "100644"


@pytest.mark.parametrize("mode", ["100644", "100755", "100664"])
def test_an_ordinary_file_is_read(mode: str) -> None:
    assert SkipRules().reason(b"src/main.py", mode, 10) is None


def test_the_first_of_the_reasons_is_told() -> None:
    rules = SkipRules(max_bytes=5, exclude=["vendor/**"])
    assert rules.reason(b"vendor/x.lock", "120000", 9) is SkipReason.LINK
    assert rules.reason(b"vendor/x.lock", "160000", None) is SkipReason.SUBMODULE
    assert rules.reason(b"vendor/x.lock", FILE, 9) is SkipReason.EXCLUDED
    assert rules.reason(b"x.lock", FILE, 9) is SkipReason.GENERATED
    assert rules.reason(b"x.py", FILE, 9) is SkipReason.SIZE


def test_a_file_of_exactly_the_limit_is_read() -> None:
    assert SkipRules().reason(b"a", FILE, 1 << 20) is None
    assert SkipRules().reason(b"a", FILE, (1 << 20) + 1) is SkipReason.SIZE
    assert SkipRules().reason(b"a", FILE, None) is None


@pytest.mark.parametrize(
    "path",
    [
        b"uv.lock", b"web/package-lock.json", b"go.sum", b"static/app.min.js", b"static/app.js.map", b"api/x_pb2.py",
        b"web/node_modules/left/index.js", b"vendor/lib/a.go", b"a/third_party/b.c", b"\xff/node_modules/\xfe.js",
        b"a\nb/vendor/c\nd.c",
    ],
)  # fmt: skip
def test_what_programs_wrote_or_others_own_is_generated(path: bytes) -> None:
    assert SkipRules().reason(path, FILE, 1) is SkipReason.GENERATED


@pytest.mark.parametrize("path", [b"lock.py", b"src/vendors.py", b"vendor", b"docs/map.md", b"min.js", b"locks/readme"])
def test_names_that_only_look_so_are_read(path: bytes) -> None:
    assert SkipRules().reason(path, FILE, 1) is None


def test_the_settings_replace_the_list_of_generated_files() -> None:
    rules = SkipRules(generated=["*.gen"])
    assert rules.reason(b"uv.lock", FILE, 1) is None
    assert rules.reason(b"a.gen", FILE, 1) is SkipReason.GENERATED


def test_patterns_are_those_of_gitignore() -> None:
    rules = SkipRules(exclude=["/docs/", "*.svg", "!keep.svg", "# a comment", "", "a/**/z"])
    assert rules.reason(b"docs/x", FILE, 1) is SkipReason.EXCLUDED
    assert rules.reason(b"src/docs/x", FILE, 1) is None
    assert rules.reason(b"img/x.svg", FILE, 1) is SkipReason.EXCLUDED
    assert rules.reason(b"img/keep.svg", FILE, 1) is None
    assert rules.reason(b"a/b/c/z", FILE, 1) is SkipReason.EXCLUDED


def test_a_pattern_that_is_none_is_refused_by_its_place() -> None:
    with pytest.raises(Refused, match=r"exclude\[1\]"):
        SkipRules(exclude=["fine", "!"])


@given(st.binary(min_size=1, max_size=40))
def test_no_path_breaks_the_patterns(path: bytes) -> None:
    assert SkipRules(exclude=["*.x", "a?b/**"]).reason(path, FILE, 1) in (
        None,
        SkipReason.EXCLUDED,
        SkipReason.GENERATED,
    )
    assert SkipRules(exclude=["*"]).reason(b"d/" + path.strip(b"/") + b"x", FILE, 1) is SkipReason.EXCLUDED


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"src/main.py", "src/main.py"),
        ("straße/日本.md".encode(), "straße/日本.md"),
        (b"with space and \\ and ' and \".txt", "with space and \\ and ' and \".txt"),
        (b'"quoted".txt', r'"\"quoted\".txt"'),
        (b"tab\tline\nbell\a.txt", r'"tab\tline\nbell\a.txt"'),
        (b"bad\xff\xfe.txt", r'"bad\377\376.txt"'),
        ("ä\x1b[31m\x85.txt".encode(), r'"ä\033[31m\302\205.txt"'),
    ],
)
def test_a_path_is_shown_as_it_is_or_quoted_as_git_does(path: bytes, shown: str) -> None:
    assert display_path(path) == shown


_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


def _unquoted(shown: str) -> bytes:
    """What git would read the shown path as."""
    if not shown.startswith('"'):
        return shown.encode()

    def byte(escape: re.Match[bytes]) -> bytes:
        code = escape[1].decode()
        return bytes([int(code, 8) if code.isdigit() else _ESCAPES[code]])

    return re.sub(rb'\\([0-7]{3}|[abtnvfr"\\])', byte, shown.encode()[1:-1])


@given(st.one_of(st.binary(max_size=30), st.text('"\\\n377ä\x85', max_size=12).map(str.encode)))
@example(b'"a')
@example(b"\\377\xff")
def test_the_path_can_be_read_back_so_no_two_look_alike(path: bytes) -> None:
    shown = display_path(path)
    assert _unquoted(shown) == path
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown)
