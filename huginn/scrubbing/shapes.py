"""What a value looks like: a value goes in, a judgement comes out (drawn by lot, example, hash, name).

The rule that lives here: how a secret is told from what may stand in its place, whatever the name beside it says.
"""

from __future__ import annotations

import base64
import binascii
import itertools
import re
import string
import tomllib
from functools import lru_cache
from pathlib import Path

WORDS: dict[str, frozenset[str]] = {}
_ROWS: list[str] = []
for _name, _words in tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8")).items():
    if _name == "pairs":
        _ROWS = _words.split()
    else:
        WORDS[_name] = frozenset(_words.split())
_USUAL = {
    first + second: int(digit) - 5
    for first, row in zip(string.ascii_lowercase, _ROWS, strict=True)
    for second, digit in zip(string.ascii_lowercase, row, strict=True)
}

# The characters by which a longer value is judged: what is examined must not grow with what is written.
_ENOUGH = 128

CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LETTERS = re.compile(r"[A-Za-z]+")
_DIGITS = re.compile(r"\d+")
_SINGLE = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_SEPARATOR = re.compile(r"[-_./:\\@~ ]")
_SYMBOL = re.compile(r"[!#%*@^&$+=~?|<>()\[\]{}\\]")

_EXAMPLE = re.compile(
    r"example|change[-_ ]?me|changeit|placeholder|(?:^|[-_ .<])(?:your|my|the|some)[-_ ]|dummy|redacted|\bsample|xxxx"
    r"|\.\.\.|…|\*{5,}|^\*{3}|\*{3}$|insert[-_ ]|replace|foobar|lorem|hunter2|abcdef|123456|012345|654321|qwerty"
    r"|not[-_ ]?a[-_ ]?real|secret[-_]here",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"\$\{|\$\([A-Za-z_][^()]*\)|\{\{|\}\}|#\{|<%|%>|\{[A-Za-z_][\w.\[\]'\"! :]*\}|\{\d*\}|%\(\w+\)|^\$\d+$|^\$\[|@\{"
    r"|^%[-\d.]*[sdrifxvq]$|^<.*>$|^\[.*\]$|^@\w+@$|^__\w+__$|^!(?:Ref|Sub|vault|env|secret)\b|^!?\w*::|^ENC\["
    r"|^(?:vault|ssm|op|file|env|secret|arn|ref|keyring|secretsmanager|akv|gcpsm|sops)[:.](?!$)"
)
_UUID = re.compile(r"\{?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\}?")
_HASH = re.compile(
    r"(?:sha-?\d+|md5|sha3-\d+|blake\w*)[-:=/$].*|\$(?:2[aby]?|argon2\w*|[156y]|pbkdf2[\w-]*|scrypt|apr1)\$.*"
    r"|\{S?SHA\d*\}.*|(?:pbkdf2|bcrypt|argon2|scrypt)\w*[$:].*",
    re.IGNORECASE,
)
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)")
_MATRIX_ID = re.compile(r"[!$][\w-]{43}")
_NUMBER = re.compile(r"[\d.,:/_xTZ+\-]+|v?\d+(?:\.\d+)+[\w.+-]*|[-+]?\d[\d_.]*(?:[a-zA-Z]{1,3})?")
_ADDRESS = re.compile(
    r"[a-zA-Z][\w+.-]*://.*|https?%3A.*|[\w.+-]+@[\w-]+\.[\w.-]+|(?:\d{1,3}\.){3}\d{1,3}.*|[$!#@+][\w/+=.-]+:[\w.-]+(?::\d+)?"
)
_PATH = re.compile(
    r"(?:[~.]{0,2}[\\/]|[A-Za-z]:[\\/]).*|[\w@.~-]+(?:[\\/][\w@.~ -]+)+[\\/]?\.?\w*"
    r"|[\w-]+\.(?:[a-z]{2,4}|[a-z]+\.[a-z]{2,4})"
)
_SELECTOR = re.compile(r"--?[a-z][a-z-]*|\w+\[.*\]|[a-z]+#[a-z][a-z_-]*")
# A name with a mark in front: variables, selectors, fields.
_MARKED_NAME = re.compile(r"[%$&@:#.!*]{1,2}([A-Za-z_][\w.:-]*)%?")
# Regular expressions, formats of dates, escapes.
_PATTERN = re.compile(
    r"\(\?|\[\^?[^\]\s]*\w-\w[^\]]*\]|\\[dwsbSWAZxuU]|[.\]][*+]|%[YmdHMS][-/:T ]?%[YmdHMSb]|\{\d+,?\d*\}"
    r"|\w\|[\w:.,]+\|\w"
)
_DOTTED_NAME = re.compile(r"[@$]?[A-Za-z_][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+[!?]?")
_WORD_NUMBER_WORD = re.compile(r"[A-Za-z]{3,}\d{2,}[A-Za-z]{3,}\W?")
_INNER_MARK = re.compile(r"[a-zA-Z\d][!#%*@^$][a-zA-Z\d]")
_MIXED = re.compile(r"(?=.*[A-Z])(?=.*[a-z])(?=.*[\d!#%*$^&@])[\w!#%*$^&@+-]{10,64}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")


@lru_cache(maxsize=4096)
def randomness(value: str) -> float:
    """How much more `value` looks drawn by lot than made of words: above 0 it does.

    The weights were fitted on 60,000 names and paths of program sources against random strings of 8 to 40 characters
    from seven alphabets; at 0 each side has less than one error in a hundred.
    """
    usual = pairs = 0
    for run in _LETTERS.findall(value):
        pairs += len(run) - 1
        for first, second in itertools.pairwise(run.lower()):
            usual += _USUAL[first + second]
    return (
        1.34 * pairs
        - 0.31 * usual
        + 1.56 * len(CAMEL.findall(value))  # words, and the numbers between them
        + 1.75 * len(_DIGITS.findall(value))
        + 0.92 * sum(c.isdigit() for c in value)
        - 0.50 * len(_SINGLE.findall(value))
        - 1.61 * sum(c.isalnum() for c in value)
        - 1.0
    )


def looks_random(value: str) -> bool:
    """Whether nobody would write `value` as a name, a word, a path or a number."""
    return _looks_random(value[:_ENOUGH])


@lru_cache(maxsize=4096)
def _looks_random(value: str) -> bool:
    if len(value) < 8 or " " in value or is_example(value) or is_known_form(value):
        return False
    if _HEX.fullmatch(value):
        return len(value) >= 16 and not value.isdigit()
    if not any(c.isalpha() and c.isascii() for c in value):
        return False
    inner_symbols = len(_SYMBOL.findall(value.strip("!?.:*#=")))
    return randomness(value) + min(inner_symbols, 2) >= 1


def is_secret_literal(value: str, least: int = 6) -> bool:
    """Whether a literal that stands beside a secret's name is a secret: weak ones such as `summer42rain` too."""
    return _is_secret_literal(value[:_ENOUGH], least)


@lru_cache(maxsize=4096)
def _is_secret_literal(value: str, least: int) -> bool:
    if len(value) < least or is_example(value) or is_known_form(value):
        return False
    if any(c.isspace() for c in value) or _names_a_secret(value):
        return False
    if looks_random(value):
        return True
    letters = sum(c.isalpha() for c in value)
    digits = sum(c.isdigit() for c in value)
    bare = value.strip("!?.:*#=()[]{}<>")
    if not letters or _DOTTED_NAME.fullmatch(bare):
        return False
    if _HEX.fullmatch(bare):
        return len(bare) >= 12
    if len(bare) >= 8 and randomness(bare) >= (-3 if not bare.islower() and not bare.isupper() else 0):
        return True
    symbols = len(_SYMBOL.findall(bare))
    if _SEPARATOR.search(bare) and not symbols and _is_slug(bare):
        return digits >= 3 and "/" not in bare and "." not in bare and not bare.isupper()
    if digits:
        return digits >= 2 or symbols > 0 or len(value) > len(bare)
    return symbols > 0 and letters >= 4 and "(" not in bare and not re.fullmatch(r"\w+([=&|+?@])\w+", bare)


def is_secret_bareword(value: str) -> bool:
    """Whether a word without quotes, which might be an expression, is a secret: only what no name looks like."""
    return _is_secret_bareword(value[:_ENOUGH])


@lru_cache(maxsize=4096)
def _is_secret_bareword(value: str) -> bool:
    if re.search(r"[()\[\]{}|]", value) or value.endswith((":", "=>")) or _names_a_secret(value):
        return False
    if _DOTTED_NAME.fullmatch(value) and randomness(re.split(r"\W", value)[0]) < 1:
        return False
    if looks_random(value):
        return True
    # `summer42rain` is a password, while `utf8mb4`, `token2` and `user_id_12` are names.
    return is_secret_literal(value, 8) and bool(_WORD_NUMBER_WORD.fullmatch(value) or _INNER_MARK.search(value))


@lru_cache(maxsize=4096)
def is_example(value: str) -> bool:
    """Whether `value` is an example, a template, a mask or a word such as `changeme`."""
    if not value or _TEMPLATE.search(value) or _EXAMPLE.search(value):
        return True
    if len(set(value)) <= 2 or len(set(value.lower().strip(string.digits))) == 1:
        return True
    words = CAMEL.findall(value)
    digits = sum(len(word) for word in words if word.isdigit())
    return digits <= 4 and all(word.isdigit() or word.lower() in WORDS["stand_ins"] for word in words)


@lru_cache(maxsize=4096)
def is_known_form(value: str) -> bool:
    """Whether `value` is of a form that is no secret: UUID, named hash, number, address, path, selector, pattern."""
    forms = (_UUID, _HASH, _ADDRESS, _SELECTOR, _NUMBER, _MATRIX_ID)
    if any(form.fullmatch(value) for form in forms) or _PATTERN.search(value):
        return True
    # Behind a `$` stands a variable far more often than behind the other marks.
    if (marked := _MARKED_NAME.fullmatch(value)) and randomness(marked[1]) < (1 if value[0] == "$" else -3):
        return marked[1].isidentifier() or _is_slug(marked[1])
    return bool(_PATH.fullmatch(value)) and _is_slug(value)


def _is_slug(value: str) -> bool:
    """Whether `value` is made of words and numbers, with separators between them."""
    return all(_plain_piece(piece) for piece in _SEPARATOR.split(value) if piece)


def _plain_piece(piece: str) -> bool:
    """A word, a number, or a word with a number at its end."""
    bare = piece.rstrip(string.digits)
    if not bare:
        return len(piece) <= 8
    return bare.isalpha() and (len(bare) <= 3 or randomness(bare) < 0)


def _names_a_secret(value: str) -> bool:
    """Whether `value` is itself the name of a place for a secret: `accessToken`, `DB_PASSWORD`, `Aes256Key`."""
    words = CAMEL.findall(value)
    if not words or not re.fullmatch(r"[A-Za-z_][\w.\-]*", value):
        return False
    return words[-1].lower() in ("key", "token", "secret", "password", "passwd") and randomness(value) < 8


def is_mixed_password(value: str) -> bool:
    """Capitals, small letters, and digits or marks: hardly a variable or a word, if it is not made of words."""
    return bool(_MIXED.fullmatch(value)) and randomness(value) > -3 and is_secret_literal(value)


def decodes_to_login(value: str) -> bool:
    """Whether `value` is base64 of `user:password`."""
    if not _BASE64.fullmatch(value):
        return False
    try:
        padded = value.translate({ord("-"): "+", ord("_"): "/"}) + "=" * (-len(value) % 4)
        decoded = base64.b64decode(padded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return False
    user, _, password = decoded.partition(":")
    return bool(user and password and decoded.isprintable() and not is_example(password))
