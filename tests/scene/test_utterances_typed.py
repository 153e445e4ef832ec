"""What a person types in a scene."""

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import MessageError
from rolellm_agents.scene.utterances import Utterance, parse_typed_line

NAMES = {
    "watson": "Dr. Watson",
    "lestrade": "Inspector Lestrade",
    "mary": "Mary Bennet",
    "kitty": "Kitty Bennet",
    "hua": "华生",
    "sun-wukong": "孙悟空",
}


@pytest.mark.parametrize(
    ("typed", "kind", "words"),
    [
        ("Come closer.", "say", "Come closer."),
        ("  Come closer. ", "say", "Come closer."),
        ("/say Come closer.", "say", "Come closer."),
        ("//shrug", "say", "/shrug"),
        ("//", "say", "/"),
        ("and/or", "say", "and/or"),
        ("(whispers to Watson) Hm.", "say", "(whispers to Watson) Hm."),
        ("/act opens the door", "act", "opens the door"),
        ("/me opens the door", "act", "opens the door"),
        ("/ME opens the door", "act", "opens the door"),
        ("/think He lies.", "think", "He lies."),
        ("/narrate It rains.", "narrate", "It rains."),
        ("/心想 他在撒谎", "think", "他在撒谎"),
        ("/心想他在撒谎", "think", "他在撒谎"),
        ("/动作 开门", "act", "开门"),
        ("/旁白 下雨了", "narrate", "下雨了"),
        ("/说 你好", "say", "你好"),
    ],
)
def test_a_command_tells_how_it_is_meant(typed: str, kind: str, words: str) -> None:
    told = parse_typed_line(typed, NAMES)
    assert (told.kind, told.to, told.text) == (kind, (), words)


@pytest.mark.parametrize(
    ("typed", "to", "words"),
    [
        ("/whisper watson come closer", ("watson",), "come closer"),
        ("/w Dr. Watson come closer", ("watson",), "come closer"),
        ("/w DR WATSON: come closer", ("watson",), "come closer"),
        ("/w @watson come closer", ("watson",), "come closer"),
        ("/w lest come closer", ("lestrade",), "come closer"),
        ("/w kitty come closer", ("kitty",), "come closer"),
        ("/w Mary Bennet come closer", ("mary",), "come closer"),
        ("/w watson, come closer", ("watson",), "come closer"),
        ("/w watson,lestrade come closer", ("watson", "lestrade"), "come closer"),
        ("/w watson and lestrade: come closer", ("watson", "lestrade"), "come closer"),
        ("/w watson, lestrade, kitty: come closer", ("watson", "lestrade", "kitty"), "come closer"),
        ("/w watson watson knows", ("watson",), "watson knows"),
        ("/w 华生 过来", ("hua",), "过来"),
        ("/w 华生过来", ("hua",), "过来"),
        ("/耳语 悟空 过来", ("sun-wukong",), "过来"),
        ("/耳语悟空，过来", ("sun-wukong",), "过来"),
        ("/w sun-wukong come", ("sun-wukong",), "come"),
        ("/w wukong come", ("sun-wukong",), "come"),
    ],
)
def test_a_whisper_is_for_whom_it_names(typed: str, to: tuple[str, ...], words: str) -> None:
    assert parse_typed_line(typed, NAMES) == Utterance("whisper", to, words)


@pytest.mark.parametrize(
    "typed",
    [
        "/w watson, lestrade is lying to you",
        "/w watson and lestrade are two different men",
        "/w watson lestrade lies",
        "/w watson: lestrade: he lies",
    ],
)
def test_who_is_spoken_of_does_not_hear_the_whisper(typed: str) -> None:
    assert parse_typed_line(typed, NAMES).to == ("watson",)


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("", ["nothing to say"]),
        ("   ", ["nothing to say"]),
        ("/", ["no command", "/whisper"]),
        ("/whsiper watson come", ["no command /whsiper", "did you mean /whisper", "two"]),
        ("/usr/bin", ["no command /usr/bin"]),
        ("/w", ["No addressee is named", "Dr. Watson"]),
        ("/w watsen come", ["'watsen'", "did you mean watson", "Dr. Watson"]),
        ("/w come here", ["'come'"]),
        ("/w bennet come", ["'bennet'", "Mary Bennet or Kitty Bennet"]),
        ("/w watson", ["no text after /w Dr. Watson"]),
        ("/me", ["no text after /me"]),
        ("/think", ["no text after /think"]),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(typed: str, parts: list[str]) -> None:
    with pytest.raises(MessageError) as refused:
        parse_typed_line(typed, NAMES)
    for part in parts:
        assert part in str(refused.value)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_alone_one_cannot_whisper() -> None:
    with pytest.raises(MessageError, match="Nobody is here to whisper to"):
        parse_typed_line("/w watson come", {})


def meant_or_refused(typed: str) -> Utterance | str:
    try:
        return parse_typed_line(typed, NAMES)
    except MessageError as error:
        return str(error)


TYPED = (
    st.text(max_size=40)
    | st.text(max_size=30).map("/w ".__add__)
    | st.text(max_size=20).map("/".__add__)
    | st.lists(
        st.sampled_from(["/w ", "watson", "Mary", " Bennet", ",", " and ", ": ", "come", "华生"])
    ).map("".join)
)


@examples(2.5)
@given(TYPED)
def test_anything_typed_is_understood_or_refused_and_a_whisper_always_has_somebody(typed: str) -> None:
    told = meant_or_refused(typed)
    if isinstance(told, str):
        assert "\n" not in told
        assert "\x1b" not in told
        return
    assert told.text.strip()
    assert (told.kind == "whisper") == bool(told.to)
    assert {*told.to} <= {*NAMES}
    if not typed.strip().startswith("/"):
        assert told == Utterance("say", (), typed.strip())
