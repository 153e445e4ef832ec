"""Macros of character cards: what they stand for, what stays, and what hostile texts cost."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rolellm_agents.cards import macros
from rolellm_agents.cards.macros import MacroScope, Purpose, substitute, unknown_macros

SCENE = MacroScope(
    char="Alice",
    user="Bob",
    persona="a sailor",
    description="a baker",
    personality="shy",
    scenario="at sea",
    mes_examples="Alice: Hm.",
    last_message="Yes.",
    last_user_message="No?",
    last_char_message="Oh!",
    now=datetime(2026, 3, 7, 15, 4, 5, tzinfo=UTC),
)
CREW = replace(SCENE, group=("Alice", "Cid", "Dot"), muted=("Cid",))
PURPOSES: tuple[Purpose, ...] = ("prompt", "scan", "display")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{char}} and {{user}}", "Alice and Bob"),
        ("{{CHAR}} {{User}} {{ user }}", "Alice Bob Bob"),
        ("<char> <bot> <user> <BOT> <USER> <Bot>", "Alice Alice Bob Alice Bob Alice"),
        ("{{persona}}, {{description}}, {{personality}}, {{scenario}}", "a sailor, a baker, shy, at sea"),
        (
            "{{mesExamples}}|{{lastMessage}}|{{lastUserMessage}}|{{lastCharMessage}}",
            "Alice: Hm.|Yes.|No?|Oh!",
        ),
        ("a{{newline}}b{{noop}}c", "a\nbc"),
        ("a \r\n\n{{trim}}\n\r\nb", "a b"),
        ("a\n{{trim}}{{trim}}\n{{trim}}\nb", "ab"),
        ("{{newline}}{{trim}}\nb", "\nb"),
        ("{{reverse:a\n{{trim}}}}\nb", "a\nb"),
        ("{{time}} {{date}} {{weekday}}", "3:04 PM March 7, 2026 Saturday"),
        ("{{isotime}} {{isodate}}", "15:04 2026-03-07"),
        ("{{reverse:abc}}{{reverse::abc}}{{reverse abc}}", "cbacbacba"),
        ("{{reverse: a:b,c }}", "c,b:a"),
        ("{{reverse:{{char}}}}", "ecilA"),
        ("{{reverse:{{reverse:<user>}}}}", "Bob"),
        ("{{reverse:}}|{{random:}}|{{pick:}}|", "|||"),
        ("a{{// a note: {{char}} }}b{{//}}c{{//x}}", "abc"),
        # Braces that are not in pairs belong to the text.
        ("{{{char}}}", "{Alice}"),
        ("{{{{char}}}}", "{{Alice}}"),
        ("{{char}} }} {{ {{user}}", "Alice }} {{ Bob"),
        ("{{ he said {{user}}}} {char} {{char}", "{{ he said Bob}} {char} {{char}"),
    ],
)
def test_a_macro_becomes_what_it_stands_for(text: str, expected: str) -> None:
    assert substitute(text, SCENE) == expected


@pytest.mark.parametrize(
    ("hour", "shown"),
    [(0, "12:30 AM"), (1, "1:30 AM"), (11, "11:30 AM"), (12, "12:30 PM"), (23, "11:30 PM")],
)
def test_the_clock_has_twelve_hours(hour: int, shown: str) -> None:
    scope = replace(SCENE, now=datetime(2026, 1, 1, hour, 30, tzinfo=UTC))
    assert substitute("{{time}}", scope) == shown


def test_the_present_is_taken_once_per_text(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Clock":
            asked.append(1)
            return cls(2026, 1, len(asked), 12, tzinfo=UTC)

    monkeypatch.setattr(macros, "datetime", Clock)
    assert substitute("{{isodate}} {{isodate}}", MacroScope(char="A")) == "2026-01-01 2026-01-01"


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (SCENE, "Alice|Alice|Alice"),
        (CREW, "Alice, Cid, Dot|Alice, Dot|Alice, Cid, Dot"),
        (replace(CREW, muted=CREW.group), "Alice, Cid, Dot||Alice, Cid, Dot"),
    ],
)
def test_a_group_is_its_members_and_without_one_the_character(scope: MacroScope, expected: str) -> None:
    assert substitute("{{group}}|{{groupNotMuted}}|{{charIfNotGroup}}", scope) == expected


@pytest.mark.parametrize(
    ("text", "prompt", "scan", "display"),
    [
        ("a{{// b}}c", "ac", "ac", "ac"),
        ("a{{comment: b}}c", "ac", "ac", "abc"),
        ("a{{hidden_key:b}}c", "ac", "abc", "ac"),
        ("a{{Hidden_Key::{{char}}}}c", "ac", "aAlicec", "ac"),
        ("a{{reverse:bc}}d", "acbd", "acbd", "acbd"),
    ],
)
def test_who_reads_decides_what_comments_and_hidden_keys_are(
    text: str, prompt: str, scan: str, display: str
) -> None:
    assert tuple(substitute(text, SCENE, purpose) for purpose in PURPOSES) == (prompt, scan, display)
    assert substitute(text, SCENE) == prompt


def test_the_original_prompt_stands_in_or_its_macro_stays() -> None:
    assert substitute("{{Original}} And sing.", replace(SCENE, original="Talk.")) == "Talk. And sing."
    assert substitute("{{original}}!", replace(SCENE, original="")) == "!"
    assert substitute("{{Original}} And sing.", SCENE) == "{{Original}} And sing."


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{foo}} {{ Foo :: a,b }} {{bar\n}}", ("foo", "bar")),
        ("{{#if x}}{{/if}}{{.x}}{{time_UTC+2}}", ("#if", "/if", ".x", "time_UTC+2")),
        ("{{foo::{{bar:a,b}}}}", ("bar", "foo")),
        # A known name in a wrong form.
        ("{{char is here}} {{user:x}} {{noop::}}", ("char", "user", "noop")),
        ("{{random}} {{pick }} {{reverse}} {{comment}}", ("random", "pick", "reverse", "comment")),
        ("{{setvar::name}} {{addvar:name}} {{getvar}}", ("setvar", "addvar", "getvar")),
        ("{{char{}} {{reverse{x}}", ("char", "reverse")),
        ("<uſer> {{uſer}}", ("uſer",)),
        # What has no name, and what is no macro.
        ("{{}} {{ }} {{:x}} {{ \n", ()),
        ('{"a":{"b":1}} <b> <users> {char} {{char}', ()),
    ],
)
def test_what_is_unknown_stays_byte_for_byte_and_is_told(text: str, names: tuple[str, ...]) -> None:
    assert substitute(text, SCENE) == text
    assert unknown_macros(text) == names


def test_what_is_known_is_not_told() -> None:
    known = (
        "{{char}} {{ORIGINAL}} {{roll:nonsense}} {{random:{{getvar::x}}}} {{setvar::x::}} {{// {{user}} }}"
    )
    assert unknown_macros(known) == ()


def test_a_macro_within_an_unknown_one_is_replaced() -> None:
    assert substitute("{{foo::{{char}} , <user>}}", SCENE) == "{{foo::Alice , Bob}}"


@pytest.mark.parametrize(
    "name", ["{{char}}", "<char>", "char", "{{reverse:x}}", "}}", "{{", "a::b", "x:y", "a\\,b", "\n"]
)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{user}}", "*"),
        ("<user>", "*"),
        ("{{{{user}}}}", "{{*}}"),
        ("{{reverse:{{reverse:{{user}}}}}}", "*"),
        ("{{setvar::x::{{user}}}}{{getvar::x}}", "*"),
        ("{{setvar::{{user}}::1}}{{getvar::{{user}}}}", "1"),
        ("{{random:{{user}},{{user}}}}{{pick::<user>::<user>}}", "**"),
        ("{{user}}{{trim}}", "*"),
    ],
)
def test_a_value_is_never_read_again(name: str, text: str, expected: str) -> None:
    assert substitute(text, replace(SCENE, user=name)) == expected.replace("*", name)


@pytest.mark.parametrize(
    ("text", "expected", "left"),
    [
        ("{{setvar::x::one}}[{{getvar::x}}]", "[one]", {"x": "one"}),
        ("{{setvar:x:12:30}}{{getvar x}}", "12:30", {"x": "12:30"}),
        ("{{ SetVar :: x :: a , {{char}}: b }}{{getvar:: x }}", "a , Alice: b", {"x": "a , Alice: b"}),
        ("{{setvar::x::}}[{{getvar::x}}{{getvar::never}}]", "[]", {"x": ""}),
        ("{{getvar::x}}{{setvar::x::1}}", "", {"x": "1"}),
        ("{{incvar::n}}{{incvar::n}}{{decvar::n}}{{decvar::n}}{{decvar::n}}", "1210-1", {"n": "-1"}),
        ("{{setvar::n::5}}{{addvar::n::2.5}}{{addvar:n:-0.5}}{{incvar::n}}", "8", {"n": "8"}),
        ("{{addvar::n::2.5}}{{incvar::n}}", "3.5", {"n": "3.5"}),
        ("{{addvar::s::ab}}{{addvar::s::{{newline}}3}}", "", {"s": "ab\n3"}),
        ("{{setvar::n::1e308}}{{addvar::n::1e308}}", "", {"n": "1e3081e308"}),
        ("{{setvar::a::x}}{{setvar::{{getvar::a}}::1}}{{getvar::x}}", "1", {"a": "x", "x": "1"}),
    ],
)
def test_variables_are_set_read_and_counted(text: str, expected: str, left: dict[str, str]) -> None:
    variables: dict[str, str] = {}
    assert substitute(text, replace(SCENE, variables=variables)) == expected
    assert variables == left


def test_variables_last_as_long_as_the_caller_keeps_them() -> None:
    kept = replace(SCENE, variables={"n": "4"})
    assert [substitute("{{incvar::n}}", kept) for _ in range(2)] == ["5", "6"]
    assert [substitute("{{incvar::n}}", SCENE) for _ in range(2)] == ["1", "1"]


def drawn(text: str, seeds: int = 60, **values: Any) -> set[str]:
    return {substitute(text, replace(SCENE, seed=seed, **values)) for seed in range(seeds)}


@pytest.mark.parametrize("name", ["random", "pick"])
@pytest.mark.parametrize(
    ("arguments", "choices"),
    [
        (":a,b,c", {"a", "b", "c"}),
        ("::a,b,c", {"a", "b", "c"}),
        (" a, b ,c ", {"a", "b", "c"}),
        ("::a::b", {"a", "b"}),
        (":a:b", {"a", "b"}),
        ("::a, b::c:d", {"a, b", "c:d"}),
        (":12:30,1:00", {"12:30", "1:00"}),
        (r":a\,b,c", {"a,b", "c"}),
        (r"::a\,b::c", {"a,b", "c"}),
        (":a,", {"a", ""}),
        (":one", {"one"}),
        (":{{char}},{{user}}s", {"Alice", "Bobs"}),
        (":{{foo:1,2}},c", {"{{foo:1,2}}", "c"}),
        (":{{foo:1,2}}", {"{{foo:1,2}}"}),
        (":{{newline}},{{reverse:a,b}}", {"\n", "b,a"}),
        (":{{getvar::list}}", {"red", "green, blue"}),
        (":{{getvar::list}},", {r"red,green\, blue", ""}),
    ],
)
def test_each_choice_of_a_list_is_drawn_and_nothing_else(
    name: str, arguments: str, choices: set[str]
) -> None:
    assert drawn("{{" + name + arguments + "}}", variables={"list": r"red,green\, blue"}) == choices


WORDS = st.text(
    alphabet=st.characters(exclude_characters="{}<>:,\\", exclude_categories=["Z", "C"]), min_size=1
)


@given(
    st.lists(WORDS, min_size=1),
    st.sampled_from([",", "::"]),
    st.integers(),
    st.sampled_from(["random", "pick"]),
)
def test_what_is_drawn_is_a_choice(choices: list[str], separator: str, seed: int, name: str) -> None:
    text = "{{" + name + "::" + separator.join(choices) + "}}"
    assert substitute(text, replace(SCENE, seed=seed)) in choices


@given(st.integers(), WORDS, WORDS)
def test_a_pick_is_stable_in_its_place_whatever_else_is_said_or_drawn(
    seed: int, before: str, after: str
) -> None:
    scope = replace(SCENE, seed=seed)
    pick = "{{pick:" + ",".join("abcdefghijklmnop") + "}}"
    room = "{{roll:9}}{{random:1,2}}" + "x" * len(before)
    alone = substitute("y" * len(room) + pick, scope)
    assert substitute(room[: -len(before)] + before + pick + after, scope)[-1 - len(after)] == alone[-1]


def test_picks_differ_by_seed_by_place_and_by_list() -> None:
    assert drawn("{{pick:a,b}}") == {"a", "b"}
    assert set(substitute("{{pick:a,b}}" * 60, SCENE)) == {"a", "b"}
    lists = ("{{pick:a,b, " + str(number) + "}}" for number in range(60))
    assert {substitute(text, SCENE)[0] for text in lists} >= {"a", "b"}


def test_the_same_seed_draws_the_same() -> None:
    text = "{{roll:1000000}} {{random:a,b,c,d,e}} {{pick:1,2,3}}" * 5
    assert substitute(text, replace(SCENE, seed=7)) == substitute(text, replace(SCENE, seed=7))
    assert len(drawn(text, 20)) == 20
    assert len(set(substitute("{{roll:1000000}} " * 20, SCENE).split())) > 1


@pytest.mark.parametrize(
    ("dice", "results"),
    [
        ("3", {"1", "2", "3"}),
        ("d3", {"1", "2", "3"}),
        ("D2", {"1", "2"}),
        ("2d2", {"2", "3", "4"}),
        ("1d2+10", {"11", "12"}),
        ("1d2 - 3", {"-2", "-1"}),
        ("1", {"1"}),
        ("{{getvar::sides}}", {"1", "2"}),
        *(
            (wrong, {""})
            for wrong in (
                "0",
                "0d6",
                "d0",
                "-6",
                "six",
                "",
                "d",
                "٣",
                "1d6+\t3",
                "12345d6",
                "9" * 5000 + "d6",
                "9" * 31,
                "9" * 9999,
            )
        ),
    ],
)
def test_dice_fall_on_each_of_their_sides_and_wrong_ones_nowhere(dice: str, results: set[str]) -> None:
    assert drawn("{{roll:" + dice + "}}", 100, variables={"sides": "2"}) == results


def test_a_die_of_very_many_sides_is_harmless() -> None:
    sides = 999_999_999_999_999_999_999
    assert 1 <= int(substitute("{{roll:" + str(sides) + "}}", SCENE)) <= sides


def test_half_a_character_can_be_picked() -> None:
    assert substitute("{{pick:\ud800}}", SCENE) == "\ud800"


@pytest.mark.parametrize(
    ("allowance", "text", "expected"),
    [
        (6, "{{user}}{{user}}{{noop}}", "BobBob"),
        (5, "{{user}}{{user}}{{noop}}{{char}}", "Bob{{user}}{{noop}}{{char}}"),
        (5, "<user><USER><bot>", "Bob<USER><bot>"),
        (3, "{{random:{{char}},{{user}}}}", "{{random:{{char}},{{user}}}}"),
        (8, "{{setvar::x::abcd}}{{addvar::x::e}}{{addvar::x::f}}{{noop}}", "{{addvar::x::f}}{{noop}}"),
        (3, "{{roll:2d1}}{{roll:2d1}}{{noop}}", "2{{roll:2d1}}{{noop}}"),
    ],
)
def test_beyond_the_allowance_the_rest_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, allowance: int, text: str, expected: str
) -> None:
    monkeypatch.setattr(macros, "MOST_MADE", allowance)
    assert substitute(text, SCENE) == expected


def test_a_text_cannot_make_more_than_a_million_characters() -> None:
    bomb = (
        "{{setvar::x::aaaaaaaaaaaaaaaa}}"
        + "{{setvar::x::{{getvar::x}}{{getvar::x}}}}" * 40
        + "{{getvar::x}}"
    )
    assert macros.MOST_MADE == 1_000_000
    assert len(substitute(bomb, SCENE)) <= 1_000_000 + len(bomb)
    assert (
        len(substitute("{{description}}" * 300, replace(SCENE, description="d" * 10_000)))
        == 1_000_000 + 200 * 15
    )


@pytest.mark.parametrize("brace", ["{", "}"])
@pytest.mark.parametrize("length", [999_999, 1_000_000])
def test_a_text_of_nothing_but_braces_stays(brace: str, length: int) -> None:
    assert substitute("{{foo}}" + brace * length, SCENE) == "{{foo}}" + brace * length


def test_depth_is_no_matter() -> None:
    assert substitute("{{reverse:" * 20_000 + "ab" + "}}" * 20_000, SCENE) == "ab"


def work(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """Lines run, and characters and pieces joined, while a text's macros are replaced."""
    done = 0
    join: Callable[[Sequence[tuple[str, Any]]], Any] = macros._Argument.of

    def counted(pieces: Sequence[tuple[str, Any]]) -> Any:
        nonlocal done
        done += len(pieces) + sum(len(words) for words, _ in pieces)
        return join(pieces)

    def traced(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal done
        if frame.f_code.co_filename != macros.__file__:
            return None
        done += event == "line"
        return traced

    before = sys.gettrace()
    with monkeypatch.context() as patched:
        patched.setattr(macros._Argument, "of", counted)
        patched.setattr(macros, "MOST_MADE", 2_000)
        sys.settrace(traced)
        try:
            substitute(text, replace(SCENE, user="U" * 500))
        finally:
            sys.settrace(before)
    return done


@pytest.mark.parametrize(
    "text",
    [
        "{{" * 10_000,
        "{{foo:" * 2_000 + "}}" * 2_000,
        "{{char " * 2_000 + "}}" * 2_000,
        "{{char x" * 60 + "{{noop}}" * 2_400 + "}}" * 60,
        "{{reverse:" * 1_000 + "a" * 8_000 + "}}" * 1_000,
        "{{reverse:" * 1_000 + "a" * 1_000 + "}}" * 1_000,
        "{{random:" * 1_000 + "aaaaaaaa," * 1_000 + "}}" * 1_000,
        "{{setvar::x::{{getvar::x}}a{{getvar::x}}}}" * 400,
        "{{setvar::x::" + "b" * 8_000 + "}}" + "{{addvar::x::a}}" * 500,
        "{{roll:9999d6}}" * 1_000,
        "{{roll:9d6}}" * 1_000,
        "<user>" * 3_000,
        "\n" * 10_000 + "{{trim}}" + "\n{{trim}}" * 1_000,
    ],
    ids=lambda text: text[:16],
)
def test_work_grows_with_the_text_and_the_allowance_only(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    assert work(monkeypatch, text) < 13 * (len(text) + 2_000)


FRAGMENTS = st.sampled_from(
    [
        *(
            "{",
            "{{",
            "}",
            "}}",
            ":",
            "::",
            ",",
            "\\,",
            "\\",
            " ",
            "\n",
            "<",
            "<user>",
            "<BOT>",
            "//",
            "x",
            "é",
            "\0",
            "\1",
        ),
        *("{{" + name for name in (*macros._VALUES, *macros._FUNCTIONS, "foo")),
        *("{{user}}", "{{// ", "{{setvar::x::", "{{getvar::x}}", "{{random:", "{{roll:3}}", "{{trim}}"),
    ]
)
ANY_TEXT = st.lists(FRAGMENTS | st.text(max_size=3), max_size=30).map("".join)


@given(ANY_TEXT, ANY_TEXT, st.sampled_from(PURPOSES), st.integers())
@example("{{setvar::n::9" + "9" * 400 + "}}{{incvar::n}}", "", "prompt", 0)
def test_any_text_is_read(text: str, value: str, purpose: Purpose, seed: int) -> None:
    scope = MacroScope(char=value, user=value, original=value, description=value, seed=seed, now=SCENE.now)
    assert substitute(text, scope, purpose) == substitute(text, scope, purpose)
    assert all(name in text for name in unknown_macros(text))


@given(st.text().filter(lambda text: "{{" not in text and "<" not in text))
def test_text_without_macros_stays(text: str) -> None:
    assert substitute(text, SCENE) == text
    assert substitute("<user>" + text + "{{char}}", SCENE) == "Bob" + text + "Alice"


@given(st.text(alphabet="{}<>:,\\/ \nfoxé\0\1"))
def test_a_text_without_a_known_name_stays_whatever_its_braces(text: str) -> None:
    # “//” is a name too.
    text = text.replace("/", "|")
    assert substitute(text, SCENE) == text


SNIPPETS = st.recursive(
    WORDS
    | st.sampled_from(
        [
            "{{char}}",
            "<USER>",
            "{{noop}}",
            "{{foo}}",
            "{{char x}}",
            "{{time}}",
            "{{roll:d6}}",
            "\n",
            "{{trim}}",
        ]
    ),
    lambda inner: st.builds(
        "{}{}{} {}".format,
        st.sampled_from(["{{foo::", "{{random:a,", "{{pick::a::", "{{setvar::x::", "{{// ", "{{comment: "]),
        inner,
        st.just("}}"),
        inner,
    ),
    max_leaves=12,
)


@given(SNIPPETS, st.sampled_from(PURPOSES))
def test_a_second_time_changes_nothing_where_values_hold_no_braces(text: str, purpose: Purpose) -> None:
    once = substitute(text, SCENE, purpose)
    assert substitute(once, SCENE, purpose) == once
