"""Differences between cards: each is told once, in its place, and nothing else is."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any
from unicodedata import east_asian_width

import pytest
from helpers.cards import based, book, entry, png, v2, v3
from helpers.shared_cards import shared_card
from helpers.strange_cards import json_objects, patient, strange_cards
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.cards.card import Card
from rolellm_agents.cards.diff import Change, diff, side_by_side
from rolellm_agents.cards.json_text import json_path
from rolellm_agents.cards.png import plain_picture
from rolellm_agents.cards.reading import read_cards

ENTRIES = "data.character_book.entries"


def told(old: Card, new: Card) -> list[tuple[str, str, Any, Any]]:
    return [(one.where, one.kind, one.old, one.new) for one in diff(old, new)]


def lore(*entries: dict[str, Any]) -> Card:
    return Card(v2(character_book=book(*entries)))


def tags(*some: Any) -> Card:
    return Card(v2(tags=[*some]))


def asset(type_: str, name: str, uri: str = "ccdefault:") -> dict[str, Any]:
    return {"type": type_, "uri": uri, "name": name, "ext": "png"}


NEW = entry(keys=["fog"], content="Fog.")
LAMP, OIL, SEA = (entry(keys=[key], content=key * 3) for key in ("lamp", "oil", "sea"))


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (Card(v2()), Card(v2(name="Bea")), [("data.name", "changed", "Ada", "Bea")]),
        (Card(v2()), Card(v2(voice=None)), [("data.voice", "added", None, None)]),
        (Card(v2(voice=None)), Card(v2()), [("data.voice", "removed", None, None)]),
        (Card(v2(a=1, b=2)), Card(v2(b=2, a=1)), []),
        (Card(v2(a=1)), Card(v2(a="1")), [("data.a", "changed", 1, "1")]),
        (Card(v2(a=1)), Card(v2(a=1.0)), [("data.a", "changed", 1, 1.0)]),
        (Card(v2(a=1)), Card(v2(a=True)), [("data.a", "changed", 1, True)]),
        (Card(v2(a=[])), Card(v2(a={})), [("data.a", "changed", [], {})]),
        (
            Card(v2(**{"a b": {"c": 1}})),
            Card(v2(**{"a b": {"c": 2}})),
            [("data['a b'].c", "changed", 1, 2)],
        ),
        (tags("a", "b"), tags("x", "a", "b"), [("data.tags[0]", "added", None, "x")]),
        (tags("x", "a", "b"), tags("a", "b"), [("data.tags[0]", "removed", "x", None)]),
        (tags("a", "b", "c"), tags("a", "B", "c"), [("data.tags[1]", "changed", "b", "B")]),
        (
            tags("a", "b", "c"),
            tags("x", "a", "B", "c"),
            [("data.tags[0]", "added", None, "x"), ("data.tags[2]", "changed", "b", "B")],
        ),
        (
            tags("a", "b", "c"),
            tags("c", "a", "b"),
            [("data.tags", "changed", ["a", "b", "c"], ["c", "a", "b"])],
        ),
        (tags([], "a"), tags("a", []), [("data.tags", "changed", ["[]", "a"], ["a", "[]"])]),
        (tags("a", "a"), tags("a"), [("data.tags[1]", "removed", "a", None)]),
        (tags(1), tags("1"), [("data.tags[0]", "changed", 1, "1")]),
    ],
)
def test_objects_values_and_lists(old: Card, new: Card, changes: list[tuple[str, str, Any, Any]]) -> None:
    assert told(old, new) == changes


def named(number: int, one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "id": number}


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (lore(LAMP, OIL), lore(NEW, LAMP, OIL), [(f"{ENTRIES}[0]", "added", None, NEW)]),
        (lore(LAMP, OIL, SEA), lore(LAMP, SEA), [(f"{ENTRIES}[1]", "removed", OIL, None)]),
        (  # one in front, and another written anew
            lore(LAMP, OIL),
            lore(NEW, LAMP, {**OIL, "content": "Herring."}),
            [
                (f"{ENTRIES}[0]", "added", None, NEW),
                (f"{ENTRIES}[2].content", "changed", "oiloiloil", "Herring."),
            ],
        ),
        (  # the id counts more than the keys
            lore(named(1, LAMP), named(2, OIL)),
            lore(named(2, LAMP), named(1, OIL)),
            [
                (ENTRIES, "changed", ["1", "2"], ["2", "1"]),
                (f"{ENTRIES}[0].keys[0]", "changed", "oil", "lamp"),
                (f"{ENTRIES}[0].content", "changed", "oiloiloil", "lamplamplamp"),
                (f"{ENTRIES}[1].keys[0]", "changed", "lamp", "oil"),
                (f"{ENTRIES}[1].content", "changed", "lamplamplamp", "oiloiloil"),
            ],
        ),
        (lore(named(1, LAMP)), lore(named(7, LAMP)), [(f"{ENTRIES}[0].id", "changed", 1, 7)]),
        (lore(named(1, LAMP)), lore({**LAMP, "id": "1"}), [(f"{ENTRIES}[0].id", "changed", 1, "1")]),
        (  # another id, and other keys: another entry in the same place
            lore(named(1, LAMP)),
            lore(named(2, OIL)),
            [
                (f"{ENTRIES}[0]", "removed", named(1, LAMP), None),
                (f"{ENTRIES}[0]", "added", None, named(2, OIL)),
            ],
        ),
        *(  # the name holds where the keys are the same
            (
                lore({**LAMP, name: "a"}, {**LAMP, name: "b"}),
                lore({**LAMP, name: "b", "content": "B."}, {**LAMP, name: "a", "content": "A."}),
                [
                    (ENTRIES, "changed", ["a", "b"], ["b", "a"]),
                    (f"{ENTRIES}[0].content", "changed", "lamplamplamp", "B."),
                    (f"{ENTRIES}[1].content", "changed", "lamplamplamp", "A."),
                ],
            )
            for name in ("name", "comment")
        ),
        (  # what is found by its content is not found again by its id
            lore(named(1, LAMP), named(1, OIL)),
            lore(named(1, LAMP)),
            [(f"{ENTRIES}[1]", "removed", named(1, OIL), None)],
        ),
        (  # one that has an id is not the one without in its place
            lore(named(1, LAMP)),
            lore(OIL),
            [(f"{ENTRIES}[0]", "removed", named(1, LAMP), None), (f"{ENTRIES}[0]", "added", None, OIL)],
        ),
        (  # nor by having no name and no keys, as others have none
            lore(*({**one, "keys": []} for one in (LAMP, OIL))),
            lore(*({**one, "keys": []} for one in (NEW, LAMP, SEA))),
            [
                (f"{ENTRIES}[0]", "added", None, {**NEW, "keys": []}),
                (f"{ENTRIES}[2].content", "changed", "oiloiloil", "seaseasea"),
            ],
        ),
        (  # without id, name and the same keys it is the place
            lore(LAMP, OIL),
            lore(LAMP, {**OIL, "keys": ["whale"]}),
            [(f"{ENTRIES}[1].keys[0]", "changed", "oil", "whale")],
        ),
        (  # nothing to know them by, and still one change
            lore(*({**one, "keys": []} for one in (LAMP, OIL))),
            lore(*({**one, "keys": []} for one in (NEW, LAMP, OIL))),
            [(f"{ENTRIES}[0]", "added", None, {**NEW, "keys": []})],
        ),
        (
            Card({"name": "Ada", "character_book": book(LAMP)}),
            Card({"name": "Ada", "character_book": book(named(3, OIL), LAMP)}),
            [("character_book.entries[0]", "added", None, named(3, OIL))],
        ),
    ],
)
def test_lore_entries(old: Card, new: Card, changes: list[tuple[str, str, Any, Any]]) -> None:
    assert told(old, new) == changes


def test_assets_are_known_by_type_and_name() -> None:
    old = Card(v3(assets=[asset("icon", "main"), asset("emotion", "joy", "embeded://a")]))
    new = Card(v3(assets=[asset("emotion", "joy", "embeded://b"), asset("icon", "other")]))
    assert told(old, new) == [
        ("data.assets[0]", "removed", asset("icon", "main"), None),
        ("data.assets[0].uri", "changed", "embeded://a", "embeded://b"),
        ("data.assets[1]", "added", None, asset("icon", "other")),
    ]


def test_a_picture_with_another_card_in_it_is_the_same_picture() -> None:
    old, new = png(("chara", based(v2()))), png(("ccv3", based(v3())), ("Software", b"x"))
    assert diff(Card(v2(), old), Card(v2(), new)) == []


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (png(), plain_picture(91, 40, 40, 4, 6), "changed"),
        (png(), None, "removed"),
        (None, png(), "added"),
        (b"\xff\xd8\xff1", b"\xff\xd8\xff2", "changed"),
        (png()[:-6], png(), "changed"),
        (png()[:-6], png()[:-7], "changed"),
    ],
)
def test_another_picture(old: bytes | None, new: bytes | None, kind: str) -> None:
    (change,) = diff(Card(v2(), old), Card(v2(), new))
    assert (change.where, change.kind) == ("image", kind)
    assert change.old != change.new
    assert {change.old is None, change.new is None} == ({False} if kind == "changed" else {True, False})


@patient
@given(strange_cards())
def test_no_card_differs_from_itself(card: Card) -> None:
    assert diff(card, Card(copy.deepcopy(card.document), card.image)) == []


def content(card: Card) -> str:
    return json.dumps(card.document, sort_keys=True)


@patient
@given(strange_cards(), strange_cards())
def test_every_difference_is_told_and_truly(old: Card, new: Card) -> None:
    old, new = Card(old.document), Card(new.document)
    changes = diff(old, new)
    assert (changes == []) == (content(old) == content(new))
    before, after = dict(members("", old.document)), dict(members("", new.document))
    # The path of what was removed runs through the new places of what it was in.
    for change in changes:
        if change.kind == "added":
            assert after[change.where] is change.new
        elif change.kind == "removed":
            assert any(value is change.old for value in before.values())
        elif not isinstance(after[change.where], list) or not isinstance(change.old, list):
            assert after[change.where] is change.new


@patient
@given(json_objects(), json_objects())
def test_no_document_is_too_strange(old: dict[str, Any], new: dict[str, Any]) -> None:
    for change in diff(Card(old), Card(new)):
        assert not any(
            "\n" in left + right or "\x1b" in left + right for left, right in side_by_side(change, 20)
        )


def members(where: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield where, value
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from members(json_path(where, step), inner)


@patient
@given(st.lists(st.integers(0, 3), max_size=6), st.integers(0, 6), st.booleans())
def test_an_entry_put_in_anywhere_is_one_change(contents: list[int], at: int, with_ids: bool) -> None:
    entries = [
        entry(keys=[], content=f"{one}", **({"id": number} if with_ids else {}))
        for number, one in enumerate(contents)
    ]
    at = min(at, len(entries))
    more = [*entries[:at], NEW, *entries[at:]]
    assert told(lore(*entries), lore(*more)) == [(f"{ENTRIES}[{at}]", "added", None, NEW)]
    assert told(lore(*more), lore(*entries)) == [(f"{ENTRIES}[{at}]", "removed", NEW, None)]


def shown(old: Any, new: Any, width: int = 40, kind: Any = "changed") -> list[tuple[str, str]]:
    return side_by_side(Change("data.description", kind, old, new), width)


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        ("a cat sat", "a dog sat", [("a [-cat-] sat", "a {+dog+} sat")]),
        ("a cat sat", "a big grey dog sat", [("a [-cat-] sat", "a {+big grey dog+} sat")]),
        ("a cat", "a cat!", [("a cat", "a cat{+!+}")]),
        ("a  cat", "a cat", [("a[-  -]cat", "a{+ +}cat")]),
        ("我喜欢猫", "我喜欢狗", [("我喜欢[-猫-]", "我喜欢{+狗+}")]),
        ("a\nb", "c\nd", [("[-a-]", "{+c+}"), ("[-b-]", "{+d+}")]),
        ("one\ntwo", "one\nthree", [("one", "one"), ("[-two-]", "{+three+}")]),
        ("a\nb", "x y\nz\na\nb", [("a", "{+x y"), ("", "z"), ("", "+}a"), ("b", "b")]),
        (1, "1", [("1", '{+"+}1{+"+}')]),
        (None, "", [("[-null-]", '{+""+}')]),
        (["a"], [], [("[[-", "[]"), ('  "a"', ""), ("-]]", "")]),
        ("\x1b[31m", "", [("[-\\x1b[31m-]", "")]),
        ("a\r\nb", "a\nb", [("a[-\\r-]", "a"), ("b", "b")]),
    ],
)
def test_two_columns(old: Any, new: Any, rows: list[tuple[str, str]]) -> None:
    assert shown(old, new) == rows


def test_what_was_added_or_removed_has_no_marks() -> None:
    assert shown(None, "a cat", kind="added") == [("", "a cat")]
    assert shown("a cat", None, kind="removed") == [("a cat", "")]
    assert shown(None, None, kind="added") == [("", "null")]


def test_lines_are_broken_at_spaces_and_long_words_anywhere() -> None:
    rows = shown("the lighthouse keeper", None, 10, "removed")
    assert [left for left, _ in rows] == ["the", "lighthouse", "keeper"]
    assert [left for left, _ in shown("abcdefg hi", None, 4, "removed")] == ["abcd", "efg", "hi"]
    assert [left for left, _ in shown("我喜欢猫", None, 5, "removed")] == ["我喜", "欢猫"]
    assert shown("abc", None, 1, "removed") == [("ab", ""), ("c", "")]
    assert shown(None, "abc", 1, "added") == [("", "ab"), ("", "c")]


def test_rows_of_both_columns_begin_together_after_each_line_break() -> None:
    rows = shown("short\nlast", "a very long line that is not short\nlast", 12)
    assert len(rows) > 3
    assert rows[-1] == ("last", "last")


WORDS = st.text(st.sampled_from("ab ,\n猫狗é"), max_size=60)


@patient
@given(WORDS, WORDS, st.integers(2, 30))
def test_columns_fit_and_lose_nothing(old: str, new: str, width: int) -> None:
    rows = shown(old, new, width)
    for side, text in enumerate((old, new)):
        cells = [row[side] for row in rows]
        assert all(sum(1 + (east_asian_width(one) == "W") for one in cell) <= width for cell in cells)
        bare = re.sub(r"\[-|-\]|\{\+|\+\}", "", "".join("".join(cells).split()))
        assert bare == "".join(text.split())


def test_a_long_text_is_shown_without_marks() -> None:
    old = "a b " * 10_000
    rows = shown(old + "cat", old + "dog", 80)
    assert rows[-1] == ("cat", "dog")
    assert not any("[-" in left or "{+" in right for left, right in rows)


def test_two_versions_of_a_card_of_other_people() -> None:
    (card,) = read_cards(shared_card("default_Seraphina.png"))
    changed: Any = copy.deepcopy(card.document)
    changed["data"]["character_book"]["entries"].insert(0, NEW)
    changed["data"]["description"] += " She hums."
    changes = diff(card, Card(changed, card.image))
    assert [(change.where, change.kind) for change in changes] == [
        ("data.description", "changed"),
        (f"{ENTRIES}[0]", "added"),
    ]
    rows = side_by_side(changes[0], 60)
    assert [right for left, right in rows if left != right][-1].endswith("{+ She hums.+}")
