from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.cards.lore.decorators import Decorators, parse_decorators, strip_decorators


def settings_of(*lines: str) -> Decorators:
    return parse_decorators("\n".join([*lines, "The body."]))[0]


@pytest.mark.parametrize(
    ("line", "setting"),
    [
        ("@@activate", {"activate": True}),
        ("@@activate true", {"activate": True}),
        ("@@dont_activate", {"dont_activate": True}),
        ("@@activate_only_after 3", {"only_after": 3}),
        ("@@activate_only_every 2", {"only_every": 2}),
        ("@@keep_activate_after_match", {"keep_after_match": True}),
        ("@@dont_activate_after_match", {"bar_after_match": True}),
        ("@@is_greeting 0", {"greeting": 0}),
        ("@@is_user_icon Red Hat", {"user_icon": "Red Hat"}),
        ("@@scan_depth 7", {"scan_depth": 7}),
        ("@@additional_keys elf, dwarf ,", {"additional_keys": (("elf", "dwarf"),)}),
        ("@@exclude_keys a,b", {"exclude_keys": ("a", "b")}),
        ("@@exclude_keys_all a,b", {"exclude_keys_all": ("a", "b")}),
        ("@@depth 4", {"depth": 4}),
        ("@@depth -2", {"depth": -2}),
        ("@@depth\t4  ", {"depth": 4}),
        ("@@end", {"depth": 0}),
        ("@@reverse_depth 1", {"reverse_depth": 1}),
        ("@@role assistant", {"role": "assistant"}),
        ("@@position before_desc", {"position": "before_char"}),
        ("@@position after_desc", {"position": "after_char"}),
        ("@@position scenario", {"position": "after_char"}),
        ("@@ignore_on_max_context", {"expendable": True}),
        ("@@disable_ui_prompt system_prompt", {"disabled_prompt": "system_prompt"}),
        ("@@probability 12.5", {"probability": 12.5}),
        ("@@priority -3", {"priority": -3}),
        ("@@match_full_word", {"whole_words": True}),
        ("@@match_partial_word", {"whole_words": False}),
        ("@@recursive", {"recursive": True}),
        ("@@unrecursive", {"recursive": False}),
        ("@@no_recursive_search", {"no_recursive_search": True}),
    ],
)
def test_a_decorator_sets_its_setting_and_no_other(line: str, setting: dict[str, Any]) -> None:
    assert parse_decorators(f"{line}\nThe body.") == (Decorators(**setting), "The body.")


@pytest.mark.parametrize(
    "line",
    [
        "@@depth",
        "@@depth four",
        "@@depth 4.5",
        "@@depth ４",
        "@@depth:4",
        "@@depth 99999999999999999999",
        "@@Depth 4",
        "@@ depth 4",
        "@@",
        "@@@@depth 4",
        "@@activate false",
        "@@activate_only_every 0",
        "@@activate_only_after -1",
        "@@scan_depth -1",
        "@@is_user_icon",
        "@@additional_keys ,",
        "@@exclude_keys",
        "@@role narrator",
        "@@position pt_memory",
        "@@probability 101",
        "@@probability -1",
        "@@instruct_depth 4",
        "@@nobody_knows_this 4",
    ],
)
def test_what_is_unknown_or_not_valid_sets_nothing_and_is_cut_off(line: str) -> None:
    assert parse_decorators(f"{line}\nThe body.") == (Decorators(), "The body.")


@pytest.mark.parametrize(
    ("lines", "setting"),
    [
        (("@@depth 5", "@@@role user"), {"depth": 5}),
        (("@@unknown 5", "@@@role user"), {"role": "user"}),
        (("@@depth x", "@@@role user"), {"role": "user"}),
        (("@@a", "@@@b", "@@@c", "@@@d", "@@@e", "@@@depth x", "@@@depth 6", "@@@role user"), {"depth": 6}),
        (("@@a", "@@@b", "@@role user", "@@@depth 4"), {"role": "user"}),
        (("@@depth 4", "@@@role user", "@@unknown", "@@@role system"), {"depth": 4, "role": "system"}),
        (("@@@role user",), {}),
        (("@@a", "", "@@@depth 4"), {"depth": 4}),
    ],
)
def test_a_fallback_is_used_when_nothing_above_it_was(
    lines: tuple[str, ...], setting: dict[str, Any]
) -> None:
    assert settings_of(*lines) == Decorators(**setting)


@pytest.mark.parametrize(
    ("lines", "setting"),
    [
        (("@@depth 1", "@@depth 2"), {"depth": 1}),
        (("@@depth x", "@@depth 2"), {"depth": 2}),
        (("@@end", "@@depth 2"), {"depth": 0}),
        (("@@match_partial_word", "@@match_full_word"), {"whole_words": False}),
        (("@@depth 1", "@@depth 2", "@@@role user"), {"depth": 1}),
        (("@@exclude_keys a", "@@exclude_keys b"), {"exclude_keys": ("a",)}),
        (("@@additional_keys a,b", "@@additional_keys c"), {"additional_keys": (("a", "b"), ("c",))}),
    ],
)
def test_of_the_same_name_the_first_valid_one_wins(lines: tuple[str, ...], setting: dict[str, Any]) -> None:
    assert settings_of(*lines) == Decorators(**setting)


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("@@depth 4\r\n\r\n@@role user\r\n\r\nThe\r\nbody.\r\n", "The\r\nbody.\r\n"),
        ("\n \n@@depth 4\n\n\n@@role user\n\t\n\nThe body.", "The body."),
        ("@@depth 4\n@@role user", ""),
        ("@@depth 4\n@@role user\n\n", ""),
    ],
)
def test_line_ends_and_blank_lines_do_not_matter(content: str, body: str) -> None:
    decorators, left = parse_decorators(content)
    assert (decorators.depth, decorators.role, left) == (4, "user", body)


@pytest.mark.parametrize(
    "content",
    ["", "\n\n  plain\n", "plain\n@@depth 4", " @@depth 4\nindented", "a @@depth 4", "@depth 4", "\n\n"],
)
def test_content_without_decorators_comes_back_as_it_is(content: str) -> None:
    assert parse_decorators(content) == (Decorators(), content)


def test_decorators_below_the_first_words_belong_to_the_body() -> None:
    assert strip_decorators("@@depth 4\nWords.\n@@role user\n@@@end\n") == "Words.\n@@role user\n@@@end\n"


lines_of_any_kind = st.sampled_from(
    ["@@depth 3", "@@@role user", "@@unknown", "@@", "@@@", "", "  ", "words", " @@depth 1", "@@depth 9\r"]
)


@given(st.lists(lines_of_any_kind | st.text(max_size=20)).map("\n".join))
def test_any_content_can_be_stripped_once_and_for_all(content: str) -> None:
    body = strip_decorators(content)
    assert content.endswith(body)
    assert strip_decorators(body) == body
    assert not body.startswith("@@")


@given(
    st.integers(-999, 999),
    st.sampled_from(["system", "user", "assistant"]),
    st.permutations(["depth", "role", "activate"]),
    st.text().filter(lambda body: not body.strip().startswith("@@")),
)
def test_what_is_written_is_read(depth: int, role: str, order: list[str], body: str) -> None:
    lines = {"depth": f"@@depth {depth}", "role": f"@@role {role}", "activate": "@@activate"}
    decorators, left = parse_decorators("\n".join([*(lines[name] for name in order), "", f"|{body}"]))
    assert (decorators.depth, decorators.role, decorators.activate, left) == (depth, role, True, f"|{body}")
