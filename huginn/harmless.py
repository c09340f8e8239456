"""Words that somebody else wrote, made harmless: for terminals, pages and whoever else shows them.

In: texts, paths, names, addresses from outside. Out: the same with everything visible that would move, hide, reorder or
imitate what stands around it.
"""

from __future__ import annotations

import re

# Control characters (not newline and tab), everything Unicode calls a format character (bidirectional controls, zero
# width, tags), line and paragraph separators, lone surrogates, and letters and marks that show nothing at all.
_HARMFUL = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff9-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_IN_TEXT = re.compile(f"[{_HARMFUL}]")
_IN_LINE = re.compile(rf"[\n\t{_HARMFUL}]")


def harmless(text: str) -> str:
    """`text` with everything visible that a terminal would obey or hide; newlines and tabs stay."""
    return _IN_TEXT.sub(_visible, text.replace("\r\n", "\n"))


def harmless_line(text: str) -> str:
    """`text` as one line, for names, paths and reasons: newlines and tabs are made visible as well."""
    return _IN_LINE.sub(_visible, text)


def is_safe_link(url: str) -> bool:
    """Whether `url` may stand inside a link: a web address of printable ASCII, which cannot end the sequence."""
    return re.fullmatch(r"https?://[!-~]+", url) is not None


def _visible(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
