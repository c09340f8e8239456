"""The rules of the scrub, one place or value at a time: what is masked, and what looks like a secret and stays.

`scrub_places.toml` holds the places, without values: these are drawn at run time. `scrub_examples.txt` holds lines in
which nothing is secret.
"""

import base64
import hashlib
import random
import string
import tomllib
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from huginn.scrub import prepare, scrub, scrub_lines
from huginn.scrubbing.names import Sureness, announces
from huginn.scrubbing.shapes import is_secret_bareword, is_secret_literal, looks_random

LETTERS = string.ascii_letters + string.digits
HERE = Path(__file__).parent
DASHES = "-" * 5


def draw(random_numbers: random.Random, length: int, alphabet: str = LETTERS) -> str:
    return "".join(random_numbers.choices(alphabet, k=length))


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


VALUES: dict[str, Callable[[random.Random], str]] = {
    "password": lambda r: draw(r, 14, LETTERS + "!#%*"),
    "letters": lambda r: draw(r, 14),
    "weak": lambda r: r.choice(["winter", "garden", "tiger"]) + draw(r, 2, "23456789") + r.choice(["rain", "stone"]),
    "login64": lambda r: base64_of("me:" + draw(r, 14)),
    "password64": lambda r: base64_of(draw(r, 14)),
    "django": lambda r: draw(r, 50, string.ascii_lowercase + string.digits + "!@#%^&*-_=+"),
    "slashes40": lambda r: draw(r, 40, LETTERS + "/+"),
    "matrix": lambda r: draw(r, 30) + "_" + draw(r, 6),
    "base32": lambda r: draw(r, 32, string.ascii_uppercase + "234567"),
    **{f"hex{n}": (lambda r, n=n: draw(r, n, "0123456789abcdef")) for n in (32, 40, 64)},  # type: ignore[misc]
    **{f"letters{n}": (lambda r, n=n: draw(r, n)) for n in (20, 24, 30, 32, 36, 40, 43, 68)},  # type: ignore[misc]
}
PLACES = [
    (kind, place)
    for kind, places in tomllib.loads((HERE / "scrub_places.toml").read_text("utf-8")).items()
    for place in places
]


@pytest.fixture(scope="module", autouse=True)
def _compiled(tmp_path_factory: pytest.TempPathFactory) -> None:
    prepare(tmp_path_factory.mktemp("rules"))
    scrub("the first text compiles the rules")


@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_a_secret_is_masked_where_it_stands(kind: str, place: str) -> None:
    numbers = random.Random(place)
    for _ in range(6):
        value = VALUES[kind](numbers)
        text = "some words before\n" + place.format(value) + "and after\n"
        clean = scrub(text).clean
        assert value[:12] not in clean
        assert value[-8:] not in clean
        assert clean.startswith("some words before\n")
        assert clean.endswith("and after\n")
        assert scrub(clean).clean == clean


@pytest.mark.parametrize(("kind", "place"), PLACES)
@pytest.mark.parametrize("beside", ["password", "repo a/b.py | a b py", "token =", "kind: Secret"])
def test_a_line_is_scrubbed_among_others_as_if_alone(kind: str, place: str, beside: str) -> None:
    written = place.format(VALUES[kind](random.Random(place)))
    lines = [beside, *written.split("\n"), " ".join(written.split("\n")), f"{beside} |"]
    assert scrub_lines(lines) == {line: scrub(line).clean for line in lines}


def _examples() -> list[str]:
    digest = hashlib.sha256(b"x")
    fields = {
        "sha1": hashlib.sha1(b"x", usedforsecurity=False).hexdigest(),
        "md5": hashlib.md5(b"x", usedforsecurity=False).hexdigest(),
        "sha256": digest.hexdigest(),
        "sri": "sha512-" + base64.b64encode(hashlib.sha512(b"x").digest()).decode(),
        "ev": "$" + base64.urlsafe_b64encode(digest.digest()).decode().rstrip("="),
        "u": str(uuid.uuid5(uuid.NAMESPACE_DNS, "x")),
        "b64img": base64.b64encode(bytes(range(256)) * 8).decode(),
    }
    lines = (HERE / "scrub_examples.txt").read_text("utf-8")
    lines = lines.replace("{sha1[:10]}", fields["sha1"][:10]).replace("{sha1[:7]}", fields["sha1"][:7])
    return lines.format(**fields).splitlines()


@pytest.mark.parametrize("line", _examples())
def test_what_is_no_secret_stays(line: str) -> None:
    assert scrub(line).clean == line


def test_what_is_no_secret_stays_among_other_lines() -> None:
    text = "\n".join(_examples())
    assert scrub(text).clean == text


class TestPrivateKeys:
    """A private key goes as a whole, whatever a file puts around its lines."""

    lines = tuple(draw(random.Random(n), 64, LETTERS + "+/") for n in range(5))
    begin, end = f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}", f"{DASHES}END RSA PRIVATE KEY{DASHES}"

    @pytest.mark.parametrize(
        "around",
        [
            "{}\n",
            "    {}\n",
            "> {}\n",
            "# {}\n",
            "+{}\n",
            "{}\r\n",
            "{}\\n",
            "{}\\\\n",
            '"{}\\n"\n',
            '"{}\\n" +\n',
            "{} ",
        ],
    )
    @pytest.mark.parametrize("ended", [True, False])
    def test_no_line_of_it_stays(self, around: str, ended: bool) -> None:
        lines = [self.begin, *self.lines, *([self.end] if ended else [])]
        text = "before\n" + "".join(around.format(line) for line in lines) + "\nthe words after it\n"
        clean = scrub(text).clean
        for line in self.lines:
            assert line[:12] not in clean
        assert clean.startswith("before\n")
        assert clean.endswith("the words after it\n")
        assert clean.count("\n") == text.count("\n")

    def test_a_key_whose_beginning_is_missing_goes_too(self) -> None:
        clean = scrub("before\n" + "\n".join([*self.lines, self.end]) + "\nafter\n").clean
        assert not any(line[:12] in clean for line in self.lines)
        assert clean.startswith("before\n")

    def test_what_stands_between_two_keys_stays(self) -> None:
        cut = "\n".join([self.begin, *self.lines])
        clean = scrub(f"{cut}\n\nsome words of prose stand here\n\n{cut}\n{self.end}\n").clean
        assert "some words of prose stand here" in clean

    def test_public_keys_and_certificates_stay(self) -> None:
        for kind in ("PUBLIC KEY", "CERTIFICATE"):
            text = "\n".join([f"{DASHES}BEGIN {kind}{DASHES}", *self.lines, f"{DASHES}END {kind}{DASHES}"])
            assert scrub(text).clean == text


class TestFoldedTokens:
    """A token that is folded over several lines is one token."""

    token = "gh" + "p_" + draw(random.Random(5), 36)

    @pytest.mark.parametrize(
        "fold", ["\n", "\n  ", "\\\n  ", '"\n  "', '" +\n    "', "'\n'", "\r\n", "=\n", "\n> ", "\n# "]
    )
    @pytest.mark.parametrize("cut", [8, 20, 32])
    def test_no_part_of_it_stays(self, fold: str, cut: int) -> None:
        text = f"x {self.token[:cut]}{fold}{self.token[cut:]}\nwords\n"
        clean = scrub(text).clean
        assert self.token[cut : cut + 8] not in clean
        assert self.token[:cut] not in clean
        assert clean.endswith("\nwords\n")

    def test_the_line_after_a_whole_token_stays(self) -> None:
        assert scrub(f"{self.token}\nthanks\n").clean == "[secret: github token]\nthanks\n"


class TestGlue:
    """A token is found whatever sign it is glued to."""

    @pytest.mark.parametrize(
        ("start", "length"), [("gh,p_", 36), ("gl,pat-", 20), ("sy,t_c29tZW9uZQ_", 27), ("dckr,_pat_", 27)]
    )
    @pytest.mark.parametrize(
        "glue",
        ["({})", "[{}]", "/{}/", "|{}|", "#{}#", "@{}@", "中 {} 文", "\\n{}\\n", "{}.", "{}:", "**{}**", "={};"],
    )
    def test_it_is_masked(self, start: str, length: int, glue: str) -> None:
        token = start.replace(",", "") + draw(random.Random(glue), length)
        clean = scrub("see " + glue.format(token) + " there\n").clean
        assert token[-10:] not in clean
        assert clean.startswith("see ")
        assert clean.endswith(" there\n")


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "smtp_pass",
            "api-key",
            "apiKey",
            "SECRET_KEY",
            "client_secret",
            "x.y.token",
            "PASSWORD_2",
            "password_prod",
            "passwort",
            "contraseña",
            "пароль",
            "authToken",
            "bindpw",
            "AWS_SECRET_ACCESS_KEY",
        ],
    )
    def test_these_announce_a_secret(self, name: str) -> None:
        assert announces(name)[1] == Sureness.IS

    @pytest.mark.parametrize(
        "name",
        [
            "password_file",
            "tokenizer",
            "next_page_token",
            "max_tokens",
            "primary_key",
            "compass",
            "bypass",
            "author",
            "keyboard",
            "secretName",
            "token_type",
            "password_hash",
            "public_key",
            "passport",
            "eos_token",
            "api_key_id",
        ],
    )
    def test_these_only_sound_like_it(self, name: str) -> None:
        assert announces(name)[1] == Sureness.NOT


class TestShapes:
    @pytest.mark.parametrize("length", [12, 16, 24, 40])
    def test_what_is_drawn_by_lot_is_known(self, length: int) -> None:
        numbers = random.Random(length)
        values = [draw(numbers, length) for _ in range(2000)]
        assert sum(map(looks_random, values)) / len(values) > 0.98
        assert sum(map(is_secret_literal, values)) / len(values) > 0.99

    @pytest.mark.parametrize(
        "value",
        [
            "getElementById",
            "MAX_RETRIES_2",
            "user_id_12",
            "utf8mb4",
            "x86_64-linux-gnu",
            "2024-01-01T00:00:00Z",
            "v1.2.3-rc.1",
            "src/huginn/scrub.py",
            "https://example.org/a?b=c",
            "com.example.App2",
            "HTTPSConnectionPool",
            "a@example.org",
        ],
    )
    def test_names_paths_and_numbers_are_not_drawn_by_lot(self, value: str) -> None:
        assert not looks_random(value)
        assert not is_secret_bareword(value)

    def test_a_weak_password_counts_in_quotes_but_not_as_a_name(self) -> None:
        assert is_secret_literal("summer" + "42")
        assert not is_secret_bareword("summer" + "42")
