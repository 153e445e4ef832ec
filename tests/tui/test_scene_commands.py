"""What is typed into a scene."""

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import MessageError
from rolellm_agents.scene.utterances import Utterance
from rolellm_tui.slash.scene_commands import SceneCommand, typed_in_scene

NAMES = {"ann": "Ann Grey", "ben-stone": "Ben Stone", "li-bai": "李白", "narrator": "Narrator"}
HEARD = {"ben-stone": "Ben Stone", "li-bai": "李白"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/skip", SceneCommand("skip")),
        ("  /pass ", SceneCommand("skip")),
        ("/next Ben", SceneCommand("next", "ben-stone")),
        ("/next ben-stone", SceneCommand("next", "ben-stone")),
        ("/next 李白", SceneCommand("next", "li-bai")),
        ("/NEXT ann grey", SceneCommand("next", "ann")),
        ("/in Ann: She is wet.", SceneCommand("in", "ann", "She is wet.")),
        ("/out ben Stone slams the door", SceneCommand("out", "ben-stone", "slams the door")),
        ("/as narrator", SceneCommand("as", "narrator")),
        ("/play", SceneCommand("play")),
        ("/step", SceneCommand("step")),
        ("/again", SceneCommand("again")),
        ("Hello.", Utterance("say", (), "Hello.")),
        ("//skip", Utterance("say", (), "/skip")),
        ("/w ben hush", Utterance("whisper", ("ben-stone",), "hush")),
        ("/me nods", Utterance("act", (), "nods")),
        ("in the fog", Utterance("say", (), "in the fog")),
    ],
)
def test_orders_are_told_from_what_is_said(text: str, meant: SceneCommand | Utterance) -> None:
    assert typed_in_scene(text, NAMES, HEARD) == meant


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("/next", "/next needs a name; known are Ann Grey, Ben Stone, 李白, Narrator."),
        ("/next anne", "No one is named 'anne' (did you mean ann"),
        ("/out zoe", "No one is named 'zoe'; known are Ann Grey"),
        ("/leap", "There is no command /leap"),
    ],
)
def test_what_is_not_understood_is_told(text: str, complaint: str) -> None:
    with pytest.raises(MessageError, match="^" + complaint.replace("(", r"\(").replace(".", r"\.")):
        typed_in_scene(text, NAMES, HEARD)


def test_a_name_that_two_share_is_asked_for_in_full() -> None:
    with pytest.raises(MessageError, match="Ann Grey, Ann Wells"):
        typed_in_scene("/next Ann", {"a": "Ann Grey", "b": "Ann Wells"}, {})


@examples(1.5)
@given(st.text(max_size=60) | st.from_regex(r"/(next|in|out|as|skip|w|me) ?.{0,30}", fullmatch=True))
def test_whatever_is_typed_is_understood_or_complained_of_in_one_line(text: str) -> None:
    match understood(text):
        case str(complaint):
            assert "\n" not in complaint
        case SceneCommand(seat=seat):
            assert seat is None or seat in NAMES
            assert text.lstrip().startswith("/")
        case Utterance(text=words):
            assert words


def understood(text: str) -> SceneCommand | Utterance | str:
    try:
        return typed_in_scene(text, NAMES, HEARD)
    except MessageError as error:
        return str(error)
