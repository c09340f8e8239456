"""Which addresses and branch names git may ever see."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from huginn.errors import Refused
from huginn.forge.address import check_address, check_branch

CASE = Path(__file__).parent.parent / "cases" / "git_09" / "urls.txt"
SECRET = "not-a-real-pass"
BASE = Path("/srv/base")


def case_lines() -> list[tuple[str, str]]:
    lines = [line for line in CASE.read_text().splitlines() if line and not line.startswith("#")]
    pairs = [line.split("\t") for line in lines]
    return [(text, outcome) for text, outcome in pairs]


@pytest.mark.parametrize(("text", "outcome"), case_lines())
def test_each_line_of_the_case_is_refused_or_accepted_as_it_says(text: str, outcome: str) -> None:
    text = text.replace("{D}", "/tmp/scratch")

    def check() -> None:
        if text.startswith("REF:"):
            check_branch(text.removeprefix("REF:"))
        else:
            check_address(text, base=BASE, local_allowed=False)

    if outcome == "accept":
        check()
    else:
        with pytest.raises(Refused) as refusal:
            check()
        assert refusal.value.field == ("branch" if text.startswith("REF:") else "url")
        assert SECRET not in str(refusal.value)


ACCEPTED = [
    "https://forge.example.org/team/repo.git",
    "https://forge.example.org/team/repo",
    "https://forge.example.org/team/repo/",
    "https://forge.example.org:8443/team/repo.git",
    "https://forge.example.org/~user/repo",
    "https://forge.example.org/@user/repo",
    "https://forge.example.org/a/b%20c.git",
    "https://192.0.2.7/team/repo.git",
    "https://[2001:db8::7]/team/repo.git",
    "https://[2001:db8::7]:8443/team/repo.git",
    "https://forge.example.org/größe/repo.git",
    "ssh://forge.example.org/team/repo.git",
    "ssh://git@forge.example.org/team/repo.git",
    "ssh://git@[2001:db8::7]:2222/team/repo.git",
    "ssh://git@forge.example.org/~/repo.git",
    "git@forge.example.org:team/repo.git",
    "git@forge.example.org:/srv/team/repo.git",
    "forge:team/repo.git",
    "git@[2001:db8::7]:team/repo.git",
    "file:///srv/git/repo.git",
    "file:///srv/git/with%20space.git",
    "/srv/git/repo.git",
    "/srv/git/a:b.git",
    "./repo",
    "./-repo",
    "../repo",
    "repo",
    "team/repo.git",
    ".",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_honest_address_is_accepted(text: str) -> None:
    address = check_address(text, base=BASE)
    assert address.shown == text


REFUSED = [
    "",
    " ",
    "-",
    "--",
    "-u./evil",
    "\t/srv/repo",
    " /srv/repo",
    "/srv/repo ",
    "/srv/re po",
    "/srv/repo\n--upload-pack=x",
    "/srv/repo\0x",
    "/srv/\x1b[31mrepo",
    "/srv/\u202egro.elpmaxe",
    "/srv/\udcff",
    "/srv/repo?x",
    "/srv/repo#x",
    "/srv/repo%0a--upload-pack=y",
    "~/repo",
    "~root/repo",
    "http://forge.example.org/team/repo.git",
    "HTTP://forge.example.org/team/repo.git",
    "HTTPS://forge.example.org/team/repo.git",
    "git://forge.example.org/team/repo.git",
    "ftp://forge.example.org/team/repo.git",
    "git+ssh://forge.example.org/team/repo.git",
    "ssh+git://forge.example.org/team/repo.git",
    "javascript://forge.example.org/x",
    "ext::true",
    "ext::/bin/true",
    "EXT::true",
    "fd::0,1/x",
    "transport::https://forge.example.org/x",
    "https::https://forge.example.org/x",
    "::x",
    ":x",
    "://x",
    ":",
    "http:/x",
    "https:/forge.example.org/x",
    "file:/etc",
    "file:etc",
    "file://etc",
    "file://host/etc",
    "file://localhost/etc",
    "file:///etc%00x",
    "file:///etc%0d%0ax",
    "file:///a b",
    "https:///team/repo.git",
    "https://",
    "https://forge.example.org",
    "https://forge.example.org/",
    "https://-forge.example.org/team/repo.git",
    "https://.forge.example.org/team/repo.git",
    "https://forge.example.org:/team/repo.git",
    "https://forge.example.org:99999/team/repo.git",
    "https://forge.example.org:22x/team/repo.git",
    "https://forge.example.org\\@evil.example/x",
    "https://forge.example.org/team/repo.git%0A--x",
    "https://forge.example.org/team/repo.git%7f",
    "https://forge.example.org/team/repo.git%c2%85",
    "https://forge.example.org/team/%zz",
    "https://forge.example.org/team/`id`",
    "https://forge.example.org/team/{a,b}",
    "https://forge.example.org/team/repo|x",
    'https://forge.example.org/team/"x"',
    "https://forge.example.org/team/<x>",
    "https://token@forge.example.org/team/repo.git",
    "https://@forge.example.org/team/repo.git",
    "https://:@forge.example.org/team/repo.git",
    "https://forge.example.org@evil.example/team/repo.git",
    "https://[2001:db8::7/team/repo.git",
    "https://[::1]evil/team/repo.git",
    "https://[-x]/team/repo.git",
    "https://fоrge%2eexample.org/x",
    "ssh://",
    "ssh:///x",
    "ssh://@forge.example.org/x",
    "ssh://-l@forge.example.org/x",
    "ssh://git@-oProxyCommand=x/y",
    "ssh://git@/y",
    "ssh://forge.example.org",
    "ssh://forge.example.org:-1/x",
    "ssh://a@b@forge.example.org/x",
    "-git@forge.example.org:x",
    "git@:x",
    "@forge.example.org:x",
    "git@-x:y",
    "git@forge.example.org:",
    "git@forge.example.org:-x",
    "git@forge.example.org::x",
    "git@[-oProxyCommand=x]:y",
    "[git@forge.example.org:22]:x",
    "a@b@c:x",
    "/" + "x" * 2_000,
]


@pytest.mark.parametrize("text", REFUSED)
def test_anything_else_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_address(text, base=BASE)
    assert refusal.value.field == "url"


@pytest.mark.parametrize(
    "text",
    [
        f"https://user:{SECRET}@forge.example.org/team/repo.git",
        f"https://{SECRET}@forge.example.org/team/repo.git",
        f"https://{SECRET}:x-oauth-basic@forge.example.org/team/repo.git",
        f"https://user:a/{SECRET}@forge.example.org/team/repo.git",
        f"https://user/{SECRET}@forge.example.org/team/repo.git",
        f"https:///user:{SECRET}@forge.example.org/team/repo.git",
        f"https:user:{SECRET}@forge.example.org/team/repo.git",
        f"http://user:{SECRET}@forge.example.org/team/repo.git",
        f"ssh://git:{SECRET}@forge.example.org/team/repo.git",
        f"ssh://git:a/{SECRET}@forge.example.org/team/repo.git",
        f"git:{SECRET}@forge.example.org:team/repo.git",
        f"git:a/{SECRET}@forge.example.org:team/repo.git",
        f"user:{SECRET}@forge.example.org/team/repo.git",
        f"https://user:{SECRET}%0a@forge.example.org/team/repo.git",
        f"https://user:{SECRET} @forge.example.org/team/repo.git",
        f"https://user:?{SECRET}@forge.example.org/team/repo.git",
        f"ftp://user:{SECRET}@forge.example.org/",
    ],
)
def test_a_password_is_refused_and_never_repeated(text: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_address(text, base=BASE)
    assert SECRET not in str(refusal.value) + repr(refusal.value)


def test_a_token_in_an_https_address_is_told_where_it_belongs() -> None:
    with pytest.raises(Refused, match="token_file"):
        check_address(f"https://{SECRET}@forge.example.org/team/repo.git", base=BASE)


def test_a_relative_path_starts_from_the_base_and_becomes_absolute() -> None:
    assert check_address("../repo", base=Path("/srv/with space/conf")).url == "/srv/with space/repo"
    assert check_address("repo", base=BASE).url == "/srv/base/repo"
    assert check_address("/repo", base=BASE).url == "/repo"


@pytest.mark.parametrize("text", ["/srv/repo", "file:///srv/repo", "./repo", "../repo", "repo"])
def test_a_local_path_is_refused_where_local_paths_are_not_allowed(text: str) -> None:
    assert check_address(text, base=BASE).local
    with pytest.raises(Refused):
        check_address(text, base=BASE, local_allowed=False)


@pytest.mark.parametrize("text", ["https://forge.example.org/a", "ssh://forge.example.org/a", "forge.example.org:a"])
def test_a_remote_address_is_not_local(text: str) -> None:
    assert not check_address(text, base=BASE, local_allowed=False).local


@given(st.text(min_size=1, max_size=60))
def test_whatever_is_accepted_is_no_option_and_one_of_four_forms(text: str) -> None:
    try:
        address = check_address(text, base=BASE)
    except Refused:
        return
    assert not address.url.startswith("-")
    assert address.url.isprintable()
    assert address.shown.isprintable()
    assert address.url.startswith(("https://", "ssh://", "file:///", "/")) or ":" in address.url
    assert "::" not in address.url.split("/")[0]


@pytest.mark.parametrize(
    "branch",
    ["main", "release/2.x", "feature/a-b_c", "größe", "功能", "v1.0", "a@b", "fix#12", "a+b", "a=b,c", "x/refs/y", "m"],
)
def test_an_honest_branch_is_accepted(branch: str) -> None:
    assert check_branch(branch) == branch


@pytest.mark.parametrize(
    "branch",
    [
        *("", "-", "-x", "--output=x", "a b", "a\tb", "a\n", "a\0", "a..b", "..", ".", ".a", "a/.b", "a.", "a/", "/a"),
        *("a//b", "a.lock", "a.lock/b", "a@{1}", "@", "HEAD", "@{u}", "refs/heads/main", "refs/heads/../../config"),
        *("a~1", "a^", "a:b", "+a:b", "a?", "a*", "a[b", "a\\b", "a;b", "a|b", "a$b", "a`b", "a'b", 'a"b', "a>b"),
        *("a&b", "a%b", "(a)", "\u202ea", "a\u200b", "\udcff", "x" * 201, "ä" * 101),
    ],
)
def test_anything_else_is_no_branch(branch: str) -> None:
    with pytest.raises(Refused) as refusal:
        check_branch(branch)
    assert refusal.value.field == "branch"
