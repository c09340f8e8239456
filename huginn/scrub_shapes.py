"""What a value looks like: a value goes in, a judgement comes out (random, hash, placeholder, plain word).

The rule that lives here: a value is taken for a secret for its own shape, however loud the name beside it is.
Names are judged in `scrub_named`; tokens that tell by themselves what they are in `scrub_tokens`.
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache

# Pairs of letters that are common in words and names; random letters hit them in one of three cases.
_COMMON_PAIRS = frozenset(
    first + second
    for group in (
        "abcdgiklmnprstuvy baeilorsu cacehiklorstu daeiorsu eacdefgilmnprstvwx faefiloru gaehinru haeio "
        "iabcdefglmnoprstvz keis ladeilostuy mabeimopsu nacdefginostuv oabcdgiklmnoprstuvw paehiloprstuy qu "
        "racdegimnorstuy sacehilopstuwy taceghilorstuwy uabceilmnprst vaei waehino xpt yp ze"
    ).split()
    for first, second in ((group[0], letter) for letter in group[1:])
) | {"ow", "ck", "dd", "mm", "nn", "rn", "rk", "ld", "nk", "ub", "ob", "um", "br", "sk", "ye", "aw", "ew", "gg"}

# Words that stand where a secret would stand.
_STAND_INS = frozenset(
    "password passwd passwort pass passphrase pwd pw secret secrets token tokens key keys api apikey auth access user "
    "username name login admin administrator root guest demo default none null nil undefined true false yes no on off "
    "foo bar baz qux quux spam eggs string str text value val hidden required optional postgres postgresql mysql redis "
    "rabbitmq mongo minio minioadmin changeme change me changeit letmein qwerty example hello world test tests testing "
    "tester dummy fake sample my your the new old some super very strong long random here this is not a an client "
    "server service private public bearer basic github gitlab slack aws prod dev staging local db database app "
    "id sha md base utf oauth http https ssl tls rsa aes hmac jwt bcrypt scrypt argon pbkdf des ecdsa eddsa ed chacha "
    "poly x curve version v step abc abcd abcde abcdef abcdefg xyz secure insecure invalid valid wrong correct bad good "
    "session cookie cookies credential credentials placeholder replace insert enter expected actual missing empty".split()
)
_STAND_IN_PART = re.compile(
    r"example|change[-_ ]?me|changeit|placeholder|(?<![a-z])(?:your|my|the|some)[-_ ]|dummy|redacted|\bsample|xxxx|\.\.\.|…"
    r"|\*\*\*|insert[-_ ]|replace|foobar|lorem|hunter2|abcdef|123456|012345|654321|qwerty|not[-_ ]?a[-_ ]?real|secret[-_]here",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"\$\{|\$\(|\{\{|\}\}|#\{|<%|%>|\{[A-Za-z_][\w.\[\]'\"! :]*\}|\{\d*\}|%\(\w+\)|^%[A-Za-z_]\w*%$|^[%$&@:]{1,2}[A-Za-z_][\w.:]*$|^\$\d"
    r"|^%[-\d.]*[sdrifxvq]$|^<.*>$|^\[.*\]$|^@\w+@$|^__\w+__$|^@\{|^!(?:Ref|Sub|vault|env|secret)\b|^!?\w*::|^\$\[|^env[.:]|^secret[.:]"
    r"|^(?:vault|ssm|op|file|env|arn|ref|keyring|secretsmanager|akv|gcpsm|sops):|^ENC\["
)
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LETTERS = re.compile(r"[A-Za-z]+")
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]+|[0-9A-F]+)")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HASH = re.compile(
    r"(?:sha-?\d+|md5|sha3-\d+|blake\w*)[-:=/$].*|\$(?:2[aby]?|argon2\w*|[156y]|pbkdf2[\w-]*|scrypt|apr1)\$.*"
    r"|\{S?SHA\d*\}.*|(?:pbkdf2|bcrypt|argon2|scrypt)\w*[$:].*",
    re.IGNORECASE,
)
_NUMERIC = re.compile(r"[\d.,:/_xTZ+\-]+|v?\d+(?:\.\d+)+[\w.+-]*|[-+]?\d[\d_.]*(?:[a-zA-Z]{1,3})?")
_ADDRESS = re.compile(
    r"[a-zA-Z][\w+.-]*://.*|[\w.+-]+@[\w-]+\.[\w.-]+|(?:\d{1,3}\.){3}\d{1,3}.*|[$!#@+][\w/+=.-]+:[\w.-]+(?::\d+)?"
)
_PATH = re.compile(
    r"(?:[~.]{0,2}[\\/]|[A-Za-z]:[\\/]).*|[\w@.~-]+(?:[\\/][\w@.~ -]+)+[\\/]?\.?\w*|[\w-]+\.(?:[a-z]{2,4}|[a-z]+\.[a-z]{2,4})"
)
_REFERENCE = re.compile(r"[@$]?[A-Za-z_][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*[!?]?")
_SELECTOR = re.compile(r"[#.][A-Za-z_][\w-]*|--?[a-z][a-z-]*|\w+\[.*\]|[a-z]+#[\w-]+")
_SYMBOL = re.compile(r"[!#%*@^&$+=~?|<>()\[\]{}\\]")


@lru_cache(maxsize=4096)
def wordiness(value: str) -> float:
    """The share of neighbouring letters that are common in words; 1.0 where there are no such pairs."""
    common = pairs = 0
    for run in _LETTERS.findall(value):
        if len(run) == 1:  # a letter between digits and symbols belongs to no word
            pairs += 1
            continue
        lowered = run.lower()
        for first, second in zip(lowered, lowered[1:], strict=False):
            pairs += 1
            common += first + second in _COMMON_PAIRS
    return common / pairs if pairs else 1.0


def _changes(value: str) -> int:
    """How often letters turn into digits or back, and small letters into capitals in the middle of no word."""
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" if c.isalpha() else "s" for c in value]
    count = 0
    for index in range(1, len(kinds)):
        before, now = kinds[index - 1], kinds[index]
        if before == now or "s" in (before, now):
            continue
        # An initial capital ("tokenName", "Token") is ordinary writing.
        if before == "u" and now == "l" and (index == 1 or kinds[index - 2] != "u"):
            continue
        count += 1
    return count


@lru_cache(maxsize=4096)
def looks_random(value: str) -> bool:
    """Whether nobody would write `value` as a name, a word, a path or a number."""
    if not 8 <= len(value) <= 4096 or " " in value or is_stand_in(value) or is_known_form(value):
        return False
    letters = sum(c.isalpha() for c in value)
    digits = sum(c.isdigit() for c in value)
    if not letters:
        return False
    if _HEX.fullmatch(value):
        return len(value) >= 16 and bool(digits)
    words = wordiness(value)
    changes = _changes(value)
    pieces = [piece for piece in re.split(r"[-_./:\\]", value) if piece]
    if len(pieces) > 1 and all(_plain_piece(piece) for piece in pieces):
        return False
    inner_symbols = len(_SYMBOL.findall(value.strip("!?.:*#=")))
    if digits:
        if changes >= 4 and (words < 0.8 or changes >= 6):
            return True
        if changes >= 2 and words < 0.6:
            return True
        return bool(inner_symbols and changes >= 1 and (words < 0.75 or changes >= 3))
    if inner_symbols:
        return words < 0.5 and letters >= 6
    return letters >= 10 and words < 0.47 and (changes >= 2 or words < 0.35) and len(pieces) < 4


def _plain_piece(piece: str) -> bool:
    """A word, a number, or a word with a number at its end."""
    bare = piece.rstrip("0123456789")
    if not bare:
        return len(piece) <= 8
    return bare.isalpha() and (len(bare) <= 3 or wordiness(bare) >= 0.5) and _changes(bare) <= 2


@lru_cache(maxsize=4096)
def is_stand_in(value: str) -> bool:
    """Whether `value` is an example, a template or a word such as `changeme`."""
    if not value or _TEMPLATE.search(value) or _STAND_IN_PART.search(value):
        return True
    if len(set(value)) <= 2 or len(set(value.lower().strip("0123456789"))) <= 2:
        return True
    words = _CAMEL.findall(value)
    digits = sum(len(word) for word in words if word.isdigit())
    return digits <= 4 and all(word.isdigit() or word.lower() in _STAND_INS for word in words)


@lru_cache(maxsize=4096)
def is_known_form(value: str) -> bool:
    """Whether `value` is of a form that is no secret: UUID, hash with its name, number, address, path, selector."""
    if _UUID.fullmatch(value) or _HASH.fullmatch(value) or _ADDRESS.fullmatch(value) or _SELECTOR.fullmatch(value):
        return True
    if _NUMERIC.fullmatch(value):
        return True
    return bool(_PATH.fullmatch(value)) and all(_plain_piece(p) for p in re.split(r"[-_./\\@~ ]", value) if p)


def is_secret_literal(value: str, *, least: int = 6) -> bool:
    """Whether a literal that stands beside a secret's name is a secret: weak ones such as `summer42rain` too."""
    if not least <= len(value) <= 4096 or any(c.isspace() for c in value) or is_stand_in(value) or is_known_form(value):
        return False
    if looks_random(value):
        return True
    letters = sum(c.isalpha() for c in value)
    digits = sum(c.isdigit() for c in value)
    if not letters:
        return False
    bare = value.strip("!?.:*#=()[]{}<>")
    if _HEX.fullmatch(bare):
        return len(bare) >= 12
    symbols = len(_SYMBOL.findall(bare))
    if "." in bare and _REFERENCE.fullmatch(bare):
        return False
    if re.search(r"[-_/:.]", bare) and not symbols and all(_plain_piece(p) for p in re.split(r"[-_./:]", bare) if p):
        return digits >= 3 and "/" not in bare and "." not in bare and not re.fullmatch(r"[A-Z0-9_]+", bare)
    if digits:
        return digits >= 2 or symbols > 0 or len(value) > len(bare)
    return symbols > 0 and "(" not in bare and letters >= 4 and not re.fullmatch(r"\w+([=&|+?@])\w+", bare)


def is_secret_bareword(value: str) -> bool:
    """Whether a word without quotes, which might be an expression, is a secret: only what no name looks like."""
    if looks_random(value):
        return not re.search(r"[\w\])][(\[]", value)
    if not is_secret_literal(value, least=8) or re.search(r"[()\[\]{}.]", value) or value.endswith(("=", ":")):
        return False
    # `summer42rain` is a password, `utf8mb4`, `token2` and `user_id_12` are names.
    return bool(
        re.fullmatch(r"[A-Za-z]{3,}\d{2,}[A-Za-z]{3,}\W?", value) or re.search(r"[a-zA-Z\d][!#%*@^&$][a-zA-Z\d]", value)
    )


def decodes_to_login(value: str) -> bool:
    """Whether `value` is base64 of `user:password`."""
    if len(value) < 8 or not re.fullmatch(r"[A-Za-z0-9+/_-]+={0,2}", value):
        return False
    try:
        decoded = base64.b64decode(
            value.replace("-", "+").replace("_", "/") + "=" * (-len(value) % 4), validate=True
        ).decode("utf-8")
    except (binascii.Error, ValueError):
        return False
    user, colon, password = decoded.partition(":")
    return bool(colon and user and password and decoded.isprintable() and not is_stand_in(password))
