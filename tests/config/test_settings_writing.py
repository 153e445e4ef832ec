"""Settings that are changed by the program: in the file that the person writes too."""

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from helpers.user_files import write_config
from hypothesis import example, given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import (
    Settings,
    check_setting,
    given_by_environment,
    load_settings,
    write_settings,
)
from rolellm_agents.errors import SettingsError

BY_HAND = """\
# What I like
model = "scripted:a" # the quick one

# Calm.
temperature = 0.5   # not hot
max_tokens = 64
"""


def written() -> str:
    return user_paths().settings_file.read_text(encoding="utf-8")


def complaint(name: str, value: object) -> str:
    with pytest.raises(SettingsError) as caught:
        check_setting(name, value)
    return str(caught.value)


# What stays and what changes


def test_comments_order_and_spaces_stay_around_a_changed_value() -> None:
    write_config(BY_HAND)
    write_settings({"temperature": 0.9})
    assert written() == BY_HAND.replace("0.5", "0.9")


def test_line_ends_of_another_system_stay() -> None:
    file = write_config("")
    file.write_bytes(BY_HAND.replace("\n", "\r\n").encode())
    write_settings({"temperature": 0.9})
    assert file.read_bytes() == BY_HAND.replace("0.5", "0.9").replace("\n", "\r\n").encode()


def test_a_new_setting_comes_at_the_end() -> None:
    write_config(BY_HAND.rstrip("\n"))
    write_settings({"strategy": "system", "remember": True})
    assert written() == BY_HAND + 'strategy = "system"\nremember = true\n'


def test_a_setting_that_is_taken_out_has_its_default_again() -> None:
    write_config(BY_HAND)
    write_settings({"max_tokens": None, "strategy": None})
    assert written() == BY_HAND.replace("max_tokens = 64\n", "")
    assert load_settings().max_tokens is None


def test_without_a_file_one_is_made(home: Path) -> None:
    assert not home.exists()
    write_settings({"user_name": "夏娃"})
    assert written() == 'user_name = "夏娃"\n'
    assert load_settings().user_name == "夏娃"


def test_text_becomes_what_the_setting_holds() -> None:
    write_settings({"temperature": " 0.7 ", "max_tokens": "12"})
    assert written() == "temperature = 0.7\nmax_tokens = 12\n"


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    file = write_config("")
    elsewhere = tmp_path / "dotfiles.toml"
    elsewhere.write_text(BY_HAND, encoding="utf-8")
    file.unlink()
    file.symlink_to(elsewhere)
    write_settings({"temperature": 0.9})
    assert file.is_symlink()
    assert elsewhere.read_text(encoding="utf-8") == BY_HAND.replace("0.5", "0.9")


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "model": st.text(st.characters(codec="utf-8"), max_size=12),
    "temperature": st.floats(0, 5),
    "max_tokens": st.integers(1, 10**12),
    "recall_method": st.sampled_from(["bm25", "chroma", "hybrid"]),
    "recall_k": st.integers(0, 100),
    "remember": st.booleans(),
    "user_name": st.text(st.characters(codec="utf-8"), min_size=1, max_size=12),
    "you": st.text(st.characters(codec="utf-8"), max_size=12),
}
HELD = st.fixed_dictionaries({}, optional=VALUES)
CHANGES = st.fixed_dictionaries({}, optional={name: st.none() | some for name, some in VALUES.items()})
COMMENTS = st.lists(st.sampled_from(["# one", "# two = 2", "#", ""]), max_size=4)


@given(HELD, CHANGES, COMMENTS)
@example({"user_name": 'a"b\\\n'}, {"user_name": "\x1b\x00\t"}, ["# one"])
@example({}, {"model": ""}, ["# one"])
def test_a_change_changes_what_it_names_and_what_it_returns_takes_it_back(
    held: dict[str, Any], changes: dict[str, Any], comments: list[str]
) -> None:
    file = user_paths().settings_file
    file.unlink(missing_ok=True)
    if held:
        write_settings(held)
    by_hand = "\n".join([*comments, file.read_text("utf-8") if held else "", *comments])
    write_config(by_hand)
    wanted = {name: value for name, value in {**held, **changes}.items() if value is not None}

    before = write_settings(changes)
    assert tomllib.loads(written()) == wanted
    assert [line for line in written().split("\n") if line.startswith("#")] == [
        line for line in by_hand.split("\n") if line.startswith("#")
    ]
    write_settings(before)
    assert tomllib.loads(written()) == held


# What is refused


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("temperature", "hot", "must be a number."),
        ("temperature", 5.1, "must be at most 5."),
        ("temperature", "-1", "must be at least 0."),
        ("max_tokens", "1.5", "must be a whole number."),
        ("max_tokens", 0, "must be at least 1."),
        ("recall_k", [1], "must be a whole number."),
        ("recall_method", "magic", "must be 'bm25', 'chroma' or 'hybrid'."),
        ("remember", "maybe", "must be true or false."),
        ("model", 5, "must be text."),
        ("user_name", "", "must not be empty."),
        ("user_name", "x" * 81, "must have at most 80 characters."),
        ("max_tokens", "9" * 5_000, "is too large."),
    ],
)
def test_a_wrong_value_is_told_in_one_sentence(name: str, value: object, said: str) -> None:
    assert complaint(name, value) == f"The setting {name!r} {said}"


def test_an_unknown_setting_is_told_with_the_nearest() -> None:
    assert complaint("modell", "x").startswith("There is no setting 'modell' (did you mean model?); known")
    with pytest.raises(SettingsError, match="There is no setting 'modell'"):
        write_settings({"modell": None, "remember": True})
    assert not user_paths().settings_file.exists()


def test_a_number_that_is_none_is_refused() -> None:
    for name in Settings.model_fields:
        with pytest.raises(SettingsError):
            check_setting(name, float("nan"))


def test_a_character_that_is_cut_in_half_can_be_written() -> None:
    write_settings({"user_name": "Ada \ud83d"})
    assert load_settings().user_name == "Ada \ufffd"


def test_of_several_changes_all_are_written_or_none() -> None:
    write_config(BY_HAND)
    with pytest.raises(SettingsError, match="'temperature' must be at most 5"):
        write_settings({"remember": True, "temperature": 9})
    assert written() == BY_HAND


def test_a_write_that_fails_leaves_the_file_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_config(BY_HAND)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match=r"cannot be written \(No space left on device\)"):
        write_settings({"remember": True})
    assert written() == BY_HAND
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("content", [b"model =\n", b'model = "Jos\xe9"\n', b"x = " + b"[" * 5_000])
def test_a_file_that_is_no_toml_is_told_and_left_alone(content: bytes) -> None:
    file = write_config("")
    file.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        write_settings({"remember": True})
    assert str(caught.value).startswith(f"{file} is not valid TOML: ")
    assert file.read_bytes() == content


def test_a_file_that_cannot_be_read_is_told() -> None:
    file = user_paths().settings_file
    file.mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"config\.toml cannot be read: Is a directory"):
        write_settings({"remember": True})


# What the environment gives


def test_settings_of_the_environment_are_told_with_their_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given_by_environment() == {}
    monkeypatch.setenv("ROLELLM_MODEL", "scripted:a")
    monkeypatch.setenv("rolellm_temperature", "0.5")
    monkeypatch.setenv("ROLELLM_DEBUG", "1")
    assert given_by_environment() == {"model": "ROLELLM_MODEL", "temperature": "rolellm_temperature"}
    assert (load_settings().model, load_settings().temperature) == ("scripted:a", 0.5)
