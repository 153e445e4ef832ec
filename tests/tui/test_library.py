"""The library: whom one finds in it, and what one sees of them."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from helpers.library_app import (
    LibraryApp,
    card,
    carded,
    cast,
    count,
    highlighted,
    notes,
    on_card,
    read,
    rows,
)
from helpers.piloting import keys_offered, type_fast, until
from helpers.user_files import ADA, write_persona
from textual import events
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widgets import Footer, Input, OptionList, Select

from rolellm_agents.persona import Cast, find_persona, list_personas
from rolellm_tui.screens import library as library_module
from rolellm_tui.widgets.library.persona_view import PersonaView

EVE = """\
id: eve
name: 夏娃
language: zh
description: 夏娃住在园子里。
greeting: 你好，{{user}}。
category: gardener
tags: [cartographer, zythum]
source: {work: 园子, year: -4004}
catchphrases: [别吃, 再想想]
demonstrations:
- {user: 这是什么？, reply: 这是一棵树。}
- {user: 能吃吗？, reply: 不能。}
- {user: 为什么？, reply: 说来话长。}
- {user: 蛇呢？, reply: 第四句。}
knowledge:
- {title: 园子, text: 四条河。}
lorebook: {entries: [{keys: [树], content: 有两棵。}, {keys: [河], content: 有四条。}]}
"""
WIDE = (120, 40)
NARROW = (80, 24)


def search(pilot: Pilot[Any]) -> Input:
    return pilot.app.screen.query_one("#search", Input)


def shelf(pilot: Pilot[Any]) -> tuple[bool, bool]:
    """Whether the list and the card are to be seen."""
    screen = pilot.app.screen
    return screen.query_one("#cast").size.height > 0, screen.query_one(PersonaView).size.height > 0


async def pick(pilot: Pilot[Any], menu: str, *keys: str) -> None:
    """Open one of the filters with the keys alone, and pick in it."""
    steps = ["language", "category", "tag", "order"].index(menu)
    await pilot.press("f5", *["tab"] * steps, "enter", *keys, "enter")
    await until(pilot, lambda: search(pilot).has_focus)


# Whom one finds


@pytest.mark.core
async def test_the_library_lists_the_whole_cast_and_typing_narrows_it() -> None:
    everybody = [found.persona.id for found in list_personas().found]
    async with LibraryApp().run_test() as pilot:
        await read(pilot)
        assert cast(pilot) == everybody
        assert count(pilot) == "100 of 100"
        for typed, expected in {
            "SHER": ["sherlock-holmes"],
            "孙悟": ["sun-wukong"],
            "zh hero": ["sun-wukong"],
            "nobody qqq": [],
            "": everybody,
        }.items():
            search(pilot).value = typed
            await pilot.pause()
            assert cast(pilot) == expected
            assert count(pilot) == f"{len(expected)} of 100"


async def test_enter_with_nobody_left_in_the_list_stays_there_and_escape_shows_everybody() -> None:
    app = LibraryApp()
    async with app.run_test() as pilot:
        await read(pilot)
        assert "Clear" not in keys_offered(pilot)
        await pilot.press(*"qqq", "down", "enter")
        await pilot.pause()
        assert (cast(pilot), app.chosen) == ([], [])
        await until(pilot, lambda: app.library.query_one("#nobody").size.height > 0)
        await until(pilot, lambda: on_card(pilot) is None)
        assert "Clear" in keys_offered(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: len(cast(pilot)) == 100)
        assert search(pilot).value == ""
        assert app.library.query_one("#nobody").size.height == 0
        assert "Clear" not in keys_offered(pilot)


async def test_the_line_that_nobody_matches_stays_after_the_loading_notice_is_due() -> None:
    app = LibraryApp()
    async with app.run_test() as pilot:
        await read(pilot)
        await pilot.press(*"qqq")
        await until(pilot, lambda: cast(pilot) == [])
        await pilot.pause(2 * library_module._PATIENCE)
        assert app.library.query_one("#nobody").size.height > 0


@pytest.mark.parametrize(
    ("typed", "expected"), [("sher", ["sherlock-holmes"]), ("zh hero", ["sun-wukong"]), ("qqq", [])]
)
async def test_enter_waits_for_letters_that_were_typed_just_before(typed: str, expected: list[str]) -> None:
    app = LibraryApp()
    async with app.run_test() as pilot:
        await read(pilot)
        await type_fast(pilot, *typed, "enter")
        await until(pilot, lambda: search(pilot).value == typed)
        assert [chosen.persona.id for chosen in app.chosen] == expected


async def test_an_arrow_key_waits_for_letters_that_were_typed_just_before() -> None:
    app = LibraryApp()
    async with app.run_test() as pilot:
        await read(pilot)
        await type_fast(pilot, *"walt", "down", "enter")
        await until(pilot, lambda: app.chosen)
        assert len(cast(pilot)) > 1
        assert [chosen.persona.id for chosen in app.chosen] == [cast(pilot)[1]]


async def test_the_arrow_keys_move_through_the_list_while_one_types() -> None:
    app = LibraryApp()
    async with app.run_test() as pilot:
        await read(pilot)
        options = app.library.query_one("#cast", OptionList)
        assert options.highlighted == 0
        await pilot.press("up")
        assert options.highlighted == options.option_count - 1
        await pilot.press("down", "down", "down", "up")
        assert options.highlighted == 1
        assert search(pilot).has_focus
        second = cast(pilot)[1]
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen)
        (chosen,) = app.chosen
        assert chosen.persona.id == second
        assert (chosen.strategy, chosen.model, chosen.greeting, chosen.new) == (None, None, 0, False)


async def test_whole_pages_are_turned_while_one_types() -> None:
    async with LibraryApp().run_test() as pilot:
        await read(pilot)
        options = pilot.app.screen.query_one("#cast", OptionList)
        await pilot.press("pagedown")
        page = options.highlighted
        assert page is not None
        assert page > 3
        await pilot.press("pagedown", "pageup")
        assert options.highlighted == page


async def test_the_list_itself_can_be_used_by_its_own_keys() -> None:
    app = LibraryApp()
    async with app.run_test() as pilot:
        await read(pilot)
        app.library.query_one("#cast").focus()
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: app.chosen)
        assert app.chosen[0].persona.id == cast(pilot)[2]


async def test_who_types_a_name_and_enter_before_the_cast_is_read_gets_whom_they_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_persona()
    go = threading.Event()

    def slowly() -> Cast:
        go.wait(60)
        return list_personas()

    monkeypatch.setattr(library_module, "list_personas", slowly)
    app = LibraryApp()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen is app.library)
        await pilot.press(*"cartographer", "enter")
        assert app.chosen == []
        await until(pilot, lambda: app.library.query_one("#nobody").size.height)
        go.set()
        await until(pilot, lambda: app.chosen)
        assert [event.persona.id for event in app.chosen] == ["ada"]
        assert cast(pilot) == ["ada"]


async def test_letters_go_into_the_search_from_wherever_one_is() -> None:
    write_persona()
    async with LibraryApp().run_test(size=WIDE) as pilot:
        await read(pilot)
        await pilot.press("f3", *"car")
        await until(pilot, lambda: search(pilot).value == "car")
        pilot.app.screen.query_one("#cast").focus()
        await pilot.press("t")
        await until(pilot, lambda: search(pilot).value == "cart")
        await pilot.press("f5", "o")
        await until(pilot, lambda: search(pilot).value == "carto")
        assert cast(pilot)[0] == "ada"


@pytest.mark.parametrize("place", ["#cast", "#card .body", "#tag"])
async def test_no_letter_is_lost_or_overtaken_when_one_types_fast_outside_the_search(place: str) -> None:
    write_persona()
    async with LibraryApp().run_test(size=WIDE) as pilot:
        await read(pilot)
        pilot.app.screen.set_focus(pilot.app.screen.query_one(place))
        await type_fast(pilot, *"cartographer of the moon")
        await until(pilot, lambda: search(pilot).value.endswith("n"))
        assert search(pilot).value == "cartographer of the moon"


@pytest.mark.parametrize("turns", [1, 3, 8])
async def test_no_letter_is_lost_in_whatever_rhythm_it_is_typed_on_the_card(turns: int) -> None:
    """Letters that were in the card's queue when the search line got the focus were dropped."""
    write_persona()
    async with LibraryApp().run_test(size=WIDE) as pilot:
        await read(pilot)
        pilot.app.screen.set_focus(pilot.app.screen.query_one("#card .body"))
        for letter in "cartographer!":
            pilot.app.post_message(events.Key(letter, letter))
            for _ in range(turns):
                await asyncio.sleep(0)
        await until(pilot, lambda: search(pilot).value.endswith("!"))
        assert search(pilot).value == "cartographer!"


# Filters and order


@pytest.mark.core
async def test_filters_and_the_search_hold_together_and_escape_lets_everybody_in() -> None:
    write_persona()
    write_persona(EVE, "eve.yaml")
    async with LibraryApp().run_test(size=NARROW) as pilot:
        await read(pilot)
        await pick(pilot, "language", *"中文")
        assert len(cast(pilot)) == 6
        assert count(pilot) == "6 of 102"
        await pick(pilot, "tag", *"cartographer")
        assert cast(pilot) == ["eve"]
        await pilot.press("escape")
        await until(pilot, lambda: len(cast(pilot)) == 102)
        await pick(pilot, "tag", *"cartographer")
        assert cast(pilot) == ["ada", "eve"]
        await pilot.press(*"ada")
        await until(pilot, lambda: cast(pilot) == ["ada"])
        await pick(pilot, "category", *"gardener")
        assert cast(pilot) == []
        await pilot.press("escape")
        await until(pilot, lambda: len(cast(pilot)) == 102)
        assert all(menu.is_blank() for menu in list(pilot.app.screen.query(Select))[:3])


async def test_enter_in_a_filter_opens_it_and_chooses_nobody() -> None:
    app = LibraryApp()
    async with app.run_test() as pilot:
        await read(pilot)
        await pilot.press("f5")
        assert "Talk" not in keys_offered(pilot)
        await pilot.press("enter", "down", "down", "enter")
        await until(pilot, lambda: len(cast(pilot)) < 100)
        assert app.chosen == []
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen)
        assert app.chosen[0].persona.id == cast(pilot)[0]


async def test_a_tag_that_looks_like_markup_is_offered_as_it_is() -> None:
    write_persona(ADA.replace("cartographer", "'[red]xyzzy[/red]'"))
    async with LibraryApp().run_test() as pilot:
        await read(pilot)
        await pick(pilot, "tag", *"xyzzy")
        assert cast(pilot) == ["ada"]
        shown_tag = pilot.app.screen.query_one("#tag #label").render()
        assert str(shown_tag) == "[red]xyzzy[/red]  1"


async def test_those_last_talked_with_come_first_and_the_others_by_name() -> None:
    by_name = [found.persona.id for found in list_personas().found]
    recent = ("shrek", "gone-since", "angel", "shrek")
    others = [one for one in by_name if one not in recent]
    app = LibraryApp(recent)
    async with app.run_test() as pilot:
        await read(pilot)
        assert cast(pilot) == ["shrek", "angel", *others]
        await pick(pilot, "order", "up")
        assert cast(pilot) == by_name
        await pick(pilot, "order", "down")
        assert cast(pilot) == ["shrek", "angel", *others]


async def test_when_one_comes_back_from_a_talk_the_order_is_new_and_the_highlight_where_it_was() -> None:
    app = LibraryApp(["shrek"])
    async with app.run_test() as pilot:
        await read(pilot)
        await pilot.press("down", "down", "down")
        before = highlighted(pilot)
        app.library.recent = ["po", "shrek"]
        await pilot.pause()
        assert cast(pilot)[:2] == ["po", "shrek"]
        assert highlighted(pilot) == before


# The card


@pytest.mark.core
async def test_on_a_wide_terminal_the_card_follows_the_highlight() -> None:
    async with LibraryApp().run_test(size=WIDE) as pilot:
        await read(pilot)
        assert shelf(pilot) == (True, True)
        await pilot.press("down", "down")
        await carded(pilot)
        persona = find_persona(str(cast(pilot)[2])).persona
        assert card(pilot, "name") == persona.name
        assert card(pilot, "greeting") == " ".join(persona.greeting.split())


@pytest.mark.parametrize("back", ["f3", "escape", "space"])
async def test_on_a_narrow_terminal_a_key_lays_the_card_over_the_list_and_back(back: str) -> None:
    app = LibraryApp()
    async with app.run_test(size=NARROW) as pilot:
        await read(pilot)
        assert shelf(pilot) == (True, False)
        await pilot.press("f3")
        await until(pilot, lambda: shelf(pilot) == (False, True))
        body = app.library.query_one(PersonaView).query_one(".body")
        await pilot.press("down", "down")
        await until(pilot, lambda: body.scroll_y > 0)
        await pilot.press(back)
        await until(pilot, lambda: shelf(pilot) == (True, False))
        await until(pilot, lambda: search(pilot).has_focus)
        assert search(pilot).value == ""


async def test_space_on_the_list_opens_the_card_and_enter_on_the_card_talks() -> None:
    app = LibraryApp()
    async with app.run_test(size=NARROW) as pilot:
        await read(pilot)
        app.library.query_one("#cast").focus()
        await pilot.press("down", "space")
        await until(pilot, lambda: shelf(pilot) == (False, True))
        assert "Talk" in keys_offered(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.chosen)
        assert app.chosen[0].persona.id == cast(pilot)[1]


async def test_space_in_the_search_is_a_space() -> None:
    async with LibraryApp().run_test(size=NARROW) as pilot:
        await read(pilot)
        await pilot.press(*"jack", "space", *"sp")
        await until(pilot, lambda: search(pilot).value == "jack sp")
        assert cast(pilot)[0] == "jack-sparrow"
        assert shelf(pilot) == (True, False)


async def test_the_card_tells_all_that_helps_to_decide() -> None:
    write_persona(EVE, "eve.yaml")
    async with LibraryApp(user="Kim").run_test(size=(200, 50)) as pilot:
        await read(pilot)
        await pilot.press(*"zythum")
        await until(pilot, lambda: on_card(pilot) == "eve")
        assert card(pilot, "name") == "夏娃"
        assert card(pilot, "work") == "园子, 4004 BCE"
        assert card(pilot, "labels") == "gardener · 中文 · cartographer · zythum"
        assert card(pilot, "counts") == "4 demonstrations · 1 piece of knowledge · 2 lore entries · yours"
        assert card(pilot, "description") == "夏娃住在园子里。"
        assert card(pilot, "greeting") == "你好，Kim。"
        assert card(pilot, "samples") == ("这是什么？ 这是一棵树。 能吃吗？ 不能。 为什么？ 说来话长。")
        assert card(pilot, "phrases") == "“别吃” “再想想”"


async def test_a_card_says_where_a_bundled_persona_is_from_and_shows_no_empty_parts() -> None:
    write_persona("id: bare\nname: Bare Zyxx\ndescription: Nothing else.\n", "bare.yaml")
    async with LibraryApp().run_test(size=WIDE) as pilot:
        await read(pilot)
        assert card(pilot, "counts").endswith("bundled")
        await pilot.press(*"zyxx")
        await until(pilot, lambda: on_card(pilot) == "bare")
        view = pilot.app.screen.query_one(PersonaView)
        parts = ("work", "greeting", "samples", "phrases")
        assert [view.query_one(f".{part}").display for part in parts] == [False] * 4
        assert card(pilot, "labels") == "English"
        assert card(pilot, "counts") == "yours"


async def test_markup_and_sequences_in_a_persona_are_plain_text() -> None:
    write_persona(
        ADA.replace("name: Ada", 'name: "[red]Zyxx[/red]\\e[31m"')
        .replace("is a", "[b]is[/b] a")
        .replace("Good day.", "'[link=file:///etc/passwd]y[/link]'")
    )
    async with LibraryApp().run_test(size=(200, 50)) as pilot:
        await read(pilot)
        await pilot.press(*"zyxx")
        await until(pilot, lambda: on_card(pilot) == "ada")
        assert "[red]Zyxx[/red]  cartographer" in rows(pilot)
        assert "Ada [b]is[/b] a mathematician." in rows(pilot)
        assert card(pilot, "name") == "[red]Zyxx[/red]"
        assert card(pilot, "greeting") == "[link=file:///etc/passwd]y[/link]"


async def test_a_book_for_a_description_does_not_stop_the_library() -> None:
    write_persona(ADA.replace("Ada is a mathematician.", "endless " * 24_000))
    async with LibraryApp().run_test(size=WIDE) as pilot:
        await read(pilot)
        await pilot.press(*"cartographer")
        await until(pilot, lambda: on_card(pilot) == "ada")
        assert card(pilot, "description").endswith("endless…")


# What goes wrong


async def test_a_broken_persona_file_is_told_above_the_list() -> None:
    write_persona("id: eve\nname: Eve\ndescription: x\n'[x]': y\n", "eve.yaml")
    async with LibraryApp().run_test(size=(200, 40)) as pilot:
        await read(pilot)
        assert "eve.yaml, line 4: unknown key '[x]'" in notes(pilot)
        assert "eve" not in cast(pilot)


async def test_many_broken_files_leave_room_for_the_list() -> None:
    for number in range(12):
        write_persona("id: [", f"broken-{number}.yaml")
    async with LibraryApp().run_test(size=(200, 40)) as pilot:
        await read(pilot)
        assert notes(pilot).count("broken-") == 3
        assert "And 9 more; see “rolellm persona list”." in notes(pilot)


async def test_a_defect_while_the_cast_is_read_is_told_and_the_app_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken() -> Cast:
        raise ZeroDivisionError("by [nought]")

    monkeypatch.setattr(library_module, "list_personas", broken)
    app = LibraryApp()
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.screen is app.library and app.library.query("#notes"))
        await until(pilot, lambda: "ZeroDivisionError: by [nought]" in notes(pilot))
        assert app.is_running


# The keys


async def test_the_library_offers_its_keys() -> None:
    async with LibraryApp().run_test() as pilot:
        await read(pilot)
        await until(pilot, lambda: pilot.app.screen.query(Footer))
        assert {"Talk", "Card", "Import", "Filter", "Setup"} <= keys_offered(pilot)


def test_every_key_of_the_library_says_what_it_does() -> None:
    from rolellm_tui.screens.import_card import ImportScreen
    from rolellm_tui.screens.start_with import StartScreen
    from rolellm_tui.screens.welcome import WelcomeScreen

    bindings = [
        binding
        for screen in (library_module.LibraryScreen, ImportScreen, StartScreen, WelcomeScreen)
        for binding in screen.BINDINGS
        if isinstance(binding, Binding)
    ]
    ids = [binding.id for binding in bindings]
    assert len(ids) > 15
    assert None not in ids
    assert len(set(ids)) == len(ids)
    assert all(binding.tooltip for binding in bindings if binding.show)
    assert all(len(binding.description.split()) == 1 for binding in bindings)


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.core
def test_a_narrow_library_looks_as_it_did(snap_compare: SnapCompare) -> None:
    write_persona()
    write_persona(EVE, "eve.yaml")

    async def narrow(pilot: Pilot[Any]) -> None:
        await read(pilot)
        await pilot.press(*"cartographer", "down")
        await until(pilot, lambda: cast(pilot) == ["ada", "eve"])
        await carded(pilot)

    assert snap_compare(LibraryApp(), run_before=narrow, terminal_size=NARROW)


def test_a_wide_library_looks_as_it_did(snap_compare: SnapCompare) -> None:
    write_persona(EVE, "eve.yaml")

    async def look(pilot: Pilot[Any]) -> None:
        await read(pilot)
        await pilot.press(*"zythum")
        await until(pilot, lambda: on_card(pilot) == "eve")

    assert snap_compare(LibraryApp(["eve"]), run_before=look, terminal_size=WIDE)


def test_a_card_over_the_list_looks_as_it_did(snap_compare: SnapCompare) -> None:
    write_persona(EVE, "eve.yaml")

    async def look(pilot: Pilot[Any]) -> None:
        await read(pilot)
        await pilot.press(*"zythum")
        await until(pilot, lambda: on_card(pilot) == "eve")
        await pilot.press("f3")
        await until(pilot, lambda: shelf(pilot) == (False, True))

    assert snap_compare(LibraryApp(), run_before=look, terminal_size=NARROW)
