"""Where files live, and what is used when a command is not told otherwise."""

import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from rolellm_agents.config.paths import Paths, make_folder, user_paths
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_STRATEGY, Settings, load_settings
from rolellm_agents.errors import SettingsError, StorageError
from rolellm_agents.prompting.strategies import STRATEGIES

DEFAULTS = Settings(model=DEFAULT_MODEL, strategy=None, temperature=None, max_tokens=None)


def write_config(content: str | bytes) -> Path:
    file = user_paths().settings_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def complaint() -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings()
    return str(caught.value)


# --- Paths


def test_everything_lives_under_the_home_that_is_set(home: Path) -> None:
    paths = user_paths()
    assert paths == Paths(config=home / "config", data=home / "data", cache=home / "cache")
    assert paths.settings_file == home / "config" / "config.toml"
    assert paths.models_file == home / "config" / "models.toml"
    assert paths.personas == home / "data" / "personas"
    assert paths.transcript == home / "data" / "transcript.db"


def test_looking_paths_up_makes_no_folder(home: Path) -> None:
    user_paths()
    load_settings()
    assert not home.exists()


def test_the_home_may_change_may_be_relative_and_may_begin_with_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    monkeypatch.setenv("ROLELLM_HOME", "here")
    assert user_paths().data == tmp_path / "here" / "data"
    monkeypatch.setenv("ROLELLM_HOME", "~/there")
    assert user_paths().data == tmp_path / "me" / "there" / "data"


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of the XDG standard")
@pytest.mark.parametrize("unset", ["", None])
def test_without_a_home_files_live_where_the_platform_puts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unset: str | None
) -> None:
    if unset is None:
        monkeypatch.delenv("ROLELLM_HOME")
    else:
        monkeypatch.setenv("ROLELLM_HOME", unset)
    for kind in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    assert user_paths() == Paths(
        config=tmp_path / "CONFIG" / "rolellm",
        data=tmp_path / "DATA" / "rolellm",
        cache=tmp_path / "CACHE" / "rolellm",
    )


def test_a_folder_is_made_with_its_parents_and_may_be_there_already(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert make_folder(folder) == folder
    assert make_folder(folder).is_dir()


@pytest.mark.parametrize(("inside", "reason"), [("", "File exists"), ("deeper", "Not a directory")])
def test_a_file_in_the_way_of_a_folder_is_told_with_the_next_step(
    tmp_path: Path, inside: str, reason: str
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    folder = in_the_way / inside
    with pytest.raises(StorageError) as caught:
        make_folder(folder)
    assert str(caught.value) == (
        f"The folder {folder} cannot be created ({reason}); "
        "check permissions and free space, or set ROLELLM_HOME to a folder you can write to."
    )


# --- Settings


def test_without_a_file_the_defaults_hold_and_name_things_that_are_there() -> None:
    assert load_settings() == DEFAULTS
    assert DEFAULT_STRATEGY in STRATEGIES


def test_an_empty_file_changes_nothing() -> None:
    write_config("# nothing yet\n")
    assert load_settings() == DEFAULTS


def test_the_file_goes_before_the_defaults() -> None:
    write_config('model = "scripted:hi"\nstrategy = "system"\ntemperature = 0.5\nmax_tokens = 64\n')
    assert load_settings() == Settings(
        model="scripted:hi", strategy="system", temperature=0.5, max_tokens=64
    )


def test_the_environment_goes_before_the_file_key_by_key(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('model = "scripted:file"\ntemperature = 0.5\n')
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:environment")
    monkeypatch.setenv("ROLELLM_MAX_TOKENS", "32")
    assert load_settings() == Settings(
        model="scripted:environment", strategy=None, temperature=0.5, max_tokens=32
    )


def test_what_the_program_says_goes_before_all(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('model = "scripted:file"\n')
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:environment")
    assert Settings(model="scripted:flag").model == "scripted:flag"


def test_each_call_reads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('model = "scripted:first"\n')
    assert load_settings().model == "scripted:first"
    write_config('model = "scripted:second"\n')
    assert load_settings().model == "scripted:second"
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:third")
    assert load_settings().model == "scripted:third"


def test_other_variables_of_ours_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROLELLM_DEBUG", "1")
    monkeypatch.setenv("MODEL", "scripted:not-ours")
    assert load_settings() == DEFAULTS


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ('modell = "x"\n', "modell", "extra inputs are not permitted"),
        ("[extra]\na = 1\n", "extra", "extra inputs are not permitted"),
        ("model = 5\n", "model", "input should be a valid string"),
        ("[model]\na = 1\n", "model", "input should be a valid string"),
        ("temperature = 5.1\n", "temperature", "input should be less than or equal to 5"),
        ("temperature = -1\n", "temperature", "input should be greater than or equal to 0"),
        ("max_tokens = 0\n", "max_tokens", "input should be greater than or equal to 1"),
    ],
)
def test_an_unknown_key_and_a_wrong_value_are_told_with_the_file(
    content: str, name: str, said: str
) -> None:
    file = write_config(content)
    known = "" if name in Settings.model_fields else f" (known: {', '.join(Settings.model_fields)})"
    assert complaint() == (
        f"The setting {name!r} is not usable: {said}; correct it in {file} or in "
        f"ROLELLM_{name.upper()}{known}."
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [("ROLELLM_TEMPERATURE", "hot"), ("ROLELLM_TEMPERATURE", "9"), ("ROLELLM_MAX_TOKENS", "1.5")],
)
def test_a_wrong_variable_is_told_by_its_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert variable in complaint()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("model =\n", "Invalid value (at line 1, column 8)"),
        ('model = "a"\nmodel = "b"\n', "Cannot overwrite a value (at line 2, column 12)"),
        ("model: a\n", "Expected '=' after a key in a key/value pair (at line 1, column 6)"),
    ],
)
def test_bad_toml_is_told_with_its_place(content: str, said: str) -> None:
    file = write_config(content)
    assert complaint() == f"{file} is not valid TOML: {said}."


def test_a_settings_file_that_is_not_utf_8_is_told() -> None:
    file = write_config('model = "Jos\xe9"\n'.encode("latin-1"))
    assert complaint().startswith(f"{file} is not valid TOML: ")


def test_settings_cannot_be_changed_once_read() -> None:
    read = load_settings()
    for key in Settings.model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(read, key, None)


@given(
    st.binary(max_size=40)
    | st.lists(
        st.sampled_from(
            ["model", "temperature", " = ", "1", "nan", '"', "[", "]", "{", "}", "\n", ".", "0x", "é"]
        ),
        max_size=14,
    ).map(lambda pieces: "".join(pieces).encode())
)
@example(b"\xff")
def test_whatever_the_settings_file_holds_only_a_settings_error_is_raised(content: bytes) -> None:
    file = write_config(content)
    try:
        load_settings()
    except SettingsError as error:
        assert str(file) in str(error)  # noqa: PT017  # both outcomes are right; this one has a form
