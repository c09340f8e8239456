"""What git must never do, see, say or leave behind."""

from __future__ import annotations

import logging
import os
import subprocess
import time
from pathlib import Path

import pytest

from huginn.errors import HuginnError, Unavailable
from huginn.forge.address import Address, check_address
from huginn.forge.git import LONGEST_WORDS, Git, harmless
from huginn.forge.mirror import Mirror
from huginn.forge.process import GitFailed, GitTimedOut
from tests.support.git import LINK, Repository, environment

TOKEN = "not-a-real-token"


def mirror_of(url: str, tmp_path: Path, *, token: str | None = None, timeout: float = 30.0) -> Mirror:
    return Mirror(tmp_path / "m.git", check_address(url, base=tmp_path), branch=None, token=token, timeout=timeout)


def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def fetched(mirror: Mirror) -> str:
    tip = mirror.tip()
    assert tip is not None
    return mirror.fetch(tip)


def test_the_callers_git_settings_are_not_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Repository(tmp_path / "remote")
    new = remote.commit({"a": "1"})
    other = Repository(tmp_path / "other")
    other.commit({"other": "1"})
    settings = tmp_path / "settings"
    settings.write_text(f'[url "{other.path}"]\n\tinsteadOf = {remote.path}\n[core]\n\tsshCommand = false\n')
    for name, value in {
        "GIT_DIR": str(other.path),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "nowhere"),
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_CONFIG_SYSTEM": str(settings),
        "GIT_CONFIG_PARAMETERS": f"'url.{other.path}.insteadof={remote.path}'",
        "GIT_NAMESPACE": "elsewhere",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_EXEC_PATH": str(tmp_path),
        "GIT_SHALLOW_FILE": str(settings),
        "LANGUAGE": "de",
    }.items():
        monkeypatch.setenv(name, value)
    mirror = mirror_of(str(remote.path), tmp_path)
    assert fetched(mirror) == new
    assert [entry.path for entry in mirror.tree(new)] == [b"a"]
    assert not (tmp_path / "trace").exists()


def test_the_settings_of_a_repository_around_the_current_folder_are_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = Repository(tmp_path / "remote")
    new = remote.commit({"a": "1"})
    around = tmp_path / "around"
    subprocess.run(["git", "init", "-q", str(around)], check=True, env=environment())
    with (around / ".git" / "config").open("a") as config:
        config.write(f'[url "/nowhere"]\n\tinsteadOf = {remote.path}\n')
    monkeypatch.chdir(around)
    assert fetched(mirror_of(str(remote.path), tmp_path)) == new


def test_no_hook_of_source_or_mirror_runs(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    mirror = mirror_of(str(remote.path), tmp_path)
    fetched(mirror)
    for folder in (remote.path, tmp_path / "m.git"):
        (folder / "hooks").mkdir()
        for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-update", "post-merge"):
            (folder / "hooks" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
            (folder / "hooks" / name).chmod(0o700)
    with (remote.path / "config").open("a") as config:
        config.write(f'[uploadpack]\n\tpackObjectsHook = "touch {tmp_path}/pwned; false"\n')
    new = remote.commit({"a": "2"}, message="x")
    (tmp_path / "pwned").unlink(missing_ok=True)  # the builder's own update of the ref ran one
    assert fetched(mirror) == new
    assert not (tmp_path / "pwned").exists()


def test_attributes_and_filters_of_a_repository_change_nothing(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    text = "one\r\ntwo $Id$\r\n"
    new = remote.commit({".gitattributes": "* text eol=lf ident filter=x diff=y export-ignore\n", "a": text})
    mirror = mirror_of(str(remote.path), tmp_path)
    fetched(mirror)
    with mirror.blobs() as read:
        assert text.encode() in [read(entry.blob) for entry in mirror.tree(new)]


def test_replaced_objects_do_not_count(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    first = remote.commit({"a": "1"})
    second = remote.commit({"a": "2"})
    mirror = mirror_of(str(remote.path), tmp_path)
    fetched(mirror)
    subprocess.run(["git", "--git-dir", str(tmp_path / "m.git"), "replace", second, first], check=True)
    with mirror.blobs() as read:
        assert [read(entry.blob) for entry in mirror.tree(second)] == [b"2"]


def test_hostile_names_in_trees_are_bytes_and_nothing_else(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    blob = remote.blob("x")
    inner = remote.git("mktree", "-z", stdin=f"100644 blob {blob}\tescape\0".encode())
    lines = [f"040000 tree {inner}\t..", f"040000 tree {inner}\t.git", f"{LINK} blob {blob}\t.gitmodules"]
    new = remote.commit_tree(remote.git("mktree", "-z", stdin="".join(f"{x}\0" for x in lines).encode()), [])
    mirror = mirror_of(str(remote.path), tmp_path)
    fetched(mirror)
    paths = {b"../escape", b".git/escape", b".gitmodules"}
    assert {entry.path for entry in mirror.tree(new)} == paths == set(mirror.newest_commits(new))
    assert not (tmp_path / "escape").exists()


def test_a_tree_made_to_list_endless_paths_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Repository(tmp_path / "remote")
    kind, made = "100644 blob", remote.blob("x")
    for _ in range(12):
        listing = "".join(f"{kind} {made}\t{name}\0" for name in "0123456789")
        kind, made = "040000 tree", remote.git("mktree", "-z", stdin=listing.encode())
    first = remote.commit({"a": "1"})
    new = remote.commit_tree(made, [first])
    monkeypatch.setattr("huginn.forge.tree.MOST_PATHS", 20_000)
    monkeypatch.setattr("huginn.forge.git.MOST_MEMORY", 64 << 20)
    mirror = mirror_of(str(remote.path), tmp_path)
    fetched(mirror)
    for ask in (mirror.tree, mirror.newest_commits, lambda commit: mirror.changed(first, commit)):
        with pytest.raises(Unavailable, match="lists more"):
            ask(new)
    assert mirror.has(new)


def test_a_token_is_in_the_environment_of_git_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake_git(
        tmp_path,
        monkeypatch,
        f'echo "$@" >>{tmp_path}/arguments; env >>{tmp_path}/environment; echo "fatal: {TOKEN}" >&2; exit 128',
    )
    mirror = mirror_of("https://forge.example.org/team/repo.git", tmp_path, token=TOKEN)
    with caplog.at_level(logging.DEBUG), pytest.raises(Unavailable) as error:
        mirror.tip()
    lines = (tmp_path / "environment").read_text().splitlines()
    assert TOKEN not in (tmp_path / "arguments").read_text() + str(error.value) + repr(mirror.__dict__) + caplog.text
    key = next(line for line in lines if line.endswith("=http.https://forge.example.org/.extraHeader"))
    header = key.replace("KEY", "VALUE").split("=")[0] + "=Authorization: Basic "
    assert any(line.startswith(header) for line in lines)
    assert any(line.endswith("=false") for line in lines if "VALUE" in line)


@pytest.mark.parametrize("url", ["ssh://git@forge.example.org/repo.git", "git@forge.example.org:repo.git", "/srv/x"])
def test_a_token_goes_to_https_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    fake_git(tmp_path, monkeypatch, f"env >>{tmp_path}/environment; exit 128")
    with pytest.raises(Unavailable):
        mirror_of(url, tmp_path, token=TOKEN).tip()
    assert "Authorization" not in (tmp_path / "environment").read_text()


def test_a_git_that_hangs_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path, monkeypatch, f"trap '' TERM; sleep 60 & echo $! >{tmp_path}/child; wait; sleep 60")
    begun = time.monotonic()
    with pytest.raises(Unavailable, match=r"no end within 0\.5 s"):
        mirror_of("/srv/x", tmp_path, timeout=0.5).tip()
    assert time.monotonic() - begun < 10
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not is_running(child):
            break
        time.sleep(0.02)
    assert not is_running(child)


def is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_git_that_talks_for_ever_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path, monkeypatch, "yes | tr -d '\\n'")
    with pytest.raises(Unavailable):
        mirror_of("/srv/x", tmp_path, timeout=20).tip()


def test_a_child_that_keeps_the_error_stream_open_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_git(tmp_path, monkeypatch, "sleep 5 >/dev/null & exit 0")
    begun = time.monotonic()
    assert Git(None, 30).run("version") == b""
    assert time.monotonic() - begun < 3


def test_a_missing_git_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="git is not installed"):
        mirror_of("/srv/x", tmp_path).tip()


@pytest.mark.parametrize(
    "url", ["ext::touch {}/pwned", "http://127.0.0.1:1/x", "git://127.0.0.1:1/x", "--upload-pack=x"]
)
def test_even_an_unchecked_address_cannot_make_git_do_more(tmp_path: Path, url: str) -> None:
    url = url.format(tmp_path)
    with pytest.raises(HuginnError):
        Mirror(tmp_path / "m.git", Address(url, False, url), branch=None).tip()
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("fatal: detected dubious ownership in repository at '/x'", "belongs to another user"),
        ("Host key verification failed.\nfatal: Could not read from remote repository.", "key is not known"),
        ("git@forge.example.org: Permission denied (publickey).\nfatal: Could not read", "does not let us in"),
        ("fatal: Authentication failed for 'https://u:p@forge.example.org/'", "does not let us in"),
        ("fatal: could not read Username for 'https://x': terminal prompts disabled", "does not let us in"),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 403", "does not let us in"),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 301", "moved"),
        ("fatal: repository 'https://x/' not found", "there is no repository"),
        ("fatal: '/x' does not appear to be a git repository\nfatal: Could not read", "there is no repository"),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", "name is not known"),
        ("ssh: Could not resolve hostname x: Name or service not known", "name is not known"),
        ("ssh: connect to host x port 22: Connection refused", "cannot be reached"),
        ("fatal: unable to access 'https://x/': SSL certificate problem: self signed certificate", "certificate"),
        ("fatal: unable to access 'https://x/': GnuTLS recv error (-110): The TLS connection was", "cannot be reached"),
        ("fatal: unable to access 'https://x/': The requested URL returned error: 503", "cannot be reached"),
        ("fatal: something entirely new", "something entirely new"),
        ("", "without a word"),
    ],
)
def test_what_git_says_of_a_remote_becomes_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    (tmp_path / "said").write_text(said)
    fake_git(tmp_path, monkeypatch, f"cat {tmp_path}/said >&2; exit 128")
    with pytest.raises(Unavailable, match=told) as error:
        mirror_of("/srv/x", tmp_path).tip()
    assert error.value.part == "upstream"
    assert error.value.next_step


def test_a_full_disk_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_git(tmp_path, monkeypatch, "echo 'fatal: write error: No space left on device' >&2; exit 128")
    with pytest.raises(Unavailable) as error:
        mirror_of("/srv/x", tmp_path).tip()
    assert error.value.part == "disk"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"fatal: unable to access 'https://user:secret@host/x'", "fatal: unable to access 'https://host/x'"),
        (b"fatal: 'https://a:b@c:secret@host/x'", "fatal: 'https://host/x'"),
        (b"remote: \x1b[31mred\x07\nfatal: no\r\nhint: do", "fatal: no / remote: [31mred"),
        ("fatal: \u202eevil\x9b31m".encode(), "fatal: evil 31m"),
        (b"warning: x\n\xff\xfe", "��"),
    ],
)
def test_words_of_git_are_made_harmless(said: bytes, told: str) -> None:
    assert harmless(said) == told


def test_words_of_git_are_short_and_hold_no_secret() -> None:
    assert len(harmless(b"x" * 9_000)) == LONGEST_WORDS
    assert harmless(f"fatal: {TOKEN}", [TOKEN]) == "fatal: [secret]"


def test_a_failure_shows_no_command(tmp_path: Path) -> None:
    with pytest.raises(GitFailed) as failure:
        Git(None, 30).run("ls-remote", "--", f"{tmp_path}/nowhere")
    assert "ls-remote" not in str(failure.value)
    assert str(GitTimedOut(3)) == "git took longer than 3 s"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_is_refused_with_what_to_do(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    os.chown(remote.path, 12_345, 12_345)
    with pytest.raises(Unavailable, match="belongs to another user"):
        mirror_of(str(remote.path), tmp_path).tip()


def test_descriptors_and_processes_stay_level(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1", "b": "2"})
    levels = []
    for _ in range(5):
        mirror = mirror_of(str(remote.path), tmp_path)
        new = fetched(mirror)
        mirror.newest_commits(new, wanted={b"a"})
        with mirror.blobs() as read:
            for entry in mirror.tree(new):
                read(entry.blob)
        with pytest.raises(Unavailable):
            mirror_of(str(tmp_path / "nowhere"), tmp_path).tip()
        levels.append((len(os.listdir("/proc/self/fd")), children()))
    assert len(set(levels)) == 1


def children() -> int:
    return len(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_block_that_is_left_by_an_error_leaves_no_process(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    mirror = mirror_of(str(remote.path), tmp_path)
    fetched(mirror)
    before = children()
    during = []

    def stop() -> None:
        with mirror.blobs():
            during.append(children())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert during == [before + 1]
    assert children() == before


def test_large_contents_come_whole(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    large = os.urandom(3_000_001)
    new = remote.commit({"empty": b"", "large": large, "z": b"\n"})
    mirror = mirror_of(str(remote.path), tmp_path)
    fetched(mirror)
    with mirror.blobs() as read:
        assert [read(entry.blob) for entry in mirror.tree(new)] == [b"", large, b"\n"]
