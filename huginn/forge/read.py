"""The bytes of a file -> its text, or the one true reason why it has none.

In: a blob as git stores it. Out: text without NUL, lone surrogate or byte-order mark, with as many line feeds as the
file has, or a `SkipReason` (binary, encoding, lfs pointer, empty). The rule that lives here: a byte-order mark decides
the encoding, else UTF-8, else UTF-8 with at most 1 % of its bytes replaced, else the file is skipped. Nothing is ever
read in a one-byte code page: a guess would be mojibake.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from typing import Final

from huginn.forge.skip import SkipReason

__all__ = ["DECODER_VERSION", "SkipReason", "decode", "has_visible"]

DECODER_VERSION = "1"

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED: Final = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")

# How formats begin that hold so much readable text that counting might take them for text.
_BINARY_HEAD: Final = re.compile(
    rb"\x89PNG\r\n|%PDF-\d|PK\x03\x04|\x1f\x8b|BZh[1-9]1AY|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!\x1a|\x7fELF|\x00asm"
    rb"|\xca\xfe\xba\xbe|SQLite format 3\x00|\xff\xd8\xff|\x80[\x02-\x05]|[\s\S]{257}ustar"
)
# Control characters that text has no use for. Bell, backspace and escape stand in recordings of terminals.
_CONTROLS: Final = bytes(byte for byte in range(0x20) if byte not in b"\a\b\t\n\v\f\r\x1b") + b"\x7f"
# Japanese, Korean and Chinese in seven bits: valid UTF-8, and mojibake.
_ISO_2022: Final = re.compile(rb"\x1b\$(?:[@AB]|\([DOPQ]|\)[ACEG])")
# Halves of surrogate pairs written as if they were characters, as some databases and languages do.
_CESU: Final = re.compile(rb"(\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf])|\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT: Final = "\ufffd".encode()
_BAD_BYTE: Final = re.compile("[\udc80-\udcff]")
_MARK_AT_LINE_START: Final = re.compile(r"(?m)^\ufeff+")
_LFS_POINTER: Final = re.compile(
    r"version https://(?:git-lfs|hawser)\.github\.com/spec/v\d+\r?\n"
    r"(?:ext-[^\n]*\n)*oid [a-z0-9]+:[0-9a-f]{40,128}\r?(?:\n(?:[a-z0-9.-]+ [^\n]*\n?)*)?"
)
_LFS_POINTER_BYTES: Final = 1024

# What leaves nothing to see: white space, control and format characters, fillers, variation selectors.
_VISIBLE: Final = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def has_visible(text: str) -> bool:
    """Whether there is anything to see in the text."""
    return _VISIBLE.search(text) is not None


def decode(data: bytes) -> str | SkipReason:
    """The text of a file, or why it has none."""
    if not data:
        return SkipReason.EMPTY
    text = _marked(data)
    if text is None:
        text = _unmarked(data)
    if text is None:
        return _why_no_text(data)
    if "\0" in text:
        text = text.replace("\0", "")
    if "\ufeff" in text:  # also further down: files are joined, marks and all
        text = _MARK_AT_LINE_START.sub("", text)
    if not has_visible(text):
        return SkipReason.BINARY if b"\0" in data and not _is_marked(data) else SkipReason.EMPTY
    if len(text) <= _LFS_POINTER_BYTES and _LFS_POINTER.fullmatch(text):
        return SkipReason.LFS_POINTER
    return text


def _is_marked(data: bytes) -> bool:
    return any(data.startswith(mark) for mark, _ in _MARKS)


def _marked(data: bytes) -> str | None:
    """The text behind a mark of UTF-16 or UTF-32, lone surrogates replaced; None without one, or if it is no text."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(codec, "replace")
            bad = _bad_characters(text)
            if not bad or (bad <= max(1, len(text) // 20) and not _scattered(text)):
                return text
    return None


def _unmarked(data: bytes) -> str | None:
    """The text in UTF-8, mended where at most 1 % of its bytes are bad. None: it is no UTF-8, or no text."""
    if _BINARY_HEAD.match(data) or _controls(data) > max(1, len(data) // 50) or _is_iso_2022(data):
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = _CESU.sub(_real_character, data).decode("utf-8", "surrogateescape")
    mended, bad = _BAD_BYTE.subn("\ufffd", text)
    return mended if bad * 100 <= len(data) else None


def _real_character(half: re.Match[bytes]) -> bytes:
    if half[1] is None:
        return _REPLACEMENT
    units = half[1].decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
    return units.decode("utf-16-le").encode()


def _why_no_text(data: bytes) -> SkipReason:
    if _BINARY_HEAD.match(data) or _is_marked(data):
        return SkipReason.BINARY
    # Code pages of one or more bytes leave the control characters alone; a tenth of random bytes are such.
    if _is_iso_2022(data) or _controls(data) * 100 <= len(data) or any(_reads_as(data, codec) for codec in _UNMARKED):
        return SkipReason.ENCODING
    return SkipReason.BINARY


def _controls(data: bytes) -> int:
    return len(data) - len(data.translate(None, _CONTROLS))


def _is_iso_2022(data: bytes) -> bool:
    return b"\x1b$" in data and data.isascii() and _ISO_2022.search(data) is not None


def _reads_as(data: bytes, codec: str) -> bool:
    """Whether the bytes are text in a wide encoding without its mark: words with spaces, next to nothing odd."""
    width = 2 if codec.startswith("utf-16") else 4
    try:
        text = data[: len(data) // width * width].decode(codec)
    except UnicodeDecodeError:
        return False
    return _bad_characters(text) * 100 <= len(text) and _has_pauses(text) and not _scattered(text)


def _bad_characters(text: str) -> int:
    """How many characters stand in no text: controls, unassigned and private ones, surrogates, replacements."""
    return sum(count for character, count in Counter(text).items() if _is_odd(character))


def _is_odd(character: str) -> bool:
    if character in "\a\b\t\n\v\f\r\x1b":
        return False
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cn", "Co", "Cs")


def _has_pauses(text: str) -> bool:
    return any(pause in text for pause in (" ", "\n", "\r", "\t", "\u3000", "\u3001", "\u3002", "\uff0c"))


def _scattered(text: str) -> bool:
    """Whether the characters come from all over Unicode, as those of random bytes do and those of a text do not."""
    return len({_neighbourhood(character) for character in set(text)}) > min(4 + len(text) // 16, 24)


def _neighbourhood(character: str) -> int:
    page = ord(character) >> 8
    if 0x4E <= page <= 0x9F:
        return 0x4E
    if 0xAC <= page <= 0xD7:
        return 0xAC
    return page >> 2
