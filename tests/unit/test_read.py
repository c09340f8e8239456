"""Bytes become text in the encoding they are in, or are skipped for the true reason; never mojibake."""

import codecs
import gzip
import pickle
import random
import sqlite3
import struct
import time
import unicodedata
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from huginn.forge.read import decode, has_visible
from huginn.forge.skip import SkipReason

GERMAN = "Der Schlüssel liegt unter der Fußmatte\nund nicht im Blumentopf\n"
RUSSIAN = "Ключ лежит под ковриком\nи больше нигде\n" * 2
CHINESE = "第一行\n船在午夜离开港口，没有人看见\n" * 3
JAPANESE = "鍵はマットの下にあります。\n他にはありません。\n" * 2
KOREAN = "열쇠는 매트 아래에 있습니다\n다른 곳에는 없습니다\n" * 2
LANGUAGES = (GERMAN, RUSSIAN, CHINESE, JAPANESE, KOREAN)
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "ab" * 32 + "\nsize 12345\n"


@pytest.mark.parametrize("codec", MARKS)
@pytest.mark.parametrize("text", LANGUAGES)
def test_a_byte_order_mark_decides_the_encoding_and_is_dropped(codec: str, text: str) -> None:
    assert decode(MARKS[codec] + text.encode(codec)) == text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", LANGUAGES)
def test_a_wide_encoding_without_a_mark_is_skipped_as_encoding(codec: str, text: str) -> None:
    assert decode(text.encode(codec)) is SkipReason.ENCODING


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (GERMAN, "latin-1"), (GERMAN, "cp437"), ("“the kettle is on” — he said\n", "cp1252"), (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp1251"), (CHINESE, "gbk"), (CHINESE, "gb18030"), (CHINESE, "big5"), (JAPANESE, "shift-jis"),
        (JAPANESE, "euc-jp"), (KOREAN, "euc-kr"), (JAPANESE, "iso2022_jp"), (KOREAN, "iso2022_kr"),
    ],
)  # fmt: skip
def test_a_code_page_is_skipped_as_encoding_and_not_guessed(text: str, codec: str) -> None:
    assert decode(text.encode(codec, "ignore")) is SkipReason.ENCODING


def _sqlite() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table notes (body text)")
    connection.execute("insert into notes values (?)", ("plain words " * 100,))
    return connection.serialize()


BINARIES = {
    "random bytes": random.Random(7).randbytes(4000),
    "few random bytes": random.Random(8).randbytes(60),
    "random bytes behind the mark of UTF-16": b"\xff\xfe" + random.Random(9).randbytes(2000),
    "all bytes behind the mark of UTF-16": b"\xff\xfe" + bytes(range(256)) * 8,
    "all bytes behind the mark of UTF-32": b"\xff\xfe\x00\x00" + bytes(range(256)) * 8,
    "gzip": gzip.compress(b"text " * 500, mtime=0),
    "zlib": zlib.compress(random.Random(1).randbytes(900)),
    "pickle of text": pickle.dumps(["words and words " * 20] * 3 + [GERMAN]),
    "sqlite": _sqlite(),
    "pdf, readable": b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    "wasm": b"\0asm\1\0\0\0" + b"long readable names " * 50,
    "tar": b"notes.txt".ljust(257, b"\0") + b"ustar\x0000" + b"0" * 247 + b"readable " * 900,
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"words" * 30,
    "elf": b"\x7fELF\2\1\1\0" + b"strings of a program " * 40,
    "samples": struct.pack("<200h", *random.Random(2).choices(range(-9000, 9000), k=200)),
    "numbers": struct.pack("<200i", *range(200)),
    "a table of all characters": "".join(map(chr, range(1, 0xD800))).encode("utf-16-le") * 2,
    "few random bytes behind the mark of UTF-16": b"\xff\xfe" + random.Random(3).randbytes(36),
    "what follows the mark is no UTF-16": b"\xff\xfe" + b"\xdc\xdc" * 50,
    "letters of all scripts": "a ж א 中 가 ա ก ა አ ᠠ ក ᐁ Ꭰ ა ހ ட".encode("utf-16-le"),
    "words between controls": b"words\x01\x02" * 20,
    "NUL only": bytes(100),
    "one NUL": b"\0",
    "controls": bytes(range(1, 9)) * 4,
}


@pytest.mark.parametrize("name", BINARIES)
def test_binary_data_is_skipped_as_binary(name: str) -> None:
    assert decode(BINARIES[name]) is SkipReason.BINARY


def test_at_most_one_byte_in_a_hundred_is_replaced() -> None:
    good = "ä good text\n".encode() * 50
    text = decode(good + b"\xff" * 6 + b"\n")
    assert text == good.decode() + "\ufffd" * 6 + "\n"
    assert decode(good + b"\xff" * 7 + b"\n") is SkipReason.ENCODING


def test_a_latin_1_letter_in_a_long_text_is_lost_and_not_guessed() -> None:
    text = decode(b"plain text of a long file\n" * 10 + "Schl\xfcssel\n".encode("latin-1"))
    assert not isinstance(text, SkipReason)
    assert text.endswith("Schl\ufffdssel\n")


def test_nul_in_good_text_goes_and_the_lines_stay() -> None:
    assert decode(b"one\0\ntwo\n") == "one\ntwo\n"
    assert decode(b"\xff\xfe" + "on\0e\ntwo\n".encode("utf-16-le")) == "one\ntwo\n"


def test_lone_surrogates_are_replaced_and_pairs_of_them_become_their_character() -> None:
    assert decode(b"a \xed\xa0\xbd b \xed\xb8\x80\n") == "a \ufffd b \ufffd\n"
    assert decode(b"smile \xed\xa0\xbd\xed\xb8\x80\n") == "smile \U0001f600\n"
    lone = "high \ud83d\nlow \ude00\nend\ud83d".encode("utf-16-le", "surrogatepass")
    assert decode(b"\xff\xfe" + "some more words in front of it\n".encode("utf-16-le") + lone[:14]) == (
        "some more words in front of it\nhigh \ufffd\n"
    )


def test_half_a_character_at_the_end_of_utf_16_is_replaced() -> None:
    assert decode(b"\xff\xfe" + GERMAN.encode("utf-16-le") + b"x") == GERMAN + "\ufffd"


def test_no_mark_is_left_at_the_beginning_of_a_line() -> None:
    joined = codecs.BOM_UTF8 + codecs.BOM_UTF8 + b"one\n" + codecs.BOM_UTF8 + b"two\n"
    assert decode(joined) == "one\ntwo\n"


@pytest.mark.parametrize(
    "data", [b"", b" \t\r\n\f", b"\xef\xbb\xbf", b"\xff\xfe", "\u200b\u2060\u00ad\u3164\ufe0f\u3000\n".encode()]
)
def test_white_space_and_invisible_characters_are_empty(data: bytes) -> None:
    assert decode(data) is SkipReason.EMPTY


def test_every_invisible_format_character_is_known() -> None:
    signs_of_scripts = "PREPEND", "ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"  # these are seen
    for code in range(0x110000):
        character = chr(code)
        if unicodedata.category(character) == "Cf" and not unicodedata.name(character, "").startswith(signs_of_scripts):
            assert not has_visible(character), hex(code)


@pytest.mark.parametrize(
    "pointer", [POINTER, POINTER.rstrip("\n"), POINTER.replace("\n", "\r\n"), POINTER.replace("oid", "ext-0-x y\noid")]
)
def test_an_lfs_pointer_is_known_by_its_content(pointer: str) -> None:
    assert decode(pointer.encode()) is SkipReason.LFS_POINTER


@pytest.mark.parametrize(
    "text", ["See:\n" + POINTER, POINTER.replace("oid", "id"), POINTER + "\nThis is how it looks.\n"]
)
def test_a_text_about_lfs_pointers_is_text(text: str) -> None:
    assert decode(text.encode()) == text


def test_seven_bit_japanese_is_told_from_a_recording_that_names_it() -> None:
    recording = "größe \x1b$B raw\n"
    assert decode(recording.encode()) == recording


def test_the_colours_of_a_terminal_are_text() -> None:
    recording = "\x1b[31mred\x1b[0m and\b \a bell\n" * 3
    assert decode(recording.encode()) == recording


@given(st.binary(max_size=300))
def test_whatever_the_bytes_the_text_is_sound_and_keeps_its_lines(data: bytes) -> None:
    text = decode(data)
    if isinstance(text, SkipReason):
        assert text in (SkipReason.BINARY, SkipReason.ENCODING, SkipReason.EMPTY)
        return
    text.encode()
    assert "\0" not in text
    assert has_visible(text)
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert text.count("\n") == data.count(b"\n")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t"), min_size=1))
def test_utf_8_comes_back_as_it_is(text: str) -> None:
    text = text.replace("\ufeff", "") + "x"
    assert decode(text.encode()) == text


def test_thirty_megabytes_are_read_at_once() -> None:
    data = "def größe(self):\n    return self.weite * self.höhe\n".encode() * 500_000
    started = time.process_time()
    decode(data[:30_000_000])
    assert time.process_time() - started < 1  # 0.07 s; generous, for a busy machine


def test_this_file_reads_as_itself() -> None:
    assert decode(Path(__file__).read_bytes()) == Path(__file__).read_text(encoding="utf-8")
