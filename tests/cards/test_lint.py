"""The linter finds what it says it finds, in its place, and nothing in a clean card."""

from typing import Any

import pytest
from helpers.cards import based, book, entry, png, v2, v3
from helpers.shared_cards import shared_card
from helpers.strange_cards import json_objects, patient, strange_cards
from hypothesis import given

from rolellm_agents.cards.card import Card
from rolellm_agents.cards.json_text import printable
from rolellm_agents.cards.lint.lint import RULES, lint, tokens_by_part
from rolellm_agents.cards.reading import read_cards

V1 = {
    "name": "Ada",
    "description": "{{char}} keeps the lamp.",
    "personality": "",
    "scenario": "",
    "first_mes": "Hm.",
    "mes_example": "",
}
PLACE = "data.character_book.entries[0]"


def lore(*entries: dict[str, Any], **fields: Any) -> Card:
    """A V3 card with these entries."""
    return Card(v3(character_book=book(*({"use_regex": False, **one} for one in entries), **fields)))


def content(text: str, **fields: Any) -> Card:
    return lore(entry(content=text, **fields))


def keys(*some: str, **fields: Any) -> Card:
    return lore(entry(keys=[*some], use_regex=True, **fields))


def asset(
    type_: str = "icon", uri: str = "ccdefault:", name: str = "main", ext: str = "png"
) -> dict[str, Any]:
    return {"type": type_, "uri": uri, "name": name, "ext": ext}


def assets(*some: dict[str, Any], **files: bytes) -> Card:
    return Card(v3(assets=[*some]), files=files)


def without(document: dict[str, Any], *path: Any) -> dict[str, Any]:
    inner: Any = document
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return document


CASES: list[tuple[str, str, Card]] = [
    *(("field-missing", name, Card(without(dict(V1), name))) for name in V1 if name != "name"),
    *(("field-missing", f"data.{name}", Card(without(v2(), "data", name))) for name in v2()["data"]),
    ("field-missing", "data.group_only_greetings", Card(without(v3(), "data", "group_only_greetings"))),
    ("field-missing", "spec_version", Card(without(v2(), "spec_version"))),
    ("field-missing", "spec", Card(without(v2(), "spec"))),
    ("field-missing", "data", Card(without(v3(), "data"))),
    ("field-missing", f"{PLACE}.insertion_order", lore(without(entry(), "insertion_order"))),
    ("field-missing", f"{PLACE}.use_regex", Card(v3(character_book=book(entry())))),
    (
        "field-missing",
        "data.character_book.extensions",
        Card(v2(character_book={"entries": [], "name": "The rock"})),
    ),
    ("field-missing", "data.assets[0].ext", assets(without(asset(), "ext"))),
    (
        "field-missing",
        "data.character_book.entries['7'].keys",
        Card(v2(character_book=book() | {"entries": {"7": without(entry(), "keys")}})),
    ),
    (
        "field-missing",
        "character_book.entries[0].keys",
        Card({**V1, "character_book": book(without(entry(), "keys"))}),
    ),
    ("field-null", "scenario", Card({**V1, "scenario": None})),
    ("field-null", "data.character_book", Card(v2(character_book=None))),
    ("field-null", f"{PLACE}.content", lore(entry(content=None))),
    ("field-type", "data.name", Card(v2(name=1))),
    ("field-type", "data.tags", Card(v2(tags="sea, lamp"))),
    ("field-type", "data.tags", Card(v2(tags=["sea", 1]))),
    ("field-type", "data.alternate_greetings", Card(v2(alternate_greetings="Again?"))),
    ("field-type", "data.creation_date", Card(v3(creation_date="today"))),
    ("field-type", "data.creation_date", Card(v3(creation_date=True))),
    ("field-type", "data.creator_notes_multilingual", Card(v3(creator_notes_multilingual={"de": 1}))),
    ("field-type", "data.creator_notes_multilingual", Card(v3(creator_notes_multilingual=["x"]))),
    ("field-type", "data.character_book.entries", Card(v2(character_book=book() | {"entries": {}}))),
    ("field-type", "data.character_book.entries", Card(v2(character_book=book() | {"entries": ["lamp"]}))),
    ("field-type", f"{PLACE}.position", lore(entry(position="below"))),
    ("field-type", f"{PLACE}.enabled", lore(entry(enabled=1))),
    ("field-type", f"{PLACE}.id", lore(entry(id=True))),
    ("field-type", f"{PLACE}.id", lore(entry(id=[1]))),
    ("field-type", "data.assets", Card(v3(assets={}))),
    ("field-type", "data", Card({"spec": "chara_card_v2", "spec_version": "2.0", "data": []})),
    ("spec-unknown", "spec", Card({**v2(), "spec": "chara_card_v9"})),
    ("spec-unknown", "spec", Card({**V1, "spec": ""})),
    ("spec-version", "spec_version", Card({**v2(), "spec_version": "1.0"})),
    ("spec-version", "spec_version", Card({**v2(), "spec_version": "2"})),
    ("spec-version", "spec_version", Card({**v3(), "spec_version": "2.0"})),
    ("spec-version", "spec_version", Card({**v3(), "spec_version": "new"})),
    ("spec-newer", "spec_version", Card({**v3(), "spec_version": "3.1"})),
    ("own-field", "voice", Card({**v2(), "voice": 1})),
    ("own-field", "data.voice", Card(v2(voice=1))),
    ("own-field", "data.avatar", Card(v2(avatar="none"))),
    ("own-field", "data.nickname", Card(v2(nickname="A"))),
    ("own-field", "data.character_book.voice", lore(voice=1)),
    ("own-field", f"{PLACE}['the voice']", lore(entry(**{"the voice": 1}))),
    ("own-field", "data.assets[0].size", assets({**asset(), "size": 1})),
    ("asset-main", "data.assets", assets(asset(name="a"), asset(name="b"))),
    ("asset-main", "data.assets", assets(asset(), asset())),
    ("asset-main", "data.assets", assets(asset("background"), asset("background"))),
    ("asset-scheme", "data.assets[0].uri", assets(asset(uri="ftp://example.org/a.png"))),
    ("asset-scheme", "data.assets[0].uri", assets(asset(uri="embedded://a.png"), **{"a.png": b""})),
    ("asset-scheme", "data.assets[0].uri", assets(asset(uri=""))),
    ("asset-lost", "data.assets[0].uri", assets(asset(uri="embeded://a.png"), **{"A.png": b""})),
    ("asset-lost", "data.assets[0].uri", assets(asset(uri="__asset:0"))),
    ("asset-lost", "data.assets[0].uri", assets(asset(uri="data:image/png,plain"))),
    ("asset-ext", "data.assets[0].ext", assets(asset(uri="embeded://a", ext="PNG"), a=b"")),
    ("asset-ext", "data.assets[0].ext", assets(asset(uri="embeded://a", ext=".png"), a=b"")),
    ("asset-remote", "data.assets[0].uri", assets(asset(uri="HTTPS://example.org/a.png"))),
    ("image-damaged", "image", Card(v2(), png()[:-6])),
    ("image-texts", "image", Card(v2(), png(("chara", based(v2())), ("Chara", based(v2()))))),
    ("book-unreadable", "data.character_book", lore(character_book={})),
    ("decorator-unknown", f"{PLACE}.content", content("@@dpeth 4\nThe lamp.")),
    ("decorator-unknown", f"{PLACE}.content", content("@@probability 50\nThe lamp.")),
    ("decorator-unknown", f"{PLACE}.content", content("@@Depth 4\nThe lamp.")),
    ("decorator-value", f"{PLACE}.content", content("@@depth four\nThe lamp.")),
    ("decorator-value", f"{PLACE}.content", content("@@dpeth 4\n@@@depth four\nThe lamp.")),
    ("decorator-late", f"{PLACE}.content", content("The lamp.\n@@depth 4")),
    ("decorator-late", f"{PLACE}.content", content(" @@depth 4\nThe lamp.")),
    ("decorator-sillytavern", f"{PLACE}.content", content("@@depth 4\nThe lamp.")),
    ("key-regex", f"{PLACE}.keys", keys("/(/", "/lamp/")),
    ("key-regex", f"{PLACE}.keys", keys("/a)))/")),
    ("key-regex", f"{PLACE}.secondary_keys", keys("/lamp/", selective=True, secondary_keys=["/[/"])),
    ("key-regex", f"{PLACE}.content", content("@@additional_keys /(/\nThe lamp.")),
    ("key-slow", f"{PLACE}.keys", keys("/(a+)+$/")),
    ("key-slow", f"{PLACE}.keys", keys("/(a+(b))*/")),
    ("key-slow", f"{PLACE}.keys", keys("/((a+)b)*/")),
    ("key-slow", f"{PLACE}.keys", keys("/(?:x(\\w*|b)){2,}/i")),
    ("key-plain", f"{PLACE}.use_regex", keys("lamp")),
    ("entry-keys", f"{PLACE}.keys", lore(entry(keys=[]))),
    ("entry-keys", f"{PLACE}.keys", lore(entry(keys=[" "]))),
    ("entry-never", PLACE, lore(entry(extensions={"probability": 0}))),
    ("entry-never", PLACE, content("@@probability 0\nThe lamp.", constant=True)),
    ("entry-never", PLACE, content("@@dont_activate\nThe lamp.")),
    (
        "entry-never",
        PLACE,
        lore(entry(extensions={"delay_until_recursion": True, "exclude_recursion": True})),
    ),
    ("entry-never", PLACE, content("@@is_greeting 3\nThe lamp.")),
    ("entry-never", PLACE, keys("/(/")),
    ("entry-id", "data.character_book.entries[1].id", lore(entry(id=1), entry(id="1", insertion_order=2))),
    ("entry-orders", "data.character_book.entries", lore(entry(), entry())),
    ("text-control", "data.name", Card(v2(name="A\x07da"))),
    ("text-control", "data.extensions.a.source", Card(v2(extensions={"a": {"source": "\x07"}}))),
    ("text-control", f"{PLACE}.keys[0]", lore(entry(keys=["la\x85mp"]))),
    ("text-surrogate", "data.tags[0]", Card(v2(tags=["\ud83d"]))),
    ("text-mojibake", "data.description", Card(v2(description="It isnâ€™t."))),
    ("text-mojibake", "data.description", Card(v2(description="It isn\xe2\x80\x99t."))),
    ("text-mojibake", "data.description", Card(v2(description="cafÃ©"))),
    ("text-mojibake", "data.description", Card(v2(description="ðŸ˜€"))),
    ("text-mojibake", "data.description", Card(v2(description="你好吗".encode().decode("latin-1")))),
    ("text-mojibake", "data.description", Card(v2(description="Привет".encode().decode("latin-1")))),
    ("remote-media", "data.first_mes", Card(v2(first_mes="![x](https://example.org/a.png)"))),
    ("remote-media", "data.creator_notes", Card(v2(creator_notes="<IMG src = '//example.org/a'>"))),
    ("remote-media", "data.extensions.a.css", Card(v2(extensions={"a": {"css": "url( http://x.y/z)"}}))),
    ("remote-link", "data.creator_notes", Card(v2(creator_notes="[me](https://example.org/me)"))),
    ("macro-unknown", "data.first_mes", Card(v2(first_mes="{{moon_phase}}"))),
    ("macro-unknown", "description", Card({**V1, "description": "{{moon_phase}}"})),
    ("macro-unknown", "data.alternate_greetings[1]", Card(v2(alternate_greetings=["", "{{moon_phase}}"]))),
    ("macro-unknown", f"{PLACE}.content", content("{{moon_phase}}")),
    ("literal-name", "data.mes_example", Card(v2(mes_example="<START>\nada : Hm.\n{{user}}: Oh?"))),
    ("literal-name", "data.mes_example", Card(v3(nickname="The keeper", mes_example="The Keeper: Hm."))),
    ("literal-name", "mes_example", Card({**V1, "mes_example": "You：喂"})),
    ("lost-in-v2", "data", Card(v3(nickname="A"))),
    ("lost-in-v2", "data", content("@@depth 4\nThe lamp.")),
    ("notes-empty", "data.creator_notes", Card(v3(creator_notes=" \n"))),
]


@pytest.mark.parametrize(("rule", "where", "card"), CASES)
def test_each_rule_finds_its_fault(rule: str, where: str, card: Card) -> None:
    found = [one for one in lint(card) if (one.rule, one.where) == (rule, where)]
    assert [one.level for one in found] == [RULES[rule]], lint(card)
    (message,) = (one.message for one in found)
    assert message.startswith(f"{where} ")
    assert message.endswith(".")
    assert "\n" not in message


def test_each_rule_has_a_case() -> None:
    assert {rule for rule, _, _ in CASES} == RULES.keys()


ICONS = (asset(), asset(name="smile", uri="embeded://s.png"))
SOUND: list[tuple[str, Card]] = [
    ("a V1 card", Card(V1)),
    ("a V1 card with more", Card({**V1, "avatar": "none", "create_date": "2023"})),
    ("a V2 card", Card(v2())),
    ("a V3 card", Card(v3())),
    ("what SillyTavern writes at the root", Card({**v2(), **V1, "talkativeness": "0.5", "fav": False})),
    ("a portrait with both versions", Card(v3(), png(("chara", based(v2())), ("ccv3", based(v3()))))),
    ("a portrait that is no PNG", Card(v2(), b"\xff\xd8\xff")),
    ("a book", lore(entry(id=1, name="a"), entry(id=2, insertion_order=20), token_budget=100)),
    ("one entry", lore(entry())),
    ("an entry of V2", Card(v2(character_book=book(entry())))),
    ("expressions as keys", keys("/lamp|oil/i", "/(ab+)c*/", "/[(a+)]+/", "/(a\\+)+/", "/(a|b){2,3}/")),
    ("an empty entry that is off", lore(entry(keys=[], enabled=False, extensions={"probability": 0}))),
    ("an entry without keys that is always active", lore(entry(keys=[], constant=True))),
    (
        "an entry without keys that is found by meaning",
        lore(entry(keys=[], extensions={"vectorized": True})),
    ),
    ("two that are off, of one order", lore(entry(enabled=False), entry(enabled=False))),
    ("several scripts", Card(v2(description="„Spaß“, OLÉ… «là», café – 你好, привет 😀"))),
    ("what we keep of its former shape", Card(v2(extensions={"rolellm/origin": {"a": "\x07 http://x.y"}}))),
    ("braces that are known", Card(v2(first_mes="{{random:a,b}} {{// note}} {{original}}"))),
    ("a macro for people", Card(v2(creator_notes="Say {{moon_phase}}."))),
    ("speakers as macros", Card(v2(mes_example="<START>\n{{char}}: Hm: Ada\n{{user}}: You? Ada?"))),
]


@pytest.mark.parametrize(("what", "card"), SOUND)
def test_nothing_is_found_where_nothing_is_wrong(what: str, card: Card) -> None:
    assert lint(card) == [], what


@pytest.mark.parametrize(
    ("rule", "card"),
    [
        ("decorator-unknown", content("@@dpeth 4\n@@@depth 4\nThe lamp.")),
        ("decorator-unknown", content("@@instruct_depth 4\nThe lamp.")),
        ("decorator-value", content("@@position pt_mine\n@@instruct_depth 4\n@@role user\nThe lamp.")),
        ("decorator-late", content("@@depth 4\nThe lamp. @@depth 4\nme@@example\n@@ -1 +1 @@")),
        ("decorator-sillytavern", content("@@activate\nThe lamp.")),
        ("entry-keys", lore(entry(keys=[], content="@@activate\nThe lamp."))),
        ("entry-never", content("@@activate\n@@dont_activate\nThe lamp.")),
        ("entry-never", content("@@is_greeting 2\nThe lamp.")),
        ("entry-never", keys("/(/", "/lamp/")),
        ("entry-never", lore(entry(extensions={"probability": 1}))),
        ("entry-never", lore(entry(extensions={"exclude_recursion": True, "delay_until_recursion": 0}))),
        ("entry-never", lore(entry(extensions={"delay_until_recursion": 1}))),
        ("entry-never", keys("/(/", constant=True)),
        ("asset-main", assets(*ICONS)),
        ("asset-main", assets(asset(name="alone"), asset("background"), asset("background", name="b"))),
        ("asset-ext", assets(asset(ext="PNG"))),
        ("asset-scheme", assets(asset(), asset(uri="https://example.org/a.png"))),
        ("asset-scheme", lore(entry(uri="ftp://example.org"))),
        ("spec-version", Card({**v2(), "spec": "mine", "spec_version": "1.0"})),
        ("spec-newer", Card({**v2(), "spec_version": "3.1"})),
        ("key-slow", keys("/(a+){x}/")),
        ("text-mojibake", Card(v2(description="ÂÀ ÃÉ Ã\ufffd"))),
        ("literal-name", Card(v2(name="", mes_example=": Hm."))),
        ("asset-scheme", assets(asset(uri="data:image/png;base64,AAAA"), asset(uri="__asset:0"))),
        ("asset-lost", assets(*ICONS, asset(uri="data:image/png;base64,AAAA"), **{"s.png": b""})),
        ("remote-link", Card(v2(first_mes="![x](https://example.org/a.png)"))),
        ("remote-link", Card(v3(source=["https://example.org/card"]))),
        ("key-plain", Card(v2(character_book=book(entry(use_regex=True))))),
    ],
)
def test_near_misses(rule: str, card: Card) -> None:
    assert rule not in {one.rule for one in lint(card)}


def test_errors_come_first() -> None:
    levels = [
        one.level for one in lint(Card(v3(creator_notes="", name=None, description="\x07", nickname="A")))
    ]
    assert levels == ["error", "warning", "hint", "hint"]


@pytest.mark.parametrize(("length", "letters", "more"), [(61, "abcd", 1), (100, "abcde", 2)])
def test_a_message_shows_no_more_than_the_start(length: int, letters: str, more: int) -> None:
    (found,) = lint(Card(v2(first_mes="".join(f"{{{{{letter * length}}}}}" for letter in letters))))
    assert ", ".join(f"“{letter * 60}…”" for letter in "abc") + f" and {more} more" in found.message


def test_what_is_short_and_what_is_three_is_shown_whole() -> None:
    (found,) = lint(Card(v2(first_mes="".join(f"{{{{{letter * 60}}}}}" for letter in "abc"))))
    assert ", ".join(f"“{letter * 60}”" for letter in "abc") in found.message
    assert "more" not in found.message


def test_of_a_card_without_data_only_that_is_told() -> None:
    found = lint(Card({"spec": "chara_card_v3", "spec_version": "3.0"}))
    assert [(one.rule, one.where) for one in found if one.level == "error"] == [("field-missing", "data")]


@pytest.mark.parametrize(
    ("card", "rule", "said"),
    [
        (Card(v2(description="It isnâ€™t.")), "text-mojibake", "“â€™” for “’”"),
        (Card(v2(nickname="A")), "own-field", "is a field of V3 in a V2 card"),
        (Card(v2(voice="A")), "own-field", "is in no specification"),
        (Card(v3(voice="A")), "own-field", "is in no specification"),
        (Card({**v2(), "assets": []}), "own-field", "is in no specification"),
        (Card({**v2(), "spec_version": "1"}), "spec-version", "must be “2.0” where spec is chara_card_v2"),
        (Card({**v3(), "spec_version": "1"}), "spec-version", "must be “3.0” where spec is chara_card_v3"),
        (assets(asset(uri="embedded://a")), "asset-scheme", "which is spelled “embeded://” in cards."),
        (assets(asset(uri="ftp://a")), "asset-scheme", "which is not a URI of V3."),
    ],
)
def test_what_a_message_says(card: Card, rule: str, said: str) -> None:
    assert [said in one.message for one in lint(card) if one.rule == rule] == [True]


def test_a_long_expression_does_not_hang_the_linter() -> None:
    card = keys("/" + "(" * 200_000 + "/", "/" + "[" * 200_000 + "/", "![" * 100_000)
    assert "key-regex" in {one.rule for one in lint(card)}


@patient
@given(strange_cards())
def test_no_card_is_too_strange(card: Card) -> None:
    for found in lint(card):
        assert found.level == RULES[found.rule]
        assert found.where.isprintable()
        assert printable(found.message).splitlines() == [found.message]


@patient
@given(json_objects())
def test_no_document_is_too_strange(document: dict[str, Any]) -> None:
    lint(Card(document))
    assert tokens_by_part(Card(document), len).keys() == tokens_by_part(Card({}), len).keys()


def test_tokens_by_part() -> None:
    card = Card(
        v3(
            description="d" * 10,
            personality="p" * 20,
            scenario="s" * 30,
            first_mes="f" * 40,
            alternate_greetings=["a" * 2, "b" * 3],
            group_only_greetings=["c" * 5],
            mes_example="e" * 50,
            system_prompt="y" * 60,
            post_history_instructions="h" * 70,
            character_book=book(
                entry(content="@@depth 4\n" + "k" * 7, constant=True),
                entry(content="@@activate\n" + "k" * 11),
                entry(content="k" * 13),
                entry(content="k" * 17, enabled=False, constant=True),
            ),
        )
    )
    assert tokens_by_part(card, len) == {
        "description": 10,
        "personality": 20,
        "scenario": 30,
        "greetings": 50,
        "examples": 50,
        "system_prompt": 60,
        "post_history_instructions": 70,
        "lorebook_constant": 18,
        "lorebook_whole": 31,
        "total": 10 + 20 + 30 + 60 + 70 + 18,
    }


def test_empty_texts_have_no_tokens() -> None:
    """A tokenizer that begins each text with a mark would count them."""
    assert sum(tokens_by_part(Card({"name": "Ada"}), lambda text: len(text) + 1).values()) == 0


@patient
@given(strange_cards())
def test_tokens_add_up(card: Card) -> None:
    parts = tokens_by_part(card, len)
    apart = ("total", "greetings", "examples", "lorebook_whole")
    assert parts["total"] == sum(count for name, count in parts.items() if name not in apart)
    assert parts["lorebook_constant"] <= parts["lorebook_whole"]


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("default_Seraphina.png", {"field-missing", "entry-orders"}),
        ("fixtures/basic/json/hybrid_format_v2.json", {"field-missing"}),
        ("fixtures/basic/png/baseline_v3_small.png", {"field-missing"}),
        ("fixtures/basic/charx/baseline_v3_small.charx", {"field-missing", "lost-in-v2"}),
        ("fixtures/extended/charx/v3_many_assets_01.charx", {"field-missing", "lost-in-v2"}),
        ("fixtures/basic/voxta/character_only_small.voxpkg", set()),
        ("characterglm_zh.json", {"notes-empty"}),
        ("agnai_robot.native.json", {"notes-empty"}),
        ("pygmalion_classic.native.json", {"notes-empty"}),
    ],
)
def test_cards_of_other_people(name: str, rules: set[str]) -> None:
    assert {found.rule for card in read_cards(shared_card(name)) for found in lint(card)} == rules
