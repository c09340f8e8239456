"""TXT-01 at the level of decoding: which of the 24 files is text, with the right text, and which is skipped and why."""

from pathlib import Path

import pytest

from huginn.forge.chunk import chunks
from huginn.forge.read import decode
from huginn.forge.skip import SkipReason, SkipRules
from tests.cases.txt_01.make import make
from tests.support.clean import clean

GERMAN = "Erste Zeile\nDer Schlüssel liegt unter der Fußmatte {}\n"
EXPECTED: dict[str, str | SkipReason] = {
    "utf8.txt": GERMAN.format("mkutf8"),
    "utf8-bom.txt": GERMAN.format("mkbom"),
    "utf16le-bom.txt": GERMAN.format("mkutf16le"),
    "utf16be-bom.txt": GERMAN.format("mkutf16be"),
    "utf32le-bom.txt": GERMAN.format("mkutf32"),
    "Dockerfile": "FROM scratch\n# mknoext\n",
    "no-final-newline.txt": "one\ntwo mknofinal",
    "crlf.txt": "one\r\ntwo mkcrlf\r\nthree\r\n",
    "lone-cr.txt": "one\rtwo mkcr\rthree\r",
    "bidi.txt": "if access == \u202e\u2066// mkbidi\u2069\u2066 admin\n",
    "emoji.txt": "\U0001f468\u200d\U0001f469\u200d\U0001f467 family mkemoji \U0001f1f3\U0001f1f4\n" * 3,
    "utf8-one-bad-byte.txt": "äöü good text around it, mkonebad\n" * 20 + "\ufffd\ntail mktail ä\n",
    "nul-inside.txt": "plain text with one NUL  in it, mknul\nand more text\n",
    "surrogate-cesu.txt": "broken pair \ufffd then mkcesu\n",
    "utf16le-nobom.txt": SkipReason.ENCODING,
    "latin1.txt": SkipReason.ENCODING,
    "cp1252-quotes.txt": SkipReason.ENCODING,
    "gb18030.txt": SkipReason.ENCODING,
    "koi8r.txt": SkipReason.ENCODING,
    "really-binary.dat": SkipReason.BINARY,
    "png-head.txt": SkipReason.BINARY,
    "empty.txt": SkipReason.EMPTY,
    "blank.txt": SkipReason.EMPTY,
    "zero-width.txt": SkipReason.EMPTY,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("txt_01")
    make(folder)
    return folder


def test_every_file_of_the_case_has_an_expectation(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(EXPECTED)
    assert len(EXPECTED) == 24


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_is_text_with_the_right_text_or_skipped_for_the_true_reason(folder: Path, name: str) -> None:
    data = (folder / name).read_bytes()
    assert SkipRules().reason(name.encode(), "100644", len(data)) is None
    result = decode(data)
    assert result == EXPECTED[name]
    assert type(result) is type(EXPECTED[name])


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if not isinstance(expected, SkipReason)])
def test_each_text_makes_a_chunk_that_holds_its_lines(folder: Path, name: str) -> None:
    text = decode((folder / name).read_bytes())
    pieces = chunks(clean(text), name)
    assert pieces[0].start_line == 1
    assert "\n".join(piece.text for piece in pieces) == text.rstrip("\n")
