"""The wheel, as a user installs it: into an environment of its own, with what it asks for and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.git import Repository

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (built,) = out.glob("*.whl")
    return built


def test_only_huginn_is_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"huginn"}
    assert "huginn/py.typed" in names


@pytest.mark.slow
def test_the_wheel_installs_and_finds_what_it_took_in(wheel: Path, tmp_path: Path) -> None:
    """Pinned as the project is, but with the wheel's own dependencies alone: none is missing from its list."""
    pins = re.findall(r"^[a-z0-9][^\\\n]*==[^\\\n]*", (ROOT / "requirements.lock").read_text(), re.M)
    (tmp_path / "pins.txt").write_text("\n".join(pins))
    venv.create(tmp_path / "venv", with_pip=True)
    binaries = tmp_path / "venv" / "bin"
    install = [str(binaries / "pip"), "install", "-q", "--disable-pip-version-check", "-c", str(tmp_path / "pins.txt")]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    Repository(tmp_path / "remote.git").commit({"a.md": "The heron stands in the water.\n"})
    (tmp_path / "huginn.toml").write_text('[[forge.repos]]\nname = "repo"\nurl = "remote.git"\n')

    def huginn(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": ""}
        done = subprocess.run(
            [str(binaries / "huginn"), *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    refreshed = json.loads(huginn("refresh", "--json"))
    assert refreshed["outcome"] == "ok"
    (hit,) = json.loads(huginn("search", "a heron", "--json"))["hits"]
    assert hit["citation"]["path"] == "a.md"
    assert json.loads(huginn("status", "--json"))["sources"][0]["last_success"]
    assert "repo@" in huginn("search", "a heron")
    assert huginn("doctor").strip().endswith("well")
