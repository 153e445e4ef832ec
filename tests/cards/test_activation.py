import json
import time
from dataclasses import replace
from typing import Any

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.cards import (
    Activation,
    LoreScene,
    LoreSettings,
    LoreState,
    ScanMessage,
    activate,
    expressions_note,
)
from rolellm_agents.cards.lore import activation as engine
from rolellm_agents.cards.lore.keys import PatternSearch
from rolellm_agents.cards.lore.lorebook import (
    LOGICS,
    POSITIONS,
    Lorebook,
    LoreEntry,
    Position,
    read_lorebook,
)
from rolellm_agents.cards.lore.trace import LoreTrace, Why

DRAGON = LoreEntry("dragon", "Dragons breathe fire.", ("dragon",))
RECURSIVE = LoreSettings(recursive=True)


def chat(*texts: str) -> tuple[ScanMessage, ...]:
    """Messages of Bob, who is the user, and Ann, in turn; Bob speaks last."""
    names = ("Bob", "Ann") if len(texts) % 2 else ("Ann", "Bob")
    return tuple(
        ScanMessage(names[at % 2], text, "user" if names[at % 2] == "Bob" else "assistant")
        for at, text in enumerate(texts)
    )


def fire(
    *entries: LoreEntry,
    said: tuple[str, ...] = ("A dragon!",),
    settings: LoreSettings = LoreSettings(),  # noqa: B008
    state: LoreState = LoreState(),  # noqa: B008
    book: Lorebook = Lorebook(name="lore"),  # noqa: B008
    **scene: Any,
) -> Activation:
    """What is active of one book."""
    return activate([replace(book, entries=entries)], LoreScene(chat(*said), **scene), settings, state)


def active(found: Activation) -> list[str]:
    return [trace.uid for trace in found.traces if trace.active]


def trace(found: Activation, uid: str) -> LoreTrace:
    (one,) = [each for each in found.traces if each.uid == uid]
    return one


def why(found: Activation, uid: str = "dragon") -> Why:
    return trace(found, uid).why


# Keys


@pytest.mark.parametrize(
    ("logic", "said", "expected"),
    [
        ("and_any", "dragon", False),
        ("and_any", "dragon fire", True),
        ("and_any", "dragon fire gold", True),
        ("and_all", "dragon fire", False),
        ("and_all", "dragon fire gold", True),
        ("not_any", "dragon", True),
        ("not_any", "dragon fire", False),
        ("not_all", "dragon", True),
        ("not_all", "dragon fire", True),
        ("not_all", "dragon fire gold", False),
        ("not_any", "fire", False),
        ("and_any", "fire gold", False),
    ],
)
def test_secondary_keys(logic: Any, said: str, expected: bool) -> None:
    entry = replace(DRAGON, secondary_keys=("fire", "gold"), logic=logic)
    found = fire(entry, said=(said,))
    assert bool(active(found)) is expected
    if not expected:
        assert why(found) == ("secondary_keys" if "dragon" in said else "no_key")


@pytest.mark.parametrize("logic", LOGICS)
def test_without_secondary_keys_their_logic_does_not_matter(logic: Any) -> None:
    assert active(fire(replace(DRAGON, logic=logic))) == ["dragon"]
    assert active(fire(replace(DRAGON, logic=logic, secondary_keys=(" ",)))) == ["dragon"]


def test_a_trace_names_the_key_and_the_newest_message_that_has_it() -> None:
    entry = LoreEntry("d", "x", ("wyrm", "Dragon"))
    said = ("dragon", "dragons", "a dragon", "no")
    found = trace(fire(entry, said=said, settings=LoreSettings(scan_depth=9)), "d")
    assert (found.why, found.key, found.message, found.round, found.tokens) == ("key", "Dragon", 2, 0, 1)
    assert found.sentence() == "“d” is active: its key “Dragon” was found in message 3."


def test_a_regular_expression_names_its_message_too() -> None:
    entry = LoreEntry("d", "x", ("/dr.gon/",))
    said = ("dragon", "no", "a dragon", "no")
    assert trace(fire(entry, said=said, settings=LoreSettings(scan_depth=9)), "d").message == 2


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (r"/\x01Ann:[^\x01]*hello/", 1),
        (r"/\x01Bob:[^\x01]*hello/", None),
        (r"/\x01{{char}}:[^\x01]*hello/", 1),
        (r"/well[^]*\x01Ann/", 2),
        (r"/Ann[^]*well/", None),
        (r"/^\x01Bob: well$/m", 2),
    ],
)
def test_a_regular_expression_sees_speakers_and_the_newest_message_first(
    expression: str, message: int | None
) -> None:
    entry = LoreEntry("d", "x", (expression,))
    found = fire(
        entry,
        said=("hi", "hello", "well"),
        settings=LoreSettings(scan_depth=2),
        substitute=lambda text: text.replace("{{char}}", "Ann"),
    )
    assert trace(found, "d").active is (message is not None)
    assert trace(found, "d").message == message


@pytest.mark.parametrize(
    ("entry", "globally", "said", "expected"),
    [
        ({}, {}, "DRAGONS", True),
        ({}, {"case_sensitive": True}, "DRAGONS", False),
        ({"case_sensitive": False}, {"case_sensitive": True}, "DRAGONS", True),
        ({"case_sensitive": True}, {}, "DRAGONS", False),
        ({}, {"whole_words": True}, "dragons", False),
        ({"whole_words": False}, {"whole_words": True}, "dragons", True),
        ({"whole_words": True}, {}, "dragons", False),
        ({"whole_words": True}, {}, "a dragon.", True),
        ({"content": "@@match_full_word\nx"}, {}, "dragons", False),
        ({"content": "@@match_partial_word\nx", "whole_words": True}, {}, "dragons", True),
    ],
)
def test_an_entry_decides_how_its_keys_are_compared(
    entry: Any, globally: Any, said: str, expected: bool
) -> None:
    found = fire(replace(DRAGON, **entry), said=(said,), settings=LoreSettings(**globally))
    assert bool(active(found)) is expected


def test_macros_are_replaced_in_keys_and_in_content() -> None:
    entry = LoreEntry("a", "{{char}} is old.", ("{{char}}",))
    scene: dict[str, Any] = {"substitute": lambda text: text.replace("{{char}}", "Smaug")}
    (fired,) = fire(entry, said=("smaug",), **scene).fired
    assert fired.content == "Smaug is old."
    assert fired.tokens == len("Smaug is old.") // 4 + 1


def test_names_of_speakers_are_looked_through_when_the_settings_say_so() -> None:
    entry = LoreEntry("bob", "x", ("bob:",))
    assert active(fire(entry)) == ["bob"]
    assert active(fire(entry, settings=LoreSettings(include_names=False))) == []


@pytest.mark.parametrize(
    ("key", "reason", "sentence"),
    [
        ("/(/", "bad_regex", "“/(/” is no valid regular expression"),
        ("/dragonfly/", "no_key", "none of its keys was found"),
    ],
)
def test_a_trace_tells_of_a_bad_expression(key: str, reason: Why, sentence: str) -> None:
    found = fire(LoreEntry("a", "x", ("wyrm", key)))
    assert why(found, "a") == reason
    assert sentence in trace(found, "a").sentence()
    assert active(fire(LoreEntry("a", "x", (key, "dragon")))) == ["a"]


def test_a_trace_tells_when_the_time_ran_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PatternSearch, "IN_ALL", 0)
    found = fire(LoreEntry("a", "x", ("/dragon/",)), DRAGON)
    assert (active(found), why(found, "a"), trace(found, "a").key) == (
        ["dragon"],
        "regex_timeout",
        "/dragon/",
    )
    assert trace(found, "a").sentence().endswith("and the time ran out for “/dragon/”.")


def test_too_many_expressions_are_told_by_each_trace_and_once_for_the_book() -> None:
    within = [LoreEntry(f"e{at}", "x", (f"/d{at}/", "dragon")) for at in range(PatternSearch.MOST)]
    assert expressions_note([Lorebook(tuple(within))]) == ""
    beyond = LoreEntry("last", "x", ("/dragon/",), order=-1)
    off = LoreEntry("off", "x", ("/never/",), enabled=False)
    found = fire(*within, beyond, off, settings=LoreSettings(budget_percent=1_000))
    assert trace(found, "last").sentence() == (
        "“last” is not active: none of its keys was found, and “/dragon/” was not searched, since the "
        "lorebooks have too many regular expressions."
    )
    assert expressions_note([Lorebook((*within, beyond, off))]) == (
        "The lorebook has 2,001 regular expressions with 8,896 characters; at most 2,000 with 200,000 "
        "characters are searched at each message, so some keys are never found."
    )


def test_lone_surrogates_in_names_do_no_harm() -> None:
    odd = LoreEntry("\ud800", "x", ("dragon",), probability=50, groups=("\udfff",))
    other = LoreEntry("b", "x", ("dragon",), groups=("\udfff",))
    found = activate([Lorebook((odd, other), name="\ud800")], LoreScene(chat("A dragon!")))
    assert len(found.fired) <= 1


def test_hostile_expressions_do_not_keep_others_from_being_active() -> None:
    hostile = [LoreEntry(f"h{at}", "x", (f"/({'x' * at}+x+)+y/", "/(a+)+$/")) for at in range(1, 60)]
    begun = time.process_time()
    found = fire(*hostile, DRAGON, said=("dragon " + "x" * 9_999 + "yx" * 99 + "a" * 9_999 + "!",))
    assert time.process_time() - begun < 10
    assert active(found)[-1] == "dragon"


# How far back


@pytest.mark.parametrize(
    ("entry", "book", "globally", "reached"),
    [
        (None, None, 2, 2),
        (None, None, 0, 0),
        (None, 3, 2, 3),
        (1, 3, 2, 1),
        (0, 3, 2, 0),
        (99, None, 2, 4),
        (-1, None, 2, 0),
    ],
)
def test_the_entry_before_the_book_before_the_settings_says_how_far_back(
    entry: int | None, book: int | None, globally: int, reached: int
) -> None:
    said = ("one", "two", "three", "four")
    entries = [LoreEntry(word, "x", (word,), scan_depth=entry) for word in reversed(said)]
    found = fire(
        *entries, said=said, book=Lorebook(scan_depth=book), settings=LoreSettings(scan_depth=globally)
    )
    assert active(found) == list(reversed(said))[:reached]
    decorated = [replace(each, content="@@scan_depth 1\nx") for each in entries]
    assert active(fire(*decorated, said=said, book=Lorebook(scan_depth=book))) == ["four"]


def test_sources_beside_the_chat_are_for_entries_that_look_there() -> None:
    there = replace(DRAGON, uid="there", match_sources=("scenario",))
    elsewhere = replace(DRAGON, uid="elsewhere", match_sources=("creator_notes",))
    found = fire(DRAGON, there, elsewhere, said=("hi",), sources={"scenario": "A dragon's den."})
    assert active(found) == ["there"]
    assert trace(found, "there").message is None
    assert trace(found, "there").sentence().endswith("was found in a text outside the chat.")
    expression = replace(there, keys=("/dragon/",), scan_depth=0)
    assert active(fire(expression, said=("hi",), sources={"scenario": "A dragon's den."})) == ["there"]


def test_min_activations_look_further_back_until_there_are_enough() -> None:
    said = ("gold", "elf", "no", "dragon", "no", "no")
    entries = [LoreEntry(word, "x", (word,)) for word in ("gold", "elf", "dragon")]
    for wanted, expected in [
        (0, []),
        (1, ["dragon"]),
        (2, ["elf", "dragon"]),
        (9, ["gold", "elf", "dragon"]),
    ]:
        found = fire(*entries, said=said, settings=LoreSettings(min_activations=wanted))
        assert active(found) == expected
    for limit, expected in [(3, ["dragon"]), (2, []), (5, ["elf", "dragon"])]:
        deep = LoreSettings(min_activations=9, min_activations_depth_max=limit)
        assert active(fire(*entries, said=said, settings=deep)) == expected
    steps = LoreSettings(min_activations=9, max_recursion_steps=5)
    assert active(fire(*entries, said=said, settings=steps)) == []


def test_looking_further_back_does_not_widen_what_an_entry_or_book_says() -> None:
    said = ("dragon", "no", "no", "no")
    wide = LoreSettings(min_activations=9)
    assert active(fire(replace(DRAGON, scan_depth=2), said=said, settings=wide)) == []
    assert active(fire(DRAGON, said=said, settings=wide, book=Lorebook(scan_depth=2))) == []


def test_looking_further_back_stops_at_messages_that_others_looked_at_already() -> None:
    said = ("no", "dragon", "no", "no")
    deep = LoreEntry("deep", "x", ("nothing",), scan_depth=4)
    settings = LoreSettings(scan_depth=1, min_activations=1)
    assert active(fire(deep, DRAGON, said=said, settings=settings)) == ["dragon"]


def test_looking_further_back_leaves_other_entries_content_out() -> None:
    both = LoreEntry("both", "x", ("elf",), secondary_keys=("gold",))
    feeds = LoreEntry("feeds", "There is gold.", ("dragon",))
    settings = LoreSettings(scan_depth=1, min_activations=2, recursive=True)
    assert active(fire(both, feeds, said=("elf", "dragon"), settings=settings)) == ["feeds"]


# Recursion

CHAIN = (
    LoreEntry("a", "The dragon has gold.", ("dragon",)),
    LoreEntry("b", "Gold is for elves.", ("gold",)),
    LoreEntry("c", "Elves like trees.", ("elves",)),
)


def test_content_activates_other_entries_round_by_round() -> None:
    found = fire(*CHAIN, settings=RECURSIVE)
    assert [(one.uid, one.round, one.message) for one in found.traces] == [
        ("a", 0, 0),
        ("b", 1, None),
        ("c", 2, None),
    ]
    assert trace(found, "c").sentence() == (
        "“c” is active: its key “elves” was found in another entry's content (round 2)."
    )
    assert active(fire(*CHAIN)) == ["a"]


@pytest.mark.parametrize(("steps", "expected"), [(1, "a"), (2, "ab"), (3, "abc"), (0, "abc")])
def test_recursion_steps_can_be_limited(steps: int, expected: str) -> None:
    found = fire(*CHAIN, settings=LoreSettings(recursive=True, max_recursion_steps=steps))
    assert "".join(active(found)) == expected


def test_a_chain_of_all_entries_ends_at_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_ROUNDS", 3)
    chain = [LoreEntry(str(at), f"k{at + 1}x", (f"k{at}x",)) for at in range(9)]
    assert len(active(fire(*chain, said=("k0x",), settings=RECURSIVE))) == 4


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"prevent_recursion": True}, "a"),
        ({"content": "@@unrecursive\ngold"}, "a"),
        ({"content": "@@recursive\ngold", "prevent_recursion": True}, "abc"),
    ],
)
def test_an_entry_can_keep_its_content_from_others(entry: Any, expected: str) -> None:
    found = fire(replace(CHAIN[0], **entry), *CHAIN[1:], settings=RECURSIVE)
    assert "".join(active(found)) == expected


@pytest.mark.parametrize("entry", [{"exclude_recursion": True}, {"content": "@@no_recursive_search\nx"}])
def test_an_entry_can_be_deaf_to_others_content(entry: Any) -> None:
    deaf = replace(CHAIN[1], **entry)
    found = fire(CHAIN[0], deaf, settings=RECURSIVE)
    assert (active(found), why(found, "b")) == (["a"], "no_key")
    assert active(fire(CHAIN[0], deaf, said=("gold",), settings=RECURSIVE)) == ["b"]


@pytest.mark.parametrize(
    ("settings", "book", "expected"),
    [(True, False, "a"), (False, True, "abc"), (True, None, "abc"), (False, None, "a")],
)
def test_a_book_decides_about_its_recursion(settings: bool, book: bool | None, expected: str) -> None:
    found = fire(*CHAIN, settings=LoreSettings(recursive=settings), book=Lorebook(recursive=book))
    assert "".join(active(found)) == expected


def test_content_marked_recursive_reaches_books_that_do_not_forbid_it() -> None:
    first = replace(CHAIN[0], content="@@recursive\ngold elves")
    assert "".join(active(fire(first, *CHAIN[1:]))) == "abc"
    assert "".join(active(fire(first, *CHAIN[1:], book=Lorebook(recursive=False)))) == "a"


def test_entries_of_another_book_do_not_read_where_recursion_is_off() -> None:
    books = [Lorebook(CHAIN[:1], "on", recursive=True), Lorebook(CHAIN[1:2], "off")]
    assert active(activate(books, LoreScene(chat("dragon")))) == ["a"]
    assert active(activate(books, LoreScene(chat("dragon")), RECURSIVE)) == ["a", "b"]


def test_delayed_entries_wait_for_recursion_and_for_their_level() -> None:
    late = replace(CHAIN[1], delay_until_recursion=1)
    found = fire(CHAIN[0], late, said=("dragon gold",), settings=RECURSIVE)
    assert [(one.uid, one.round) for one in found.traces] == [("a", 0), ("b", 1)]
    found = fire(late, said=("gold",), settings=RECURSIVE)
    assert (active(found), why(found, "b")) == ([], "recursion_only")
    levels = [replace(DRAGON, uid=str(level), delay_until_recursion=level) for level in (7, 2, 4)]
    found = fire(CHAIN[0], *levels, settings=RECURSIVE)
    assert [(one.uid, one.round) for one in found.traces] == [("a", 0), ("7", 5), ("2", 1), ("4", 3)]


def test_a_later_level_is_tried_when_nothing_else_activates() -> None:
    levels = [
        LoreEntry(str(level), "", (f"level {level}",), delay_until_recursion=level) for level in (1, 2)
    ]
    assert active(fire(*levels, said=("level 2",), settings=RECURSIVE)) == ["2"]
    assert active(fire(levels[0], said=("level 1",), settings=RECURSIVE)) == []


def test_scanned_content_can_differ_from_the_prompts() -> None:
    hidden = replace(CHAIN[0], content="{{hidden_key:gold}}Fire.")
    scene: dict[str, Any] = {
        "substitute": lambda text: text.replace("{{hidden_key:gold}}", ""),
        "substitute_scanned": lambda text: text.replace("{{hidden_key:gold}}", "gold"),
    }
    found = fire(hidden, CHAIN[1], settings=RECURSIVE, **scene)
    assert active(found) == ["a", "b"]
    assert found.fired[0].content == "Fire."
    del scene["substitute_scanned"]
    assert active(fire(hidden, CHAIN[1], settings=RECURSIVE, **scene)) == ["a"]


# What forbids an entry


@pytest.mark.parametrize(
    ("entry", "scene", "reason"),
    [
        ({"enabled": False}, {}, "disabled"),
        ({"enabled": False, "content": "@@activate\nx"}, {}, "disabled"),
        ({"character_names": ("Ann",)}, {"character": "Bob"}, "filtered"),
        ({"character_names": ("Ann",)}, {"character": "Ann"}, "key"),
        ({"character_tags": ("elf",)}, {"character_tags": ("tall", "elf")}, "key"),
        ({"character_tags": ("elf",)}, {"character_tags": ("tall",)}, "filtered"),
        ({"character_names": ("Ann",), "character_tags": ("elf",)}, {"character_tags": ("elf",)}, "key"),
        ({"character_names": ("Ann",), "character_exclude": True}, {"character": "Ann"}, "filtered"),
        ({"character_names": ("Ann",), "character_exclude": True}, {"character": "Bob"}, "key"),
        ({"character_exclude": True}, {"character": "Ann"}, "key"),
        ({"triggers": ("continue", "quiet")}, {}, "trigger"),
        ({"triggers": ("continue", "normal")}, {}, "key"),
        ({"triggers": ("continue",)}, {"trigger": "continue"}, "key"),
        ({"delay": 2}, {}, "delay"),
        ({"delay": 1}, {}, "key"),
        ({"content": "@@dont_activate\nx", "constant": True}, {}, "dont_activate"),
        ({"content": "@@dont_activate\n@@activate\nx", "keys": ()}, {}, "activate"),
        ({"content": "@@activate\n@@activate_only_after 9\nx"}, {}, "activate"),
        ({"content": "@@is_greeting 1\nx"}, {"greeting": 0}, "condition"),
        ({"content": "@@is_greeting 1\nx"}, {"greeting": 1}, "key"),
        ({"content": "@@is_greeting 1\nx"}, {}, "key"),
        ({"content": "@@is_user_icon hat\nx", "constant": True}, {}, "condition"),
        ({"content": "@@is_user_icon hat\nx"}, {"user_icon": "hat"}, "key"),
        ({"constant": True, "keys": ()}, {}, "constant"),
        ({"keys": ()}, {}, "no_key"),
        ({"keys": (" ",)}, {}, "no_key"),
    ],
)
def test_what_forbids_an_entry_and_what_demands_it(entry: Any, scene: Any, reason: Why) -> None:
    assert why(fire(replace(DRAGON, **entry), **scene)) == reason


@pytest.mark.parametrize(
    ("line", "replies", "expected"),
    [
        ("@@activate_only_after 2", 1, False),
        ("@@activate_only_after 2", 2, True),
        ("@@activate_only_every 3", 2, False),
        ("@@activate_only_every 3", 3, True),
        ("@@activate_only_every 3", 4, False),
        ("@@activate_only_every 3", 6, True),
    ],
)
def test_decorators_count_the_assistants_messages_and_the_greeting(
    line: str, replies: int, expected: bool
) -> None:
    greeting, asked = ScanMessage("Ann", "hi", "assistant"), ScanMessage("Bob", "a dragon", "user")
    scene = LoreScene([*[greeting] * replies, asked])
    found = activate([Lorebook((replace(DRAGON, content=f"{line}\nx"),))], scene)
    assert bool(active(found)) is expected


@pytest.mark.parametrize(
    ("lines", "said", "expected"),
    [
        ("@@additional_keys fire,gold", "dragon", False),
        ("@@additional_keys fire,gold", "dragon gold", True),
        ("@@additional_keys fire\n@@additional_keys gold", "dragon gold", False),
        ("@@additional_keys fire\n@@additional_keys gold", "dragon gold fire", True),
        ("@@additional_keys /f.re/", "dragon fire", True),
        ("@@exclude_keys fire,gold", "dragon gold", False),
        ("@@exclude_keys fire,gold", "dragon", True),
        ("@@exclude_keys_all fire,gold", "dragon gold", True),
        ("@@exclude_keys_all fire,gold", "dragon gold fire", False),
    ],
)
def test_keys_in_decorators_are_conditions_of_constant_entries_too(
    lines: str, said: str, expected: bool
) -> None:
    for constant in (False, True):
        found = fire(replace(DRAGON, content=f"{lines}\nx", constant=constant), said=(said,))
        assert bool(active(found)) is expected
        assert expected or why(found) == "condition_keys"


# Timed effects


def over_time(entry: LoreEntry, lengths: dict[int, bool]) -> list[Why]:
    """Why the entry is active or not in chats of some length, whose newest message has its key or not."""
    state = LoreState()
    reasons: list[Why] = []
    for length, spoken in lengths.items():
        said = ("no",) * (length - 1) + ("dragon" if spoken else "no",)
        found = fire(entry, said=said, state=state, settings=LoreSettings(scan_depth=1))
        reasons.append(why(found))
        state = LoreState.from_json(json.loads(json.dumps(found.state.to_json())))
        assert state == found.state
    return reasons


def test_sticky_then_cooldown_then_free_again() -> None:
    entry = replace(DRAGON, sticky=3, cooldown=2, delay=2, probability=100)
    lengths = dict.fromkeys([1, 2, 3, 4, 5, 6, 7], True)
    assert over_time(entry, lengths) == ["delay", "key", "sticky", "sticky", "cooldown", "cooldown", "key"]


def test_a_sticky_entry_needs_no_key_no_luck_and_is_not_prolonged() -> None:
    entry = replace(DRAGON, sticky=2)
    assert over_time(entry, {1: True, 2: False, 3: False}) == ["key", "sticky", "no_key"]
    found = fire(replace(entry, probability=100))
    unlucky = replace(entry, probability=0)
    moved = LoreState.from_json(fire(unlucky, state=found.state).state.to_json())
    assert moved.sticky == {}  # edited, so that the effect is gone
    sure = replace(entry, content="@@probability 100\nx")
    state = fire(sure).state
    assert state.sticky["lore.dragon"].end == 3
    later = fire(sure, said=("no", "dragon"), state=state)
    assert later.state.sticky["lore.dragon"].end == 3


def test_sticky_beats_chance_and_recursion_flags() -> None:
    entry = replace(DRAGON, sticky=5, probability=50, delay_until_recursion=1)
    lucky = next(s for s in range(99) if active(fire(entry, CHAIN[0], settings=RECURSIVE, seed=s)) != ["a"])
    state = fire(entry, CHAIN[0], settings=RECURSIVE, seed=lucky).state
    unlucky = next(
        s for s in range(99) if active(fire(entry, CHAIN[0], settings=RECURSIVE, seed=s)) == ["a"]
    )
    assert why(fire(entry, said=("no", "no"), state=state, seed=unlucky)) == "sticky"


def test_a_cooldown_without_stickiness() -> None:
    entry = replace(DRAGON, cooldown=2)
    assert over_time(entry, dict.fromkeys([1, 2, 3, 4], True)) == ["key", "cooldown", "key", "cooldown"]


def test_removing_messages_ends_what_they_began() -> None:
    sticky, cooldown = replace(DRAGON, sticky=4), replace(DRAGON, cooldown=4)
    assert over_time(sticky, {5: True, 6: False}) == ["key", "sticky"]
    began = fire(sticky, said=("no", "no", "dragon")).state
    for length, expected in [(4, "sticky"), (3, "no_key"), (2, "no_key")]:
        assert why(fire(sticky, said=("no",) * length, state=began)) == expected
    began = fire(cooldown, said=("no", "no", "dragon")).state
    for length, expected in [(4, "cooldown"), (3, "key"), (2, "key")]:
        assert why(fire(cooldown, said=("dragon",) * length, state=began)) == expected


def test_a_cooldown_that_follows_stickiness_outlives_removed_messages() -> None:
    entry = replace(DRAGON, sticky=1, cooldown=3)
    state = fire(entry).state
    state = fire(entry, said=("no", "no"), state=state).state
    assert state.cooldown["lore.dragon"].protected
    assert why(fire(entry, said=("dragon",), state=state)) == "cooldown"
    assert why(fire(entry, said=("dragon",) * 5, state=state)) == "key"


def test_an_edited_entry_has_no_effects_and_a_missing_one_keeps_them() -> None:
    entry = replace(DRAGON, sticky=9)
    state = fire(entry).state
    assert fire(said=("no", "no"), state=state).state == state
    assert fire(said=("no",) * 10, state=state).state.sticky == {}
    assert why(fire(replace(entry, content="New."), said=("no", "no"), state=state)) == "no_key"
    assert why(fire(replace(entry, raw={"x": 1}), said=("no", "no"), state=state)) == "sticky"


def test_marks_of_v3_last_until_the_messages_are_gone() -> None:
    keeps = replace(DRAGON, content="@@keep_activate_after_match\n@@activate_only_every 1\nx")
    once = replace(DRAGON, content="@@dont_activate_after_match\nx")
    assert over_time(keeps, {1: True, 2: False, 9: False}) == ["key", "kept", "kept"]
    assert over_time(once, {1: True, 2: True, 9: True}) == ["key", "matched_before", "matched_before"]
    assert why(fire(once, said=("no", "dragon"), state=fire(once, said=("no", "dragon")).state)) == "key"
    assert why(fire(keeps, said=("no", "no"), state=fire(keeps, said=("no", "dragon")).state)) == "no_key"


def test_what_is_kept_needs_no_condition_any_more() -> None:
    entry = replace(DRAGON, content="@@keep_activate_after_match\n@@is_greeting 1\nx")
    state = fire(entry, greeting=1).state
    assert why(fire(entry, said=("no", "no"), greeting=0, state=state)) == "kept"


def test_the_given_state_stays_as_it_is() -> None:
    entry = replace(DRAGON, sticky=1, cooldown=1, content="@@keep_activate_after_match\nx")
    state = fire(entry).state
    before = json.dumps(state.to_json())
    fire(entry, said=("no", "dragon"), state=state)
    assert json.dumps(state.to_json()) == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    json_values
    | st.fixed_dictionaries(dict.fromkeys(("sticky", "cooldown", "kept", "barred"), json_values))
)
def test_any_json_is_a_state(document: Any) -> None:
    state = LoreState.from_json(document)
    assert LoreState.from_json(state.to_json()) == state
    assert active(fire(DRAGON, state=state)) == ["dragon"]


@pytest.mark.parametrize("document", [None, 1, "{}", [], {"sticky": 3, "kept": [1]}, {"cooldown": None}])
def test_bad_json_is_an_empty_state(document: Any) -> None:
    assert LoreState.from_json(document) == LoreState()


# Groups


def group(uid: str, **more: Any) -> LoreEntry:
    return LoreEntry(uid, "x", more.pop("keys", ("dragon",)), groups=more.pop("groups", ("g",)), **more)


def winners(*entries: LoreEntry, **more: Any) -> set[str]:
    return {"+".join(active(fire(*entries, seed=seed, **more))) for seed in range(40)}


def test_of_a_group_one_is_active_and_its_rivals_say_so() -> None:
    assert winners(group("a"), group("b"), group("c")) == {"a", "b", "c"}
    found = fire(group("a"), group("b"))
    (loser,) = [one for one in found.traces if not one.active]
    assert loser.why == "group"


def test_draws_go_by_weight() -> None:
    assert winners(group("a", group_weight=0), group("b")) == {"b"}
    assert winners(group("a", group_weight=-5), group("b", group_weight=0)) == {"a"}
    drawn = [
        active(fire(group("a", group_weight=300), group("b", group_weight=100), seed=seed))[0]
        for seed in range(400)
    ]
    assert 260 < drawn.count("a") < 340


def test_overriding_members_win_by_order() -> None:
    members = (group("a", order=500), group("b", group_override=True, order=1))
    assert winners(*members) == {"b"}
    assert winners(*members, group("c", group_override=True, order=2)) == {"c"}


def test_a_winner_removes_the_rivals_of_all_its_groups() -> None:
    both = group("both", groups=("g", "h"), group_override=True)
    assert winners(both, group("a"), group("b", groups=("h",)), group("c", groups=("i",))) == {"both+c"}
    assert winners(
        group("a", group_override=True), replace(both, group_override=False), group("b", groups=("h",))
    ) == {"a+b"}


def test_a_group_with_an_active_entry_is_closed() -> None:
    first = replace(CHAIN[0], groups=("g",))
    later = replace(CHAIN[1], groups=("g", "h"))
    found = fire(first, later, CHAIN[2], settings=RECURSIVE)
    assert (active(found), why(found, "b")) == (["a"], "group")


def test_a_sticky_member_keeps_its_group() -> None:
    keeps = group("keeps", sticky=9, keys=("gold",))
    state = fire(keeps, group("other"), said=("gold",)).state
    found = fire(keeps, group("other", group_override=True), said=("no", "dragon"), state=state)
    assert (active(found), why(found, "other")) == (["keeps"], "group")


SONGS = (
    group("cats", keys=("song", "sing", "black cat"), group_weight=1e9),
    group("ghosts", keys=("song", "sing", "ghosts"), group_weight=1e-9),
)


def test_group_scoring_prefers_the_most_keys() -> None:
    scoring = LoreSettings(group_scoring=True)
    ghosts = ("sing me a song of ghosts",)
    assert winners(*SONGS, said=ghosts) == {"cats"}
    assert winners(*SONGS, said=ghosts, settings=scoring) == {"ghosts"}
    assert winners(*SONGS, said=("sing me a song",), settings=scoring) == {"cats"}
    own = [replace(song, group_scoring=True) for song in SONGS]
    assert winners(*own, said=ghosts) == {"ghosts"}
    exempt = replace(SONGS[0], group_scoring=False)
    assert winners(exempt, SONGS[1], said=ghosts, settings=scoring) == {"cats"}


@pytest.mark.parametrize(
    ("logic", "secondary", "winner"),
    [
        ("and_any", ("fire", "gold", "tea"), "a"),
        ("and_all", ("fire", "gold"), "a"),
        ("not_any", ("tea", "rum"), "b"),
        ("not_all", ("fire", "gold", "tea"), "b"),
    ],
)
def test_secondary_keys_score_when_they_are_asked_for(
    logic: Any, secondary: tuple[str, ...], winner: str
) -> None:
    entry = group("a", secondary_keys=secondary, logic=logic, group_weight=1)
    rival = group("b", keys=("dragon", "fire"), group_weight=1e9)
    scoring = LoreSettings(group_scoring=True)
    assert winners(entry, rival, said=("dragon fire gold",), settings=scoring) == {winner}


# Chance


def test_chance_is_seeded_and_each_entrys_own() -> None:
    entry = replace(DRAGON, probability=50)
    results = [active(fire(entry, seed=seed)) for seed in range(200)]
    assert 70 < results.count(["dragon"]) < 130
    assert results == [active(fire(entry, seed=seed)) for seed in range(200)]
    beside = [active(fire(replace(entry, uid="x"), entry, seed=seed)) for seed in range(200)]
    assert [("dragon" in found) for found in beside] == [bool(found) for found in results]
    assert [("x" in found) for found in beside] != [bool(found) for found in results]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"probability": 0}, False),
        ({"probability": 100}, True),
        ({"probability": 0, "constant": True}, False),
        ({"probability": 100, "content": "@@probability 0\nx"}, False),
        ({"probability": 0, "content": "@@probability 100\nx"}, True),
    ],
)
def test_probability_is_a_percentage(entry: Any, expected: bool) -> None:
    for seed in range(30):
        found = fire(replace(DRAGON, **entry), seed=seed)
        assert bool(active(found)) is expected
        assert expected or why(found) == "probability"


def test_who_had_no_luck_has_none_in_later_rounds() -> None:
    unlucky = replace(CHAIN[0], uid="u", probability=0, keys=("dragon", "gold"))
    found = fire(CHAIN[0], unlucky, CHAIN[1], CHAIN[2], settings=RECURSIVE)
    assert (active(found), trace(found, "u").round) == (["a", "b", "c"], 0)


# Budget


def sized(uid: str, tokens: int, **more: Any) -> LoreEntry:
    return LoreEntry(uid, "x" * (4 * tokens), more.pop("keys", ("dragon",)), **more)


@pytest.mark.parametrize(
    ("percent", "cap", "context", "budget"),
    [(25, 0, 4096, 1024), (25, 100, 4096, 100), (25, 5000, 4096, 1024), (0, 0, 4096, 1), (25, 0, 10, 3)],
)
def test_the_budget_is_a_part_of_the_context(percent: float, cap: int, context: int, budget: int) -> None:
    settings = LoreSettings(budget_percent=percent, budget_cap=cap, context_tokens=context)
    assert fire(settings=settings).budget == budget


def test_the_settings_default_to_sillytaverns() -> None:
    assert LoreSettings() == LoreSettings(
        scan_depth=2,
        budget_percent=25,
        budget_cap=0,
        context_tokens=4096,
        recursive=False,
        case_sensitive=False,
        whole_words=False,
        include_names=True,
        group_scoring=False,
        min_activations=0,
        min_activations_depth_max=0,
        max_recursion_steps=0,
        compat="docs",
    )


def test_what_reaches_the_budget_is_too_much_already() -> None:
    tight = LoreSettings(budget_cap=100)
    assert fire(sized("a", 99), settings=tight).spent == 99
    found = fire(sized("a", 100), settings=tight)
    assert (active(found), why(found, "a"), trace(found, "a").tokens, found.spent) == ([], "budget", 100, 0)
    found = fire(sized("a", 60, order=3), sized("b", 40, order=2), sized("c", 1, order=1), settings=tight)
    assert (active(found), found.spent) == (["a"], 60)
    assert trace(found, "c").why == "budget"
    assert trace(found, "b").sentence() == "“b” is not active: there was no room left for its 40 tokens."


def test_a_full_budget_ends_recursion() -> None:
    big = sized("big", 99, keys=("dragon",), order=1)
    found = fire(
        replace(CHAIN[0], order=2), big, CHAIN[1], settings=LoreSettings(recursive=True, budget_cap=50)
    )
    assert active(found) == ["a"]


def test_entries_that_ignore_the_budget_are_active_all_the_same() -> None:
    found = fire(
        sized("a", 60, order=4),
        sized("b", 60, order=3),
        sized("c", 60, order=2, ignore_budget=True),
        sized("d", 1, order=1),
        settings=LoreSettings(budget_cap=100),
    )
    assert (active(found), found.spent) == (["a", "c"], 120)


@pytest.mark.parametrize(
    ("entries", "docs", "code"),
    [
        ([{"order": 1}, {"order": 2}], "1", "1"),
        ([{"order": 1, "constant": True}, {"order": 2}], "0", "1"),
        ([{"order": 1, "priority": 9}, {"order": 2, "priority": 3}], "0", "1"),
        ([{"order": 5}, {"order": 1, "priority": 9}], "1", "0"),
        ([{"content": "@@priority 9\n" + "x" * 240, "order": 1}, {"order": 2}], "0", "0"),
        ([{"content": "@@ignore_on_max_context\n" + "x" * 240, "priority": 9}, {"priority": 1}], "1", "1"),
        ([{"order": 2}, {"order": 2}], "0", "0"),
    ],
)
def test_whom_the_budget_serves_first(entries: list[Any], docs: str, code: str) -> None:
    made = [replace(sized(str(at), 60), **more) for at, more in enumerate(entries)]
    for compat, expected in (("docs", docs), ("st-1.12.6", code)):
        settings = LoreSettings(budget_cap=100, compat="docs" if compat == "docs" else "st-1.12.6")
        assert active(fire(*made, settings=settings)) == [expected]


def test_a_sticky_entry_is_served_before_constant_ones() -> None:
    sticky = sized("s", 60, sticky=9, keys=("gold",), order=1)
    state = fire(sticky, said=("gold",)).state
    constant = sized("c", 60, constant=True, order=9)
    found = fire(constant, sticky, said=("no", "no"), state=state, settings=LoreSettings(budget_cap=100))
    assert active(found) == ["s"]


def test_direct_matches_are_served_before_those_of_recursion() -> None:
    direct = sized("direct", 60, order=1)
    feeds = LoreEntry("feeds", "gold", ("dragon",), order=1)
    recursed = sized("recursed", 60, keys=("gold",), order=9)
    found = fire(recursed, direct, feeds, settings=LoreSettings(budget_cap=100, recursive=True))
    assert active(found) == ["direct", "feeds"]


def test_a_book_has_a_budget_of_its_own() -> None:
    entries = (sized("a", 6, order=3), sized("b", 5, order=2), sized("c", 1, order=1))
    for limit, expected in [(10, "a"), (11, "ab"), (12, "abc"), (0, "abc"), (-1, "abc"), (None, "abc")]:
        assert "".join(active(fire(*entries, book=Lorebook(token_budget=limit)))) == expected
    books = [Lorebook(entries, "one", token_budget=6), Lorebook(entries, "two", token_budget=11)]
    found = activate(books, LoreScene(chat("dragon")))
    assert [(one.book, one.uid) for one in found.traces if one.active] == [
        ("one", "a"),
        ("two", "a"),
        ("two", "b"),
    ]


def test_books_share_the_budget_or_are_served_in_turn() -> None:
    books = [Lorebook((sized("a", 60, order=1),), "one"), Lorebook((sized("b", 60, order=2),), "two")]
    scene = LoreScene(chat("dragon"))
    assert active(activate(books, scene, LoreSettings(budget_cap=100))) == ["b"]
    assert active(activate(books, scene, LoreSettings(budget_cap=100, evenly=False))) == ["a"]


def test_tokens_are_counted_by_whom_the_caller_names() -> None:
    found = activate(
        [Lorebook((DRAGON,))], LoreScene(chat("dragon")), count_tokens=lambda text: text.count("r")
    )
    assert (found.spent, found.fired[0].tokens) == (3, 3)


# What comes out


def test_fired_entries_stand_in_insertion_order() -> None:
    entries = [
        LoreEntry(uid, uid, ("dragon",), order=order)
        for uid, order in [("a", 3), ("b", 1), ("c", 2), ("d", 1)]
    ]
    assert [fired.entry.uid for fired in fire(*entries).fired] == ["b", "d", "c", "a"]


@pytest.mark.parametrize("content", ["", "  \n", "@@disable_ui_prompt system_prompt\n"])
def test_an_entry_without_content_is_active_and_puts_nothing_in(content: str) -> None:
    found = fire(replace(DRAGON, content=content))
    assert (active(found), found.fired) == (["dragon"], ())
    assert found.disabled_prompts == ({"system_prompt"} if "@@" in content else set())


def test_a_prompt_stays_on_when_its_entry_is_not_active() -> None:
    assert not fire(
        replace(DRAGON, content="@@disable_ui_prompt system_prompt"), said=("no",)
    ).disabled_prompts


@pytest.mark.parametrize(
    ("lines", "position", "depth", "role"),
    [
        ("@@activate", "after_examples", 3, "user"),
        ("@@depth 2", "at_depth", 2, "user"),
        ("@@end", "at_depth", 0, "user"),
        ("@@depth -1", "at_depth", 0, "user"),
        ("@@depth 99", "at_depth", 5, "user"),
        ("@@reverse_depth 1", "at_depth", 4, "user"),
        ("@@reverse_depth 99", "at_depth", 0, "user"),
        ("@@reverse_depth 1\n@@depth 2", "at_depth", 2, "user"),
        ("@@depth 2\n@@position before_desc", "before_char", 3, "user"),
        ("@@position personality", "after_char", 3, "user"),
        ("@@position pt_x\n@@@depth 1\n@@role assistant", "at_depth", 1, "assistant"),
    ],
)
def test_decorators_decide_where_content_goes(
    lines: str, position: Position, depth: int, role: str
) -> None:
    entry = replace(DRAGON, content=f"{lines}\n\nWords.", position="after_examples", depth=3, role="user")
    (fired,) = fire(entry, said=("no",) * 4 + ("dragon",)).fired
    assert (fired.content, fired.position, fired.depth, fired.role) == ("Words.", position, depth, role)


def test_expendable_entries_are_marked() -> None:
    found = fire(replace(DRAGON, content="@@ignore_on_max_context\nx"), replace(DRAGON, uid="b"))
    assert [fired.expendable for fired in found.fired] == [True, False]


def test_books_of_the_same_name_and_uids_are_kept_apart() -> None:
    sticky = replace(DRAGON, sticky=5)
    books = [
        Lorebook((sticky,), "lore"),
        Lorebook((replace(DRAGON, cooldown=5),), "lore"),
        Lorebook((DRAGON,), "x"),
    ]
    found = activate(books, LoreScene(chat("dragon")))
    assert [fired.book for fired in found.fired] == ["lore", "lore#2", "x"]
    assert (set(found.state.sticky), set(found.state.cooldown)) == ({"lore.dragon"}, {"lore#2.dragon"})
    later = activate(books, LoreScene(chat("no", "no")), state=found.state)
    assert [one.why for one in later.traces] == ["sticky", "cooldown", "no_key"]


def test_a_card_of_sillytaverns_works_as_it_is() -> None:
    book = {
        "entries": [
            {
                "id": 3,
                "keys": ["Eldoria"],
                "secondary_keys": ["war"],
                "selective": True,
                "use_regex": True,
                "content": "A forest.",
                "insertion_order": 5,
                "enabled": True,
                "position": "after_char",
                "extensions": {"selectiveLogic": 2, "position": 4, "depth": 1, "role": 2},
            }
        ]
    }
    scene = LoreScene(chat("What is eldoria?"))
    (fired,) = activate([read_lorebook(book)], scene).fired
    assert (fired.content, fired.position, fired.depth, fired.role) == (
        "A forest.",
        "at_depth",
        1,
        "assistant",
    )
    assert not activate([read_lorebook(book)], LoreScene(chat("War in eldoria?"))).fired


# Anything

words = st.sampled_from(
    ["dragon", "gold", "elf", "龙", "", " ", "/dr.g/i", "/(/", "/(a+)+$/", "{{x}}", "a"]
)
lines = st.sampled_from(
    [
        "@@activate",
        "@@dont_activate",
        "@@depth 2",
        "@@probability 50",
        "@@recursive",
        "@@unrecursive",
        "@@additional_keys gold",
        "@@exclude_keys elf",
        "@@keep_activate_after_match",
        "@@scan_depth 1",
        "@@dont_activate_after_match",
        "@@ignore_on_max_context",
        "@@activate_only_every 2",
        "dragon",
        "gold elf",
    ]
)
few = st.integers(-1, 4)
perhaps = st.none() | st.booleans()
any_entry = st.builds(
    LoreEntry,
    uid=st.just(""),
    content=st.lists(lines, max_size=4).map("\n".join),
    keys=st.lists(words, max_size=3).map(tuple),
    secondary_keys=st.lists(words, max_size=2).map(tuple),
    logic=st.sampled_from(LOGICS),
    enabled=st.booleans(),
    constant=st.booleans(),
    order=st.floats(-9, 9),
    priority=st.none() | st.floats(-9, 9),
    position=st.sampled_from(POSITIONS),
    case_sensitive=perhaps,
    whole_words=perhaps,
    scan_depth=st.none() | few,
    probability=st.floats(-10, 110),
    groups=st.lists(st.sampled_from("gh"), max_size=2).map(tuple),
    group_override=st.booleans(),
    group_weight=st.floats(-1, 100),
    group_scoring=perhaps,
    exclude_recursion=st.booleans(),
    prevent_recursion=st.booleans(),
    delay_until_recursion=few,
    sticky=few,
    cooldown=few,
    delay=few,
    ignore_budget=st.booleans(),
)


def numbered(entries: list[LoreEntry]) -> tuple[LoreEntry, ...]:
    return tuple(replace(entry, uid=str(at)) for at, entry in enumerate(entries))


any_book = st.builds(
    Lorebook,
    entries=st.lists(any_entry, max_size=6).map(numbered),
    name=st.sampled_from(["", "a", "b"]),
    scan_depth=st.none() | few,
    token_budget=st.none() | st.integers(-1, 9),
    recursive=perhaps,
)
any_settings = st.builds(
    LoreSettings,
    scan_depth=few,
    budget_cap=st.integers(-1, 12),
    recursive=st.booleans(),
    group_scoring=st.booleans(),
    min_activations=few,
    min_activations_depth_max=few,
    max_recursion_steps=few,
    compat=st.sampled_from(["docs", "st-1.12.6"]),
    evenly=st.booleans(),
)


@examples(1.5)
@given(
    st.lists(any_book, max_size=3),
    st.lists(st.lists(words, max_size=3).map(" ".join), max_size=5),
    any_settings,
    st.integers(0, 9),
)
def test_what_holds_for_any_books_and_any_chat(
    books: list[Lorebook], said: list[str], how: LoreSettings, seed: int
) -> None:
    state = LoreState()
    for length in (*range(len(said) + 1), len(said) // 2):
        scene = LoreScene(
            chat(*said[:length]), seed=seed, substitute=lambda text: text.replace("{{x}}", "gold")
        )
        found = activate(books, scene, how, state)
        assert found == activate(books, scene, how, state)
        assert [one.uid for one in found.traces] == [entry.uid for book in books for entry in book.entries]
        assert len({(one.book, one.uid) for one in found.traces}) == len(found.traces)
        awake = {(one.book, one.uid): one.tokens for one in found.traces if one.active}
        assert {
            (fired.book, fired.entry.uid): fired.tokens for fired in found.fired
        }.items() <= awake.items()
        assert found.spent == sum(awake.values())
        assert found.spent <= found.budget or any(fired.entry.ignore_budget for fired in found.fired)
        orders = [fired.entry.order for fired in found.fired]
        assert orders == sorted(orders)
        assert not any(fired.content.startswith("@@") for fired in found.fired)
        assert all(fired.entry.enabled for fired in found.fired)
        assert all(one.sentence().startswith(f"“{one.uid}” is ") for one in found.traces)
        assert LoreState.from_json(found.state.to_json()) == found.state
        state = found.state


@given(st.lists(any_entry, max_size=8).map(numbered), st.integers(0, 99))
def test_of_any_group_one_at_most_is_active(entries: tuple[LoreEntry, ...], seed: int) -> None:
    found = fire(*entries, settings=RECURSIVE, seed=seed, said=("dragon", "gold"))
    awake = set(active(found))
    for name in "gh":
        assert len([entry for entry in entries if entry.uid in awake and name in entry.groups]) <= 1
