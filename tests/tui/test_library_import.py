"""Bringing a card into the library."""

import json
import os
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.cards import based, book, entry, png, v2, v3
from helpers.hypotheses import examples
from helpers.library_app import LibraryApp, card, carded, cast, highlighted, read
from helpers.piloting import shown, type_fast, until
from helpers.shared_cards import shared_card
from helpers.user_files import write_persona
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, Static

from rolellm_agents.cards import CardFinding
from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import load_persona
from rolellm_tui.screens import import_card
from rolellm_tui.screens.import_card import ImportScreen
from rolellm_tui.widgets.library import incoming
from rolellm_tui.widgets.library.incoming import bring_in, completed, is_card, look, path_in

LAMP = v2(name="Lamp Keeper")
SIZE = (120, 40)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "cards of mine"
    folder.mkdir()
    return folder


@pytest.fixture
def lamp(here: Path) -> Path:
    """A card whose path has spaces."""
    file = here / "lamp keeper.png"
    file.write_bytes(png(("chara", based(LAMP))))
    return file


async def ask(pilot: Pilot[Any]) -> None:
    """Open the window."""
    await read(pilot)
    await pilot.press("f4")
    await opened(pilot)


async def opened(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, ImportScreen))
    path(pilot).cursor_blink = False


async def paste(pilot: Pilot[Any], text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


def path(pilot: Pilot[Any]) -> Input:
    return pilot.app.screen.query_one("#path", Input)


def says(pilot: Pilot[Any], part: str) -> str:
    return " ".join(shown(pilot.app.screen.query_one(f"#{part}", Static)).split())


async def imported(app: LibraryApp, pilot: Pilot[Any], persona: str) -> None:
    """Wait until the library shows somebody, highlighted among all."""
    await until(pilot, lambda: app.screen is app.library and highlighted(pilot) == persona)
    await carded(pilot)
    assert len(cast(pilot)) == 101


def own_files() -> list[str]:
    folder = user_paths().personas
    return sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []


# By a path


@pytest.mark.core
async def test_a_card_is_shown_before_it_comes_in_and_highlighted_afterwards(lamp: Path) -> None:
    app = LibraryApp(user="Kim")
    async with app.run_test(size=SIZE) as pilot:
        await read(pilot)
        await pilot.press(*"shrek", "f4")
        await opened(pilot)
        await pilot.press(*str(lamp))
        await until(pilot, lambda: says(pilot, "seen"))
        assert says(pilot, "seen") == "Lamp Keeper V2 · PNG · lint: clean Lamp Keeper keeps the lamp."
        assert own_files() == []
        await pilot.press("enter")
        await imported(app, pilot, "lamp-keeper")
        assert card(pilot, "greeting") == "Wipe your feet, Kim."
        assert load_persona("lamp-keeper").name == "Lamp Keeper"


async def test_tab_completes_the_path_and_tells_the_ways_it_may_go(lamp: Path, here: Path) -> None:
    (here / "lantern.json").write_text("{}")
    (here / "notes.txt").write_text("no card")
    (here / ".hidden.png").write_bytes(b"")
    async with LibraryApp().run_test(size=SIZE) as pilot:
        await ask(pilot)
        await pilot.press(*str(here)[:-3], "tab")
        await until(pilot, lambda: path(pilot).value == f"{here}{os.sep}")
        await pilot.press("tab")
        await until(pilot, lambda: path(pilot).value == f"{here}{os.sep}la")
        await until(pilot, lambda: says(pilot, "help") == "lamp keeper.png lantern.json")
        assert path(pilot).has_focus
        await pilot.press("m", "tab")
        await until(pilot, lambda: path(pilot).value == str(lamp))
        await until(pilot, lambda: says(pilot, "seen").startswith("Lamp Keeper"))


async def test_enter_right_after_typing_does_not_wait_for_the_look(lamp: Path) -> None:
    app = LibraryApp()
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        await type_fast(pilot, *str(lamp), "enter")
        await imported(app, pilot, "lamp-keeper")


async def test_a_path_that_leads_nowhere_is_told_in_one_sentence_and_stays(here: Path) -> None:
    app = LibraryApp()
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        for wrong, told in {
            str(here / "[b]nobody[/b].png"): "There is no file",
            str(here): "is a folder; enter a file name.",
            "\0": "",
            "x" * 5_000: "",
        }.items():
            path(pilot).value = wrong
            await pilot.press("enter")
            await until(pilot, lambda: pilot.app.screen.query_one("#complaint").has_class("error"))
            assert told in says(pilot, "complaint")
            assert path(pilot).value == wrong
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.library)
        assert len(cast(pilot)) == 100


async def test_nothing_given_is_told() -> None:
    async with LibraryApp().run_test(size=SIZE) as pilot:
        await ask(pilot)
        await pilot.press("enter")
        await until(
            pilot, lambda: says(pilot, "complaint") == "✗ Enter a file name first, or paste a card."
        )


async def test_a_picture_without_a_card_is_told(here: Path) -> None:
    file = here / "photo.png"
    file.write_bytes(png())
    async with LibraryApp().run_test(size=SIZE) as pilot:
        await ask(pilot)
        path(pilot).value = str(file)
        await pilot.press("enter")
        await until(
            pilot, lambda: "photo.png is a picture without a card in it" in says(pilot, "complaint")
        )
        assert own_files() == []


async def test_whom_one_has_already_is_replaced_only_when_one_says_so_twice(lamp: Path) -> None:
    write_persona("id: lamp-keeper\nname: Mine\ndescription: My own.\n", "lamp-keeper.yaml")
    app = LibraryApp()
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        path(pilot).value = str(lamp)
        await pilot.press("enter")
        await until(pilot, lambda: "You have Lamp Keeper already" in says(pilot, "complaint"))
        assert load_persona("lamp-keeper").name == "Mine"
        await pilot.press("enter")
        await imported(app, pilot, "lamp-keeper")
        assert load_persona("lamp-keeper").name == "Lamp Keeper"


async def test_who_was_warned_of_one_file_is_warned_of_another_too(lamp: Path, here: Path) -> None:
    other = here / "other.json"
    other.write_text(json.dumps(v2(name="Other")))
    write_persona("id: lamp-keeper\nname: Mine\ndescription: My own.\n", "lamp-keeper.yaml")
    write_persona("id: other\nname: Mine\ndescription: My own.\n", "other.yaml")
    async with LibraryApp().run_test(size=SIZE) as pilot:
        await ask(pilot)

        def warned(sentence: str) -> bool:
            return sentence in says(pilot, "complaint")

        for file, name in ((lamp, "Lamp Keeper"), (other, "Other")):
            path(pilot).value = str(file)
            await pilot.press("enter")
            await until(pilot, partial(warned, f"You have {name} already"))
        assert load_persona("lamp-keeper").name == load_persona("other").name == "Mine"


async def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_half_there(lamp: Path) -> None:
    user_paths().data.mkdir(parents=True)
    user_paths().personas.write_text("a file in its place")
    async with LibraryApp().run_test(size=SIZE) as pilot:
        await ask(pilot)
        path(pilot).value = str(lamp)
        await pilot.press("enter")
        await until(pilot, lambda: "cannot be written" in says(pilot, "complaint"))
        assert path(pilot).value == str(lamp)


async def test_a_defect_of_ours_leaves_the_window_open(lamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(given: str) -> list[incoming.Preview]:
        raise ZeroDivisionError(given)

    monkeypatch.setattr(import_card, "look", broken)
    async with LibraryApp().run_test(size=SIZE) as pilot:
        await ask(pilot)
        path(pilot).value = str(lamp)
        await until(pilot, lambda: "Internal error: ZeroDivisionError" in says(pilot, "complaint"))
        assert path(pilot).value == str(lamp)


async def test_a_lorebook_comes_in_and_one_is_told_what_it_is_for(here: Path) -> None:
    file = here / "rock.json"
    world = {str(number): {"uid": number, "key": ["lamp"], "content": "Oil."} for number in range(2)}
    file.write_text(json.dumps({"entries": world}))
    app = LibraryApp()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await ask(pilot)
        path(pilot).value = str(file)
        await until(pilot, lambda: says(pilot, "seen") == "rock lorebook · JSON · 2 lore entries")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.library)
        await until(pilot, lambda: app._notifications)
        (told,) = app._notifications
        assert "“rolellm chat --lorebook rock”" in told.message
        assert (user_paths().lorebooks / "rock.json").is_file()
        assert len(cast(pilot)) == 100


# By pasting


@pytest.mark.parametrize("quoted", ["'{}'", '"{}"', "{}", "escaped", "uri"])
async def test_a_dropped_file_is_its_path_however_the_terminal_writes_it(lamp: Path, quoted: str) -> None:
    text = {"escaped": str(lamp).replace(" ", "\\ "), "uri": lamp.as_uri()}.get(quoted, quoted.format(lamp))
    app = LibraryApp()
    async with app.run_test(size=SIZE) as pilot:
        await ask(pilot)
        await pilot.press(*"/old")
        await paste(pilot, f"{text}\n")
        await until(pilot, lambda: says(pilot, "seen").startswith("Lamp Keeper"))
        await pilot.press("enter")
        await imported(app, pilot, "lamp-keeper")


async def test_a_card_that_is_dropped_on_the_library_opens_the_window(lamp: Path) -> None:
    app = LibraryApp()
    async with app.run_test(size=SIZE) as pilot:
        await read(pilot)
        await paste(pilot, f"'{lamp}'")
        await opened(pilot)
        await until(pilot, lambda: says(pilot, "seen").startswith("Lamp Keeper"))
        await pilot.press("enter")
        await imported(app, pilot, "lamp-keeper")


async def test_other_text_that_is_pasted_into_the_search_is_a_search() -> None:
    async with LibraryApp().run_test(size=SIZE) as pilot:
        await read(pilot)
        await paste(pilot, "sherlock")
        await until(pilot, lambda: cast(pilot) == ["sherlock-holmes"])


@pytest.mark.parametrize("into", ["window", "library"])
async def test_pasted_json_is_a_card(into: str) -> None:
    text = json.dumps(v3(name="Lamp Keeper", character_book=book(entry())), indent=2)
    app = LibraryApp()
    async with app.run_test(size=SIZE) as pilot:
        await (ask if into == "window" else read)(pilot)
        await paste(pilot, text)
        await opened(pilot)
        await until(pilot, lambda: says(pilot, "seen").startswith("Lamp Keeper V3 · JSON · 1 lore entr"))
        await pilot.press("enter")
        await imported(app, pilot, "lamp-keeper")


async def test_pasted_json_that_is_no_card_is_told_and_a_path_takes_its_place(lamp: Path) -> None:
    async with LibraryApp().run_test(size=SIZE) as pilot:
        await ask(pilot)
        await paste(pilot, '{"name": ')
        await pilot.press("enter")
        await until(pilot, lambda: "pasted.json" in says(pilot, "complaint"))
        await pilot.press(*str(lamp))
        await until(pilot, lambda: says(pilot, "seen").startswith("Lamp Keeper"))


# What would come in


def test_what_the_linter_finds_is_counted(here: Path) -> None:
    file = here / "odd.json"
    file.write_text(
        json.dumps(v2(name="Odd", creator_notes=None, first_mes="Look: http://x.example/a.png"))
    )
    (seen,) = look(str(file))
    assert seen.errors > 0
    assert import_card._preview_content(seen).plain.count("lint: ") == 1


def test_the_count_is_that_of_the_linter(lamp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [CardFinding(level, "x", "y", "z") for level in ("error", "warning", "warning", "hint")]
    monkeypatch.setattr(incoming, "lint", lambda card: findings)
    (seen,) = look(str(lamp))
    assert (seen.errors, seen.warnings) == (1, 2)
    assert "lint: 1 error, 2 warnings" in import_card._preview_content(seen).plain


def test_a_card_of_other_people_is_seen_as_it_comes_in() -> None:
    file = shared_card("default_Seraphina.png")
    (seen,) = look(str(file))
    assert (seen.kind, seen.name, seen.format, seen.lore) == ("persona", "Seraphina", "V2 · PNG", 4)
    assert not seen.replaces
    (came,) = bring_in(str(file), replace=False)
    assert (came.id, came.lore) == ("seraphina", 4)
    (seen,) = look(str(file))
    assert seen.replaces
    with pytest.raises(PersonaError, match="exists already"):
        bring_in(str(file), replace=False)


# Paths


@pytest.mark.skipif(os.name == "nt", reason="other quotes")
@examples(1.5)
@given(st.text(st.characters(blacklist_characters="\0\r\n", blacklist_categories=["Cs"]), min_size=1))
def test_what_a_shell_would_quote_is_read_back(name: str) -> None:
    meant = f"/nowhere/{name}"
    assert path_in(f" {shlex.quote(meant)}\n") == Path(meant)


@examples(1.5)
@given(st.text())
def test_any_text_is_a_path_or_none_but_no_crash(text: str) -> None:
    path_in(text)
    is_card(text)
    completed(text)


def test_a_file_whose_own_name_has_quotes_or_backslashes_is_found(here: Path) -> None:
    odd = here / "it's \\ odd.png"
    odd.write_bytes(b"")
    assert path_in(str(odd)) == odd
    assert is_card(str(odd))


def test_home_is_completed_too(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    (home / "Downloads").mkdir(parents=True)
    (home / "Downloads" / "ada.png").write_bytes(b"")
    assert completed("~/Dow").text == f"~/Downloads{os.sep}"
    assert completed("~/Downloads/a").text == "~/Downloads/ada.png"
    assert completed("~/Downloads/b") == incoming.PathCompletion("~/Downloads/b", ())


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.parametrize("size", [(80, 24), SIZE])
def test_the_window_looks_as_it_did(size: tuple[int, int], snap_compare: SnapCompare) -> None:
    async def look_at(pilot: Pilot[Any]) -> None:
        await ask(pilot)
        await paste(pilot, json.dumps(v2(name="Lamp Keeper")))
        await until(pilot, lambda: says(pilot, "seen").startswith("Lamp Keeper"))

    assert snap_compare(LibraryApp(), run_before=look_at, terminal_size=size)
