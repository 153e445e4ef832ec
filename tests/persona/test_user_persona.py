"""Personas of one's own: kept, chosen, and never lost by a change of another."""

from pathlib import Path

import pytest
from helpers.user_files import write_config
from hypothesis import example, given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import load_settings, write_settings
from rolellm_agents.errors import SettingsError
from rolellm_agents.persona.user_persona import (
    LONGEST_ABOUT,
    LONGEST_NAME,
    UserPersona,
    add_user_persona,
    checked_user_persona,
    current_user_persona,
    find_user_persona,
    keep_user_persona,
    list_user_personas,
    remove_user_persona,
)

BY_HAND = """\
# Who I am at sea
[you.flint]
name = "Captain Flint" # as on the wanted poster
about = "An old sailor."

[you.ada]
name = "Ada"
"""
FLINT = UserPersona("flint", "Captain Flint", "An old sailor.")
ADA = UserPersona("ada", "Ada")


def file() -> Path:
    return user_paths().config / "you.toml"


def write(text: str) -> None:
    file().parent.mkdir(parents=True, exist_ok=True)
    file().write_text(text, encoding="utf-8")


def user_personas() -> list[UserPersona]:
    """All of them; none is invalid."""
    found, notes = list_user_personas()
    assert notes == []
    return found


def written() -> str:
    return file().read_text(encoding="utf-8")


# Who one is


def test_without_a_choice_one_has_only_a_name() -> None:
    assert current_user_persona(load_settings()) == UserPersona("", "User", "")
    write_config('user_name = "Eve"\n')
    assert current_user_persona(load_settings()) == UserPersona("", "Eve", "")


def test_the_chosen_one_goes_before_the_name() -> None:
    write(BY_HAND)
    write_config('user_name = "Eve"\nyou = "flint"\n')
    assert current_user_persona(load_settings()) == FLINT


def test_a_choice_that_is_not_there_is_told_with_the_nearest() -> None:
    write(BY_HAND)
    write_config('you = "flynt"\n')
    with pytest.raises(SettingsError) as caught:
        current_user_persona(load_settings())
    assert str(caught.value) == (
        f"There is no user persona 'flynt' in {file()} (did you mean flint?); "
        "choose another in the settings."
    )


# Changing the file


def test_they_are_read_in_the_order_of_the_file() -> None:
    assert user_personas() == []
    write(BY_HAND)
    assert user_personas() == [FLINT, ADA]
    assert find_user_persona("ada") == ADA


def test_one_more_comes_at_the_end_and_the_rest_stays_to_the_letter() -> None:
    write(BY_HAND)
    added = add_user_persona("  Eve\n of Eden ", "First line.\nSecond “line”.")
    assert added == UserPersona("eve-of-eden", "Eve of Eden", "First line.\nSecond “line”.")
    assert written() == (
        BY_HAND + '\n[you.eve-of-eden]\nname = "Eve of Eden"\nabout = """First line.\nSecond “line”."""\n'
    )
    assert user_personas() == [FLINT, ADA, added]


def test_the_first_one_makes_the_file() -> None:
    add_user_persona("Ada")
    assert written() == '[you.ada]\nname = "Ada"\n'


def test_two_of_one_name_have_ids_of_their_own() -> None:
    ids = [add_user_persona(name).id for name in ("Ada", "ada", "ADA!", "李白", "李白")]
    assert ids == ["ada", "ada-2", "ada-3", "li-bai", "li-bai-2"]


def test_a_change_leaves_comments_and_the_others_alone() -> None:
    write(BY_HAND)
    keep_user_persona(UserPersona("flint", "Flint", ""))
    assert written() == BY_HAND.replace('"Captain Flint"', '"Flint"').replace(
        'about = "An old sailor."\n', ""
    )


def test_one_that_is_removed_is_no_longer_who_one_is_and_can_come_back() -> None:
    write(BY_HAND)
    write_settings({"you": "flint"})
    assert remove_user_persona("flint") == FLINT
    assert user_personas() == [ADA]
    assert current_user_persona(load_settings()).name == "User"
    keep_user_persona(FLINT)
    assert sorted(user_personas(), key=lambda one: one.id) == [ADA, FLINT]


def test_when_the_last_one_is_removed_the_rest_of_the_file_stays() -> None:
    write('# mine\n[you.ada]\nname = "Ada"\n\n[other]\nkept = 1\n')
    remove_user_persona("ada")
    assert user_personas() == []
    assert written().startswith("# mine\n")
    assert written().endswith("[other]\nkept = 1\n")


def test_when_the_file_cannot_be_written_one_stays_who_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    write(BY_HAND)
    write_settings({"you": "flint"})
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "you.toml":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(SettingsError, match=r"you\.toml cannot be written \(No space left on device\)"):
        remove_user_persona("flint")
    assert current_user_persona(load_settings()) == FLINT
    assert written() == BY_HAND


def test_a_removal_leaves_the_others_where_they_are() -> None:
    write(BY_HAND + "\n[other]\nkept = 1\n")
    remove_user_persona("ada")
    assert written() == BY_HAND.partition("[you.ada]")[0] + "[other]\nkept = 1\n"


def test_removing_somebody_else_leaves_the_choice() -> None:
    write(BY_HAND)
    write_settings({"you": "flint"})
    remove_user_persona("ada")
    assert current_user_persona(load_settings()) == FLINT
    with pytest.raises(SettingsError, match="no user persona 'ada'"):
        remove_user_persona("ada")


@pytest.mark.parametrize(
    "text",
    [
        '[you.a]\nname = "x"\n[other]\nkept = 1\n[you.b]\nname = "y"\n',
        'you = {a = {name = "x"}, b = {name = "y"}}\n[other]\nkept = 1\n',
        '[you]\na = {name = "x"}\nb = {name = "y"}\n[other]\nkept = 1\n',
    ],
)
def test_whatever_way_the_file_is_written_it_can_be_changed(text: str) -> None:
    write(text)
    keep_user_persona(UserPersona("a", "X", "new"))
    added = add_user_persona("C")
    remove_user_persona("b")
    assert user_personas() == [UserPersona("a", "X", "new"), added]
    assert "kept = 1" in written()


NAMES = st.text(st.characters(codec="utf-8"), max_size=LONGEST_NAME)
ABOUTS = st.text(st.characters(codec="utf-8"), max_size=60) | st.text('a\n\r\t"\\ 李\x1b', max_size=30)


@given(st.lists(st.tuples(NAMES, ABOUTS), min_size=1, max_size=4))
@example([("A", 'x"""\n'), ("B", "\\\n\\"), ("C", "a\n"), ("D", 'x\n"')])
def test_whatever_words_are_given_they_come_back_trimmed_and_plain(given_: list[tuple[str, str]]) -> None:
    file().unlink(missing_ok=True)
    kept = []
    for name, about in given_:
        try:
            checked = checked_user_persona(UserPersona("", name, about))
        except SettingsError:
            with pytest.raises(SettingsError):
                add_user_persona(name, about)
            continue
        added = add_user_persona(name, about)
        assert (added.name, added.about) == (checked.name, checked.about)
        assert "\x1b" not in added.name + added.about
        kept.append(added)
    assert user_personas() == kept


# What is refused


@pytest.mark.parametrize(
    ("name", "about", "said"),
    [
        (" \n", "", "A name is required; characters call you by it."),
        ("x" * (LONGEST_NAME + 1), "", "The name must have at most 80 characters."),
        (
            "x",
            "y" * (LONGEST_ABOUT + 1),
            "Your description has 4,001 characters; at most 4,000 are allowed.",
        ),
    ],
)
def test_what_cannot_be_kept_is_told_and_nothing_is_written(name: str, about: str, said: str) -> None:
    for act in (
        lambda: add_user_persona(name, about),
        lambda: keep_user_persona(UserPersona("ada", name, about)),
    ):
        with pytest.raises(SettingsError) as caught:
            act()
        assert str(caught.value) == said
    assert not file().exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[you.x]\ny = [1]", ': [you.x] must hold texts, as in name = "Captain Flint".'),
        ("[you.x]\nname = 1", ': [you.x] must hold texts, as in name = "Captain Flint".'),
        (
            "[you.x]\nname = 'X'\nabuot = ''",
            ": [you.x] has an unknown key 'abuot' (did you mean about?); known are name and about.",
        ),
        ("[you.x]\n", ": [you.x]: A name is required; characters call you by it."),
    ],
)
def test_one_that_is_not_as_it_should_be_is_told_with_the_place_and_hides_no_other(
    text: str, said: str
) -> None:
    write(f"{BY_HAND}\n{text}")
    assert list_user_personas() == ([FLINT, ADA], [f"{file()}{said}"])
    assert find_user_persona("flint") == FLINT
    assert add_user_persona("x").id == "x-2"
    with pytest.raises(SettingsError) as caught:
        find_user_persona("x")
    assert str(caught.value) == f"{file()}{said}"


def test_a_file_without_tables_is_told() -> None:
    write("you = 1")
    with pytest.raises(SettingsError) as caught:
        list_user_personas()
    assert str(caught.value) == (
        f"{file()} must define each user persona as a table, as in [you.captain-flint]."
    )


def test_a_file_that_a_change_would_break_is_told_and_left_alone() -> None:
    text = 'you.a.name = "x"\nyou.b.name = "y"\nother.kept = 1\n'
    write(text)
    with pytest.raises(
        SettingsError, match=r"you\.toml cannot be changed in its present layout; start each"
    ):
        keep_user_persona(UserPersona("a", "X", "new"))
    assert written() == text


def test_a_file_that_is_no_toml_is_told_and_left_alone() -> None:
    write("[you")
    for act in (user_personas, lambda: add_user_persona("Ada")):
        with pytest.raises(SettingsError, match=r"you\.toml is not valid TOML: "):
            act()
    assert written() == "[you"
