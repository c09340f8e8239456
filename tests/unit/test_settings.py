"""The settings: where they are found, what wins, and how every problem is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from huginn.errors import Refused
from huginn.forge.listing import RefusedSource, Source, list_sources
from huginn.settings import Settings, find, load

GOOD = """
state = "kept"
[forge]
name = "Team"
[[forge.repos]]
name = "Team/one"
url = "../one.git"
token_file = "secrets/token"
"""


def write(folder: Path, text: str = GOOD) -> Path:
    path = folder / "huginn.toml"
    path.write_text(text)
    return path


def test_relative_paths_start_from_the_folder_of_the_file(tmp_path: Path) -> None:
    settings = load(write(tmp_path), environment={})
    assert settings.state == tmp_path / "kept"
    assert settings.folder == tmp_path
    assert settings.forge.repos[0].token_file == tmp_path / "secrets" / "token"


def test_the_file_is_given_or_named_or_found_upwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    path = write(tmp_path)
    assert find(deep) == path
    monkeypatch.chdir(deep)
    assert load(environment={}).forge.name == "Team"
    other = tmp_path / "other"
    other.mkdir()
    named = write(other, '[forge]\nname = "Named"\n')
    assert load(environment={"HUGINN_CONFIG": str(named)}).forge.name == "Named"
    assert load(path, environment={"HUGINN_CONFIG": str(named)}).forge.name == "Team"


def test_without_a_file_the_refusal_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="huginn init"):
        find(tmp_path)


def test_the_environment_wins_and_takes_lists_as_json(tmp_path: Path) -> None:
    environment = {
        "HUGINN_STATE": "/elsewhere",
        "HUGINN_FORGE_NAME": "Other",
        "HUGINN_FORGE_MAX_FILE_BYTES": "77",
        "HUGINN_FORGE_LOCAL": "false",
        "HUGINN_FORGE_REPOS": '[{"name": "two", "url": "https://forge.example.org/two.git"}]',
        "HUGINN_INDEX_MIN_FREE_BYTES": "5",
        "HUGINN_TEST_SEED": "of somebody else",
    }
    settings = load(write(tmp_path), environment=environment)
    assert settings.state == Path("/elsewhere")
    assert (settings.forge.name, settings.forge.max_file_bytes, settings.forge.local) == ("Other", 77, False)
    assert [repository.name for repository in settings.forge.repos] == ["two"]
    assert settings.index.min_free_bytes == 5


def test_all_problems_are_told_together_each_with_its_key_and_what_would_be_right(tmp_path: Path) -> None:
    text = """
    statee = "x"
    [forge]
    nam = "x"
    max_file_bytes = "many"
    exclude = ["fine/", "!"]
    [[forge.repos]]
    name = "-starts-with-a-dash"
    url = "x"
    [[forge.repos]]
    name = "fine"
    [embedder]
    kind = "telepathy"
    """
    with pytest.raises(Refused) as refusal:
        load(write(tmp_path, text), environment={"HUGINN_INDEX_COLOUR": "x"})
    told = str(refusal.value)
    for line in (
        "statee: no such key; did you mean state?",
        "forge.nam: no such key; did you mean name?",
        "forge.max_file_bytes: ",
        "forge.exclude[1]: write it as in a .gitignore",
        "forge.repos[0].name: give a name of letters",
        "forge.repos[1].url: ",
        "embedder.kind: ",
        "index.colour: no such key",
    ):
        assert line in told


def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    text = GOOD + 'token = "very-secret"\n'
    with pytest.raises(Refused, match="give token_file") as refusal:
        load(write(tmp_path, text), environment={})
    assert "very-secret" not in str(refusal.value)


def test_an_address_is_not_in_the_repr(tmp_path: Path) -> None:
    text = '[[forge.repos]]\nname = "a"\nurl = "https://user:not-a-real-pass@forge.example.org/a.git"\n'
    assert "not-a-real-pass" not in repr(load(write(tmp_path, text), environment={}))


def test_names_given_twice_are_refused(tmp_path: Path) -> None:
    text = '[[forge.repos]]\nname = "a"\nurl = "x"\n' * 2
    with pytest.raises(Refused, match="'a' is given twice"):
        load(write(tmp_path, text), environment={})


@pytest.mark.parametrize(
    "web",
    [
        "https://x/{sha}", "ftp://x/{repo}", "https://x/{", "javascript:alert(1)", "https://x/{}", "https://x/{repo.x}",
        "https://x/{commit:d}", "https://x/{start:{foo}}", "https://x/{start!x}", "https://x/{start!r}",
        "https://x/{start:>999999999999}", "https://x/\\u0000{repo}",
    ],
)  # fmt: skip
def test_a_web_template_that_cannot_work_is_refused(tmp_path: Path, web: str) -> None:
    text = f'[[forge.repos]]\nname = "a"\nurl = "x"\nweb = "{web}"\n'
    with pytest.raises(Refused, match=r"forge\.repos\[0\]: web: "):
        load(write(tmp_path, text), environment={})


@pytest.mark.parametrize("text", ["state = ", "\x00", 'state = "a"\nstate = "b"'])
def test_a_file_that_is_no_toml_is_refused_with_the_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(Refused, match="no valid TOML"):
        load(write(tmp_path, text), environment={})


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot read"):
        load(tmp_path / "nowhere.toml", environment={})


REPOSITORY = '[[forge.repos]]\nname = "a"\nurl = "a.git"\n'


@pytest.mark.parametrize(
    ("text", "environment", "key"),
    [
        ('state = "~nosuchuser/x"', {}, "state"),
        ('state = "a\\u0000b"', {}, "state"),
        ('state = ""', {}, "state"),
        ("", {"HUGINN_STATE": ""}, "state"),
        ("", {"HUGINN_STATE": "\udcff"}, "state"),
        (REPOSITORY + 'token_file = "a\\u0000"', {}, "forge.repos[0].token_file"),
        (REPOSITORY + 'token_file = ""', {}, "forge.repos[0].token_file"),
        (REPOSITORY + 'username = "a\\u0000"', {}, "forge.repos[0].username"),
        ("", {"HUGINN_FORGE_EXCLUDE": '["\udcff"]'}, "forge.exclude[0]"),
        ("", {"HUGINN_FORGE_REPOS": "[" * 100_000}, "forge.repos"),
        ("", {"HUGINN_FORGE_REPOS": f"[{'1' * 5000}]"}, "forge.repos"),
        ("", {"HUGINN_INDEX_KEEP_HOURS": "nan"}, "index.keep_hours"),
        ("[index]\nkeep_hours = 1e300", {}, "index.keep_hours"),
        ("[index]\nmin_free_bytes = 0x1" + "0" * 5000, {}, "index.min_free_bytes"),
        ("[forge]\ntimeout_seconds = inf", {}, "forge.timeout_seconds"),
        ("[forge]\ntimeout_seconds = nan", {}, "forge.timeout_seconds"),
        ("[forge]\ntimeout_seconds = 1e300", {}, "forge.timeout_seconds"),
    ],
)
def test_a_value_that_would_fail_later_is_refused_by_its_key(
    tmp_path: Path, text: str, environment: dict[str, str], key: str
) -> None:
    with pytest.raises(Refused) as refusal:
        load(write(tmp_path, text), environment={"HUGINN_EMBEDDER_KIND": "telepathy", **environment})
    assert f"\n  {key}: " in str(refusal.value)
    assert "\n  embedder.kind: " in str(refusal.value)


@pytest.mark.parametrize(("text", "told"), [("a = " + "1" * 5000, "digits"), ("a = " + "[" * 5000, "too deep")])
def test_a_file_that_python_gives_up_on_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(Refused, match=told):
        load(write(tmp_path, text), environment={})


def test_a_byte_order_mark_is_no_part_of_the_settings(tmp_path: Path) -> None:
    assert load(write(tmp_path, "\ufeff" + GOOD), environment={}).forge.name == "Team"


def test_a_folder_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "\udcff"
    folder.mkdir()
    with pytest.raises(Refused, match="state: is no valid text"):
        load(write(folder, ""), environment={})


def test_a_working_directory_that_is_gone_does_not_matter_to_a_file_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    settings = load(path, environment={})
    assert (settings.folder, settings.state) == (tmp_path, tmp_path / "kept")


def test_a_token_file_that_is_no_text_costs_only_its_own_source(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    text = REPOSITORY + 'token_file = "token"\n[[forge.repos]]\nname = "b"\nurl = "b.git"\n'
    refused, other = list_sources(load(write(tmp_path, text), environment={}))
    assert isinstance(refused, RefusedSource)
    assert "token_file: " in refused.reason
    assert isinstance(other, Source)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().state = Path("/x")  # type: ignore[misc] # what the test is about
