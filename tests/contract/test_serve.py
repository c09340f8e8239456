"""The page and the HTTP interface: the same answers as everywhere else, and nothing to whoever may not see them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from huginn.cli import main
from huginn.errors import Busy, Refused, Unavailable
from huginn.search import ListQuery, Query, list_messages, search, show_window
from huginn.serve.asking import Asking
from tests.support.serving import HERONS, OWLS, Served, make_served

QUESTIONS: list[dict[str, Any]] = [
    {"texts": ["heron"]},
    {"texts": ["where does the heron stand", "water"], "top_k": 3},
    {"texts": ["kingfisher"], "fold": False, "top_k": 20, "mode": "words"},
    {"texts": ["boil_kettle"], "corpora": ["forge"], "paths": ["src"], "by": "chunk"},
    {"texts": ["pond"], "rooms": [HERONS], "senders": ["@ann:example.org"], "after": "2026-01-01T02:00:00Z"},
    {"texts": ["no_such_name_1 heron"], "mode": "meaning"},
    {"brief": "The heron.\n\nThe kettle boils water.\n", "repos": ["repo"]},
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return make_served(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def shared_client(served: Served) -> Iterator[TestClient]:
    with served.client() as client:
        yield client


@pytest.fixture
def client(shared_client: TestClient, served: Served) -> Iterator[TestClient]:
    """A client without token or cookie; what a test has configured is put back."""
    shared_client.cookies.clear()
    yield shared_client
    served.without_tokens()
    served.configure()


def without_time(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "took_ms"}


def as_arguments(question: dict[str, Any]) -> list[str]:
    """A question, as it is asked on the command line."""
    options = {"corpora": "corpus", "repos": "repo", "paths": "path", "rooms": "room", "senders": "sender"}
    arguments = list(question.get("texts", []))
    for name, value in question.items():
        for one in value if isinstance(value, list) else [value]:
            if name == "fold":
                arguments.append("--no-fold")
            elif name != "texts":
                arguments += [f"--{options.get(name, name).replace('_', '-')}", str(one)]
    return arguments


@pytest.mark.parametrize("question", QUESTIONS)
def test_src_01_http_command_line_and_python_give_the_same_hits_in_the_same_order(
    served: Served, client: TestClient, question: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    by_python = search(served.settings, Query(**question)).model_dump(mode="json")
    by_address = client.get("/api/search", params=question)
    by_body = client.post("/api/search", json=question)
    asked = dict(question)
    if "brief" in asked:
        (tmp_path / "brief").write_text(asked["brief"])
        asked["brief"] = str(tmp_path / "brief")
    capsys.readouterr()
    assert main(["search", *as_arguments(asked), "--json", "--config", str(served.config)]) == 0
    by_command = json.loads(capsys.readouterr().out)
    assert by_address.status_code == by_body.status_code == 200
    assert by_python["hits"]
    assert without_time(by_address.json()) == without_time(by_python) == without_time(by_body.json())
    assert without_time(by_command) == without_time(by_python)


def test_messages_are_listed_searched_and_shown_as_by_the_library(served: Served, client: TestClient) -> None:
    listed = client.get("/api/chat/search", params={"rooms": HERONS, "top_k": 3}).json()
    assert without_time(listed) == without_time(
        list_messages(served.settings, ListQuery(rooms=(HERONS,), top_k=3)).model_dump(mode="json")
    )
    onward = client.get("/api/chat/search", params={"rooms": HERONS, "top_k": 3, "cursor": listed["cursor"]}).json()
    assert [message["event_id"] for message in onward["messages"]] == [served.events[f"heron{n}"] for n in (3, 4, 5)]
    found = client.get("/api/chat/search", params={"texts": "owl", "rooms": OWLS}).json()
    assert without_time(found) == without_time(
        search(served.settings, Query(texts=("owl",), rooms=(OWLS,), corpora=("chat",))).model_dump(mode="json")
    )
    event = served.events["heron4"]
    window = client.get(f"/api/chat/window/{quote(event, safe='')}", params={"before": 1, "after": 2}).json()
    assert without_time(window) == without_time(
        show_window(served.settings, event, before=1, after=2).model_dump(mode="json")
    )


def test_the_status_is_that_of_the_command_line(
    served: Served, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    told = client.get("/api/status", params={"max_age": "1s"}).json()
    capsys.readouterr()
    main(["status", "--json", "--max-age", "1s", "--config", str(served.config)])
    by_command = json.loads(capsys.readouterr().out)
    for document in (told, by_command):
        for source in document["sources"]:
            del source["age_s"], source["stale"]
    assert told == by_command
    page = client.get("/status").text
    assert HERONS in page
    assert "forge-refresh" in page
    assert 'huginn_source_points{corpus="chat",source="!herons:example.org"} 8.0' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("address", "code", "field"),
    [
        ("/api/search", 422, "texts"),
        ("/api/search?texts=", 422, "texts[0]"),
        ("/api/search?texts=x&top_k=51", 422, "top_k"),
        ("/api/search?texts=x&top_k=many", 422, "top_k"),
        ("/api/search?texts=x&mode=magic", 422, "mode"),
        ("/api/search?texts=x&after=soon", 422, "after"),
        ("/api/search?texts=x&corpora=mail", 422, "corpora[0]"),
        ("/api/search?texts=x&repos=nobody", 422, "repos"),
        ("/api/search?texts=x&rooms=%23nobody:example.org", 422, "rooms[0]"),
        ("/api/search?texts=x&room=%23herons:example.org", 422, "room"),
        ("/api/search?texts=" + "x" * 1001, 422, "texts[0]"),
        ("/api/chat/search?cursor=nonsense", 422, "cursor"),
        ("/api/chat/search?texts=x&cursor=y", 422, "cursor"),
        ("/api/chat/window/$nobody", 422, "event_id"),
        ("/api/chat/window/$nobody?before=-1", 422, "before"),
        ("/api/chat/window/$nobody?before=many", 422, "before"),
        ("/api/status?max_age=soon", 422, "max_age"),
        ("/api/nothing", 404, "address"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_field(client: TestClient, address: str, code: int, field: str) -> None:
    answer = client.get(address)
    assert answer.status_code == code
    error = answer.json()["error"]
    assert (error["kind"], error["field"]) == ("refused", field)
    assert error["reason"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"texts": 7}', b'{"texts": ["x"], "room": "y"}', b"\xff"])
def test_a_body_that_is_no_question_is_refused_without_being_repeated(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/search", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == (400 if body == b"\xff" else 422)
    assert answer.json()["error"]["kind"] == "refused"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (Unavailable("embedder", "no host answers", next_step="try --mode words"), 503, "Huginn cannot answer now"),
        (Busy("another process holds the embedded index", next_step="wait"), 503, "Huginn cannot answer now"),
        (Refused("mode", "the model is gone", next_step="try --mode words"), 422, "This cannot be asked"),
    ],
)
def test_a_part_that_is_away_is_never_no_results(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, words: str
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(Asking, "search", fails)
    page, document = client.get("/?texts=heron"), client.get("/api/search?texts=heron")
    assert page.status_code == document.status_code == code
    assert ("retry-after" in document.headers) == (code == 503)
    assert words in page.text
    assert "0 hits" not in page.text
    assert 'value="heron"' in page.text, "the question stays in its field"
    assert document.json()["error"]["next_step"] in page.text


def test_a_defect_tells_neither_a_traceback_nor_the_question(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("secret heron")

    monkeypatch.setattr(Asking, "search", fails)
    answer = client.get("/api/search?texts=secret+heron")
    printed = capsys.readouterr()
    assert answer.status_code == 500
    assert "heron" not in answer.text + printed.out + printed.err
    assert "ValueError in test_serve.py line" in printed.err


def test_a_name_that_stands_nowhere_is_told_beside_what_is_near(client: TestClient) -> None:
    page = client.get("/", params={"texts": "no_such_name_1 heron"}).text
    assert 'No exact match for <code class="inline">no_such_name_1</code>.' in page
    assert "<article" in page


def test_a_text_in_ten_places_is_one_hit_with_the_others_folded(client: TestClient) -> None:
    page = client.get("/", params={"texts": "kingfisher post", "repos": "repo", "top_k": 1}).text
    assert page.count("<article") == 1
    assert "The same text in 9 other places" in page
    assert "https://forge.example.org/repo/blob/" in page
    assert 'rel="noopener noreferrer"' in page


def test_an_address_says_all_of_a_search_and_fills_the_form(client: TestClient) -> None:
    address = (
        "/?texts=heron&texts=pond&corpora=chat&rooms=%23herons:example.org&after=2026-01-01&mode=words&top_k=2&by="
    )
    page = client.get(address).text
    assert page.count("<article") == 2
    for field in (
        'value="heron"',
        'value="pond"',
        'value="!herons:example.org" checked',
        'type="date" value="2026-01-01"',
    ):
        assert field in page
    assert '<option value="words" selected>' in page


def test_a_hit_in_a_room_leads_to_the_message_among_its_neighbours(served: Served, client: TestClient) -> None:
    page = client.get("/", params={"texts": "heron number 4", "corpora": "chat", "top_k": 1}).text
    [address] = re.findall(r'class="place"><a href="(/chat/[^"]+)"', page)
    window = client.get(html.unescape(address)).text
    assert served.events["heron4"] in address
    assert [window.count(f"Heron number {n} has been seen") for n in range(8)] == [1] * 8
    assert window.count('class="meant"') == 1
    assert client.get("/chat/$nobody").status_code == 422


def test_hostile_words_are_quoted_and_are_nothing_else(client: TestClient) -> None:
    for corpus in ("forge", "chat"):
        page = client.get("/", params={"texts": "hostile", "corpora": corpus, "mode": "words"}).text
        assert "&lt;/code&gt;" in page
        outside = re.sub(r'<div class="quote">.*?\n</div>\n', "", page, flags=re.DOTALL)
        assert "Huginn cannot answer" not in outside
        assert "No exact match" not in outside
        assert "false.py" not in outside
    for address in (
        "/?texts=hostile",
        "/?texts=%3Cscript%3Ealert(1)%3C/script%3E",
        "/status",
        "/chat/%3Cb%3E",
        "/%3Cb%3E",
    ):
        text = client.get(address).text
        assert not re.search(r"<(script(?! src=\"/static/)|img|b>)", text)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]", text)
        assert not re.search(r"\son\w+=|javascript:|style=", re.sub(r'<code>.*?</code>|value="[^"]*"', "", text))
    document = client.get("/api/search?texts=hostile").content
    assert document.isascii()


def test_a_query_that_holds_a_secret_is_shown_masked_at_most(client: TestClient) -> None:
    secret = "ghp_" + "a1B2" * 9
    answer = client.get("/api/search", params={"texts": f"heron {secret}"})
    assert secret not in answer.text


def test_every_answer_has_headers_that_let_nothing_else_in(client: TestClient) -> None:
    for address in ("/", "/?texts=heron", "/api/status", "/static/page.js", "/nothing", "/healthz", "/login"):
        headers = client.get(address).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; script-src 'self';")
        assert "unsafe" not in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "10.0.0.1", "127.0.0.1.evil.example", "", "["])
def test_a_host_that_is_none_of_ours_gets_no_answer(client: TestClient, host: str) -> None:
    answer = client.get("/api/status", headers={"host": host})
    assert answer.status_code == 400
    assert "repo" not in answer.text


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "[::1]:8765", "LOCALHOST"])
def test_loopback_goes_by_each_of_its_names(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_another_site_can_post_nothing(client: TestClient) -> None:
    for headers in ({"origin": "http://evil.example"}, {"origin": "null", "sec-fetch-site": "cross-site"}):
        assert client.post("/login", data={"token": "x"}, headers=headers).status_code == 403


def test_with_tokens_everybody_needs_one(served: Served, client: TestClient) -> None:
    header = served.token("ann", "forge", "chat")
    secret = header["authorization"].removeprefix("Bearer ")
    basic = base64.b64encode(f"ann:{secret}".encode()).decode()
    for address in (
        "/api/search?texts=heron",
        "/api/status",
        "/metrics",
        "/api/openapi.json",
        "/",
        "/status",
        "/chat/$a",
    ):
        for wrong in (
            {},
            {"authorization": "Bearer wrong"},
            {"authorization": "Basic ?"},
            {"cookie": "huginn_token=x"},
        ):
            answer = client.get(address, headers=wrong)
            assert answer.status_code in (401, 429)
            assert "heron" not in answer.text.replace(html.escape(address), "")
    assert client.get("/healthz").json() == {"status": "ok"}
    for right in (header, {"authorization": f"Basic {basic}"}, {"cookie": f"huginn_token={secret}"}):
        assert client.get("/api/search?texts=heron", headers=right).status_code == 200
    assert secret not in (served.root / "state" / "serve-tokens.json").read_text()
    assert (served.root / "state" / "serve-tokens.json").stat().st_mode & 0o777 == 0o600


def test_the_login_page_keeps_a_token_in_a_cookie_and_forgets_it(served: Served) -> None:
    secret = served.token("ann", "forge")["authorization"].removeprefix("Bearer ")
    try:
        with served.client() as client:
            asked = client.get("/?texts=heron")
            assert asked.status_code == 401
            assert 'name="next" value="/?texts=heron"' in asked.text
            assert client.post("/login", data={"token": "wrong"}).status_code == 401
            let_in = client.post("/login", data={"token": secret, "next": "/?texts=heron"})
            assert (let_in.status_code, let_in.headers["location"]) == (303, "/?texts=heron")
            cookie = let_in.headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=strict" in cookie
            assert "<article" in client.get("/?texts=heron").text
            client.post("/logout")
            assert client.get("/").status_code == 401
            away = client.post("/login", data={"token": secret, "next": "//evil.example/"})
            assert away.headers["location"] == "/"
    finally:
        served.without_tokens()


def test_a_token_without_chat_sees_no_chat_anywhere(served: Served, client: TestClient) -> None:
    header = served.token("ann", "forge")
    event = quote(served.events["owl"], safe="")
    both = ("/?texts=secret+owl", "/api/search?texts=secret+owl", "/api/status", "/status", "/metrics", "/")
    of_chat = (
        "/api/search?texts=x&corpora=chat", "/api/search?texts=x&rooms=%23owls:example.org",
        "/?texts=x&senders=@bob:a.b", "/?texts=x&rooms=!nobody",
        "/api/chat/search", "/api/chat/search?texts=x", f"/api/chat/window/{event}", "/chat/$nobody", f"/chat/{event}",
    )  # fmt: skip
    for address in (*both, *of_chat):
        answer = client.get(address, headers=header)
        assert answer.status_code == (200 if address in both else 403)
        assert not re.search("ate the|bob:example|!owls|!herons|chat-refresh", answer.text)
    for name in ("@bob:example.org", HERONS, served.events["owl"]):
        found = client.get("/api/search", params={"texts": name}, headers=header).json()
        assert found["query"]["corpora"] == ["forge"]
        assert [exact["found"] for exact in found["exact"]] == [False]
    points = client.get("/api/status", headers=header).json()
    assert points["index"]["points"] == sum(source["points"] for source in points["sources"])
    assert {source["corpus"] for source in points["sources"]} == {"forge"}
    metrics = client.get("/metrics", headers=header).text
    assert 'corpus="forge"' in metrics
    assert 'corpus="chat"' not in metrics
    assert "\nhuginn_index_points " not in metrics


def test_a_token_that_is_taken_back_opens_nothing_at_once(
    served: Served, client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["serve", "token", "add", "bob", "--corpus", "chat", "--config", str(served.config)]) == 0
    header = {"authorization": f"Bearer {capsys.readouterr().out.strip()}"}
    assert client.get("/api/chat/search", headers=header).status_code == 200
    assert client.get("/api/search?texts=x&repos=repo", headers=header).status_code == 403
    main(["serve", "token", "list", "--json", "--config", str(served.config)])
    listed = json.loads(capsys.readouterr().out)["tokens"]
    assert [(token["name"], token["corpora"]) for token in listed] == [("bob", ["chat"])]
    assert main(["serve", "token", "remove", "bob", "--config", str(served.config)]) == 0
    assert client.get("/api/chat/search", headers=header).status_code in (401, 429)
    assert client.get("/api/status").status_code in (401, 429), "the last token gone, the door stays shut"


def test_at_another_address_nobody_is_let_in_without_a_token(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--host", "0.0.0.0", "--port", "0", "--config", str(served.config)]) == 2
    assert "huginn: host: " in capsys.readouterr().err
    with served.client(is_loopback=False) as client:
        assert client.get("/api/status").status_code == 401


def test_who_asks_too_often_is_told_when_to_come_again(served: Served) -> None:
    with served.client(per_second=2) as client:
        codes = [client.get("/api/openapi.json").status_code for _ in range(8)]
        assert codes[0] == 200
        assert codes[-1] == 429
        assert int(client.get("/").headers["retry-after"]) >= 1
        assert client.get("/static/style.css").status_code == 200


def test_who_guesses_tokens_is_stopped_and_others_are_not(served: Served) -> None:
    header = served.token("ann", "forge")
    try:
        with served.client() as client:
            codes = [client.get("/", headers={"authorization": f"Bearer {n}"}).status_code for n in range(20)]
            assert codes[0] == 401
            assert codes[-1] == 429
            assert [client.get("/", headers=header).status_code for _ in range(20)] == [200] * 20
    finally:
        served.without_tokens()


def test_a_room_that_the_settings_refuse_is_gone_at_once(served: Served, client: TestClient) -> None:
    event = quote(served.events["owl"], safe="")
    asked = ("/?texts=owl&corpora=chat", "/api/search?texts=owl", "/api/chat/search", f"/chat/{event}")
    assert all("ate the heron" in html.unescape(client.get(address).text) for address in asked)
    assert "!owls:example.org" in client.get("/").text
    served.configure(OWLS)
    assert not any("ate the heron" in html.unescape(client.get(address).text) for address in asked)
    assert "!owls:example.org" not in client.get("/").text
    assert client.get(f"/api/chat/window/{event}").status_code == 422


def test_settings_that_have_become_wrong_answer_nothing(served: Served, client: TestClient) -> None:
    served.config.write_text(served.config.read_text() + "nonsense = 1\n")
    answer = client.get("/api/search?texts=heron")
    assert answer.status_code == 503
    assert answer.json()["error"]["part"] == "settings"
    assert str(served.root) not in answer.text
    served.configure()
    assert client.get("/api/search?texts=heron").status_code == 200


def test_times_without_a_zone_are_in_utc_as_on_the_command_line(client: TestClient) -> None:
    query = client.get("/api/search?texts=heron&after=2026-01-01").json()["query"]
    assert datetime.fromisoformat(query["after"]) == datetime(2026, 1, 1, tzinfo=UTC)
