"""One host over real HTTP: what each status asks for, what is repeated of a server's words, and how it is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import ollama
import pytest

from huginn.embed import BatchFailed, embed_all, open_embedder
from huginn.embed.host import HostAway, HostBusy, ModelMissing
from huginn.embed.ollama import OllamaHost, _from_status, full_name
from huginn.embedder_settings import EmbedderSettings
from huginn.errors import Refused
from huginn.scrub import scrub
from huginn.settings import load
from tests.support.command_line import CommandLine
from tests.support.ollama_server import MODEL, OllamaServer


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as server:
        yield server


def host(server: OllamaServer, model: str = MODEL) -> OllamaHost:
    return OllamaHost(server.url, model, timeout_seconds=0.5, query_timeout_seconds=0.5)


TEXTS = [scrub("about the heron and its doings").clean]


@pytest.mark.parametrize(
    ("name", "full"),
    [("x", "x:latest"), ("x:0.6b", "x:0.6b"), ("reg:5000/x", "reg:5000/x:latest"), ("a/x:1", "a/x:1")],
)
def test_a_model_without_a_tag_is_the_latest(name: str, full: str) -> None:
    assert full_name(name) == full


def test_a_host_says_who_its_model_is(server: OllamaServer) -> None:
    facts = host(server).look()
    assert (facts.identity.model, facts.identity.digest, facts.identity.dimensions) == (
        "fake-embed:latest",
        "sha256:aaa",
        64,
    )
    assert (facts.context, facts.version) == (2000, "0.0.1")
    assert server.state.calls == 0


def test_dimensions_that_are_not_told_are_found_by_embedding_the_probe(server: OllamaServer) -> None:
    server.state.tells_dimensions = False
    assert host(server).look().identity.dimensions == 64
    server.state.mode = "empty"
    with pytest.raises(HostAway, match="dimensions"):
        host(server).look()


def test_another_tag_is_another_model(server: OllamaServer) -> None:
    with pytest.raises(ModelMissing, match=r"has no model fake-embed:0\.6b"):
        host(server, f"{MODEL}:0.6b").look()


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, HostBusy), (503, HostBusy), (404, ModelMissing), (401, HostAway), (403, HostAway), (302, HostAway),
        (502, HostAway), (504, HostAway), (400, BatchFailed), (413, BatchFailed), (422, BatchFailed),
        (500, BatchFailed),
    ],
)  # fmt: skip
def test_it_is_the_status_that_decides(status: int, kind: type[Exception]) -> None:
    error = _from_status(ollama.ResponseError("any words", status), TEXTS)
    assert type(error) is kind
    if isinstance(error, BatchFailed):
        assert (error.may_pass, error.is_rejected) == (status == 500, status != 500)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("result holds NaN", "result holds NaN (HTTP 500)"),
        ("cannot take 'the heron and its doings'", "HTTP 500"),
        ("two\nlines\x1b[31m and \u202e", "two lines [31m and (HTTP 500)"),
        ("x" * 400, f"{'x' * 160}… (HTTP 500)"),
        ("", "HTTP 500"),
    ],
)
def test_a_servers_words_are_cleaned_shortened_and_never_quote_a_text(said: str, told: str) -> None:
    assert str(_from_status(ollama.ResponseError(said, 500), TEXTS)) == told


def test_a_secret_in_a_servers_words_is_masked() -> None:
    said = "Authorization: Bearer " + "s3cr3tT0ken" * 4
    assert "s3cr3t" not in str(_from_status(ollama.ResponseError(said, 500), TEXTS))


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("html", BatchFailed), ("null", BatchFailed), ("eof", HostAway), ("slow", HostAway), ("busy", HostBusy),
        ("missing", ModelMissing), ("forbidden", HostAway),
    ],
)  # fmt: skip
def test_each_fault_over_http_becomes_its_error(server: OllamaServer, mode: str, kind: type[Exception]) -> None:
    server.state.mode = mode
    with pytest.raises(kind) as raised:
        host(server).embed(TEXTS)
    assert type(raised.value) is kind
    assert "heron" not in str(raised.value)


def test_a_host_that_is_down_cannot_be_reached_and_is_named_without_its_scheme(server: OllamaServer) -> None:
    server.down()
    with pytest.raises(HostAway, match="cannot be reached"):
        host(server).look()
    assert host(server).name == server.url.removeprefix("http://")


def test_hosts_of_known_speed_are_all_used_to_the_full() -> None:
    texts = [scrub(f"{number} ".ljust(400, "x")).clean for number in range(60)]
    hosts = [OllamaServer(seconds_per_token=0.0001) for _ in range(3)]
    settings = EmbedderSettings(kind="ollama", model=MODEL, urls=tuple(one.url for one in hosts))
    try:
        assert len(embed_all(open_embedder(settings), texts)) == 60
        counts = [len(one.state.texts) - 1 for one in hosts]  # each embeds the probe once
    finally:
        for one in hosts:
            one.down()
    assert sum(counts) == 60
    assert min(counts) >= 10


def fleet_settings(*lines: str) -> str:
    return "\n".join(["[embedder]", 'kind = "ollama"', f'model = "{MODEL}"', *lines]) + "\n"


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ('kind = "ollama"\nurls = ["http://a:1"]', "embedder: model: name one"),
        ('kind = "ollama"\nmodel = "x"', "embedder: urls: give at least one host"),
        ('kind = "ollama"\nmodel = "x"\nurls = ["ftp://a"]', "embedder.urls[0]: give the address of a host"),
        ('kind = "ollama"\nmodel = "x"\nurls = ["a:11434"]', "embedder.urls[0]: give the address of a host"),
        ('kind = "ollama"\nmodel = "x"\nurls = ["http://a:99999"]', "embedder.urls[0]: give the address of a host"),
        ('kind = "ollama"\nmodel = "x"\nurls = ["http://me:hunter2@a"]', "embedder.urls[0]: an address must not"),
        ('kind = "ollama"\nmodel = "x"\nurls = ["http://a?key=hunter2"]', "embedder.urls[0]: give an address without"),
        (
            'kind = "ollama"\nmodel = "x"\nurls = ["http://a"]\nreserve_urls = ["http://a/"]',
            "embedder: urls: a host is",
        ),
        ('urls = ["http://a"]', 'embedder: urls: belongs to kind = "ollama"'),
        ('kind = "ollama"\nmodel = "x"\nurls = ["http://a"]\ntimeout_seconds = 0', "embedder.timeout_seconds: "),
    ],
)
def test_a_wrong_section_is_refused_with_its_key_and_without_its_value(tmp_path: Path, section: str, told: str) -> None:
    path = tmp_path / "huginn.toml"
    path.write_text(f"[embedder]\n{section}\n")
    with pytest.raises(Refused) as raised:
        load(path, environment={})
    assert f"\n  {told}" in raised.value.reason
    assert "hunter2" not in str(raised.value)


def test_the_environment_gives_hosts_as_json(tmp_path: Path) -> None:
    path = tmp_path / "huginn.toml"
    path.write_text(fleet_settings('urls = ["http://a:1"]'))
    settings = load(path, environment={"HUGINN_EMBEDDER_URLS": '["http://b:2/", "https://c/ollama"]'})
    assert settings.embedder.urls == ("http://b:2", "https://c/ollama")


def test_doctor_tells_each_host(huginn: CommandLine, server: OllamaServer) -> None:
    with OllamaServer(mode="missing") as empty:
        huginn.settings(
            fleet_settings(f'urls = ["{server.url}", "http://127.0.0.1:9"]', f'reserve_urls = ["{empty.url}"]')
        )
        ended = huginn("doctor", "--json")
    checks = [check for check in ended.document["checks"] if check["check"] == "embedder"]
    whole, here, away, without = checks
    assert (whole["outcome"], whole["detail"]) == ("well", "fake-embed:latest, 64 dimensions, digest aaa")
    assert here["detail"] == "Ollama 0.0.1, fake-embed:latest, 64 dimensions, digest aaa, takes 2000 tokens"
    assert (away["subject"], away["outcome"], away["detail"]) == ("127.0.0.1:9", "wrong", "cannot be reached")
    assert (without["outcome"], without["detail"]) == ("wrong", "reserve, has no model fake-embed:latest")
    assert ended.code == 1


def test_doctor_says_that_nothing_works_when_no_host_serves(huginn: CommandLine) -> None:
    huginn.settings(fleet_settings('urls = ["http://127.0.0.1:9"]'))
    ended = huginn("doctor", "--json")
    assert ended.code == 3
    assert [check["outcome"] for check in ended.document["checks"] if check["check"] == "embedder"] == ["away", "wrong"]


def test_without_the_extra_the_error_says_what_to_install(huginn: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    huginn.settings(fleet_settings('urls = ["http://127.0.0.1:9"]'))
    for module in [name for name in sys.modules if name.startswith(("huginn.embed.opening", "huginn.embed.ollama"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "ollama", None)
    ended = huginn("refresh")
    assert (ended.code, "pip install 'huginn[ollama]'" in ended.err) == (2, True)
    assert huginn("doctor").code == 1
    assert huginn("status").code == 0


def test_the_client_is_imported_for_its_kind_alone() -> None:
    program = (
        "import sys\nimport huginn.run, huginn.search\nfrom huginn.embed import open_embedder\n"
        "from huginn.settings import Settings\n"
        "open_embedder(Settings().embedder).identity\n"
        "print([name for name in ('ollama', 'httpx') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "[]", ended.stderr


def test_status_asks_no_host(huginn: CommandLine, server: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    huginn.settings(fleet_settings(f'urls = ["{server.url}"]'))
    monkeypatch.setattr(OllamaHost, "look", lambda self: pytest.fail("a host was asked"))
    assert huginn("status", "--json").document["embedder"] is None
