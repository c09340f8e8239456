"""TXT-01 and the repository half of SEC-01, from the files to the search."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from huginn.embed.wordllama import WordLlamaEmbedder
from huginn.scrub import scrub_question
from tests.cases.txt_01.make import make as make_texts
from tests.support.git import Repository
from tests.support.workspace import Workspace

CASES = Path(__file__).parent

SEARCHABLE = ["mkutf8", "mkbom", "mkutf16le", "mkutf16be", "mkutf32", "mknoext", "mknofinal", "mkcrlf", "mkcr"]
SEARCHABLE += ["mkbidi", "mkemoji", "mktail", "mkonebad"]


def make_secrets(folder: Path, seed: str) -> None:
    subprocess.run([sys.executable, str(CASES / "sec_01" / "make.py"), str(folder), seed], check=True)


def commit_folder(repository: Repository, folder: Path, message: str = "A folder") -> None:
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    repository.commit(files, message=message)  # type: ignore[arg-type] # a dict is invariant in its keys


def test_txt_01_encodings(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    make_texts(tmp_path / "files")
    repository = Repository(tmp_path / "remote.git")
    commit_folder(repository, tmp_path / "files")
    workspace = Workspace(tmp_path, {"repo": repository.path})
    report = workspace.refresh_one()
    assert report.seen == 24 == report.stored + sum(report.skipped.values())
    assert report.failed == 0
    assert report.skipped["binary"] == 2
    assert report.skipped["empty"] == 3
    assert set(report.skipped) <= {"binary", "empty", "encoding"}
    for word in SEARCHABLE:
        assert workspace.paths_with(word), word
    texts = [payload["text"] for payload in workspace.payloads()]
    for text in texts:
        assert "\0" not in text
        assert "\ufeff" not in text
        assert "Ã" not in text
    german = [text for text in texts if "Schlüssel" in text]
    assert all("Fußmatte" in text for text in german)
    lossy = {"mkonebad", "mktail", "mkcesu"}  # they may lose what is no character, and nothing else
    assert not any("\ufffd" in text for text in texts if not any(word in text for word in lossy))
    for word in ("mkbinary", "mkpng"):
        assert workspace.paths_with(word) == []
    again = workspace.refresh_one()
    assert (again.outcome, again.embedded) == ("unchanged", 0)
    workspace.lose_checkpoints()
    assert workspace.refresh_one().embedded == 0


@pytest.mark.parametrize("seed", ["huginn-cases", "second", "third"])
def test_sec_01_secrets_get_in_nowhere(tmp_path: Path, seed: str, capfd: pytest.CaptureFixture[str]) -> None:
    make_secrets(tmp_path, seed)
    capfd.readouterr()
    everything = "".join(path.read_text() for path in (tmp_path / "repo-files").rglob("*") if path.is_file())
    values = [entry["value"] for entry in json.loads((tmp_path / "secrets.json").read_text())]
    secrets = [value for value in values if value in everything]  # the others are in the chat
    assert len(secrets) > 60
    message = json.loads((tmp_path / "commits.json").read_text())[0]
    repository = Repository(tmp_path / "remote.git")
    commit_folder(repository, tmp_path / "repo-files", message["message"])
    repository.git("tag", message["tag"])
    workspace = Workspace(tmp_path, {"repo": repository.path})
    sent: list[str] = []
    embed = WordLlamaEmbedder.embed

    def spy(self: WordLlamaEmbedder, texts: Any) -> Any:
        sent.extend(texts)
        return embed(self, texts)

    with patch.object(WordLlamaEmbedder, "embed", spy):
        report = workspace.refresh()
        answers = [workspace.search(text).model_dump_json() for text in _questions(tmp_path / "repo-files", secrets)]
        whole = [*(json.dumps(payload) for payload in workspace.payloads()), report.model_dump_json(), *answers]
    stored = [path.read_bytes() for path in workspace.settings.state.glob("*") if path.is_file()]
    seen = "\n".join([*whole, *sent, *(content.decode("latin-1") for content in stored), *capfd.readouterr()])
    for secret in secrets:
        for form in (secret, secret[:12], base64.b64encode(secret.encode()).decode().rstrip("=")):
            assert form not in seen
    for word in _kept_words(tmp_path / "repo-files"):
        assert any(word in payload["text"] for payload in workspace.payloads()), word
    (source,) = report.sources
    assert source.masked
    assert sum(source.masked.values()) >= 30
    assert source.skipped == {"secret in path": 1}
    urls = next(payload["text"] for payload in workspace.payloads() if payload["path"] == "urls.env")
    assert "db.example.org" in urls
    for payload in workspace.payloads():
        original = (tmp_path / "repo-files" / payload["path"]).read_text().split("\n")
        assert payload["end_line"] <= len(original)


def _questions(folder: Path, secrets: list[str]) -> list[str]:
    """Each secret as somebody would paste it: bare where its shape alone tells it, else with the line it stands in."""
    lines = [line for path in folder.rglob("*") if path.is_file() for line in path.read_text().split("\n")]
    questions = []
    bare = 0
    for secret in secrets:
        bare += bool(scrub_question(secret).masked)
        around = next((line for line in lines if secret in line and len(line) < 900), secret)
        questions.append(secret if scrub_question(secret).masked else around)
    assert bare > 0.85 * len(secrets)
    return questions


def _kept_words(folder: Path) -> list[str]:
    found: set[str] = set()
    for path in folder.rglob("*"):
        if path.is_file():
            found |= {word for word in path.read_text().replace(":", " ").split() if word.startswith("keepword-")}
    cleaned = {match[0] for word in found if (match := re.match(r"keepword-\w+", word))} - {"keepword-path"}
    assert len(cleaned) > 15
    return sorted(cleaned)
