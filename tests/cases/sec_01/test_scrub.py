"""SEC-01, as far as the scrub goes: no invented secret of the case stays, in no form, and what is none stays."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from huginn.scrub import holds_secret, scrub


@pytest.fixture(scope="module", params=["one", "two", "three", "four", "five"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sec_01")
    make = Path(__file__).with_name("make.py")
    subprocess.run([sys.executable, str(make), str(folder), request.param], check=True, capture_output=True)
    return folder


def _texts(case: Path) -> dict[str, str]:
    """All texts of the case, by where they stand."""
    files = (case / "repo-files").rglob("*")
    texts = {path.name: path.read_bytes().decode() for path in files if path.is_file()}
    for event in json.loads((case / "chat.json").read_text()):
        texts[event["event_id"]] = event["content"]["body"]
        texts[event["event_id"] + " new"] = event["content"].get("m.new_content", {}).get("body", "")
    for commit in json.loads((case / "commits.json").read_text()):
        texts["commit"], texts["tag"] = commit["message"], commit["tag"]
    return texts


def test_no_secret_stays_nor_its_beginning_nor_its_base64_form(case: Path) -> None:
    clean = "\n".join(scrub(text).clean for text in _texts(case).values())
    for secret in json.loads((case / "secrets.json").read_text()):
        value = secret["value"]
        for form in (value, value[:12], base64.b64encode(value.encode()).decode()):
            assert form not in clean, secret["kind"]


def test_what_is_no_secret_stays(case: Path) -> None:
    texts = _texts(case)
    words = {word for text in texts.values() for word in text.split() if word.startswith("keepword-")}
    clean = "\n".join(scrub(text).clean for text in texts.values())
    assert len(words) > 20
    for word in words:
        assert word in clean
    assert "db.example.org" in scrub(texts["urls.env"]).clean
    assert "after the key, keepword-afterkey" in scrub(texts["key-openssh.txt"]).clean


def test_the_lines_stay_as_many_and_a_second_scrub_changes_nothing(case: Path) -> None:
    for text in _texts(case).values():
        once = scrub(text)
        twice = scrub(once.clean)
        assert once.clean.count("\n") == text.count("\n")
        assert twice.clean == once.clean
        assert not twice.masked


def test_a_path_with_a_token_is_known(case: Path) -> None:
    paths = [path.relative_to(case / "repo-files").as_posix() for path in (case / "repo-files").rglob("*")]
    assert [path.startswith("path-") for path in paths if holds_secret(path)] == [True]


def test_the_kinds_are_counted_without_the_values(case: Path) -> None:
    masked = scrub(_texts(case)["glued.txt"]).masked
    assert masked == {"github token": 6}
