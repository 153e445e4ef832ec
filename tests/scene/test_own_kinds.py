"""Message kinds of a user's: what they may be, and what prompts, exports and typed lines make of them."""

from collections.abc import Callable
from typing import Any

import pytest
from helpers.own_kinds import OWN_KINDS, PRAY, SHOUT, SIGN
from helpers.scenes import line_by, room
from pydantic import ValidationError

from rolellm_agents.chat_files.scenes import SCENE, scene_of
from rolellm_agents.errors import MessageError, SceneError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.scene import LoadedScene, Scene, SceneLine
from rolellm_agents.scene.directors import DIRECTORS, Situation
from rolellm_agents.scene.events import ScheduledEvent, event_line
from rolellm_agents.scene.export import write_novel, write_script
from rolellm_agents.scene.message_kinds import BUILT_IN, TURN_KINDS, MessageKind, turn_kind_named
from rolellm_agents.scene.turns import random_for
from rolellm_agents.scene.utterances import Utterance, parse_typed_line
from rolellm_agents.scene.view import history_for, instruction_for, render_line, turn_cue
from rolellm_graphs import SceneContext, scene_graph
from rolellm_graphs.scene.state import SceneInput

NAMES = {"ben": "Ben", "cleo": "Cleo"}


def with_own_kinds(**fields: Any) -> LoadedScene:
    return room(manners=(*TURN_KINDS, *OWN_KINDS), **fields)


def said(loaded: LoadedScene, kind: str, text: str, *to: str) -> SceneLine:
    return event_line(loaded, [], ScheduledEvent("ada", kind, to, text, {}))


def history(loaded: LoadedScene, seat: str, line: SceneLine) -> str:
    """What the seat reads, without the cue."""
    text = "\n".join(message.text for message in history_for(loaded, seat, [line]))
    return text.removesuffix("\n" + turn_cue(loaded, seat))


def test_ours_are_objects_of_the_same_class() -> None:
    assert all(isinstance(kind, MessageKind) and kind.name == name for name, kind in BUILT_IN.items())
    assert all(turn_kind_named(kind.name) is kind for kind in TURN_KINDS)


def test_what_is_signed_is_in_the_prompts_of_those_who_see_it_and_in_no_other() -> None:
    loaded = with_own_kinds()
    line = said(loaded, "sign", "Run.", "ben")
    assert line["audience"] == ["ada", "ben"]
    assert history(loaded, "ada", line).endswith("(signs to Ben) Run.\n[Nobody answers.]")
    assert history(loaded, "ben", line) == "Ada (signs to you): Run."
    assert "Run" not in history(loaded, "cleo", line)
    assert render_line(loaded, line) == "Ada: (signs to Ben) Run."


def test_each_kind_is_perceived_by_those_it_names() -> None:
    loaded = with_own_kinds()
    assert said(loaded, "pray", "Help.", "ben")["audience"] == ["ada"]
    assert said(loaded, "shout", "Help!", "ben")["audience"] == ["ada", "ben", "cleo"]
    assert history(loaded, "cleo", said(loaded, "shout", "Help!")) == "Ada (SHOUTING): Help!"


def test_its_instruction_follows_ours_in_the_prompt_of_a_scene_that_has_it() -> None:
    loaded = with_own_kinds()
    instruction = instruction_for(loaded, "ada", [])
    assert instruction.endswith(SIGN.instruction["en"])
    ours = instruction_for(room(), "ada", [])
    assert instruction == f"{ours} {SIGN.instruction['en']}"


def test_a_scene_in_chinese_shows_the_kind_in_chinese() -> None:
    loaded = with_own_kinds(language="zh")
    line = said(loaded, "sign", "快跑。", "ben")
    assert history(loaded, "ben", line) == "Ada（对你打手语）：快跑。"
    assert render_line(loaded, line) == "Ada：（对Ben打手语）快跑。"


def test_a_person_types_its_command() -> None:
    assert parse_typed_line("/sign ben run", NAMES, OWN_KINDS) == Utterance("sign", ("ben",), "run")
    assert parse_typed_line("/pray help", NAMES, OWN_KINDS) == Utterance("pray", (), "help")
    assert parse_typed_line("/喊救命", NAMES, OWN_KINDS) == Utterance("shout", (), "救命")
    with pytest.raises(MessageError, match="/think, /sign, /pray, /shout and /narrate"):
        parse_typed_line("/sing ben run", NAMES, OWN_KINDS)
    with pytest.raises(MessageError, match="put a name before the words: Ben and Cleo"):
        parse_typed_line("/sign", NAMES, OWN_KINDS)
    with pytest.raises(MessageError, match="There is no command /sign"):
        parse_typed_line("/sign ben run", NAMES)


def test_a_person_signs_in_a_scene_that_has_signs_and_to_somebody_who_is_there() -> None:
    model = ScriptedChatModel(replies=["I see."])
    graph = scene_graph(with_own_kinds(), model=model)
    lines = graph.invoke(
        SceneInput(said=line_by("ada", "Run.", "sign", ["ben"])), context=SceneContext(turns=1)
    )["lines"]
    assert (lines[-1]["kind"], lines[-1]["audience"]) == ("sign", ["ada", "ben"])


def test_a_graph_takes_turn_kinds_by_name_and_as_objects() -> None:
    model = ScriptedChatModel(replies=["(signs to Ben) Run.", "(whispers to Ada) Why?"])
    graph = scene_graph(room(), model=model, turn_kinds=["say", SIGN])
    lines = graph.invoke(SceneInput(), context=SceneContext(turns=2))["lines"]
    assert [(line["kind"], line["audience"]) for line in lines] == [
        ("sign", ["ada", "ben"]),
        ("say", ["ada", "ben", "cleo"]),
    ]
    assert "whispers to NAME" not in model.calls[0][0].text
    with pytest.raises(SceneError, match=r"There is no turn kind 'sing'; known are say, act"):
        scene_graph(room(), model=model, turn_kinds=["sing"])


def test_whom_somebody_signs_to_answers() -> None:
    loaded = with_own_kinds()
    situation = Situation(
        scene=loaded.scene,
        lines=[said(loaded, "sign", "Run.", "cleo")],
        present=("ada", "ben", "cleo"),
        turn=1,
        chance=random_for(1),
    )
    chosen = DIRECTORS["natural"](situation)
    assert (chosen.seat, chosen.why) == ("cleo", "Was addressed.")


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (write_script, ("**ADA** *(signs to Ben)*: Run.", "**ADA** *(shouts)*: Help!")),
        (write_novel, ("Ada signs to Ben: “Run.”", "Ada shouts: “Help!”")),
    ],
)
def test_exports_write_what_the_kind_is_called(
    write: Callable[[LoadedScene, list[SceneLine]], str], expected: tuple[str, str]
) -> None:
    loaded = with_own_kinds()
    text = write(loaded, [said(loaded, "sign", "Run.", "ben"), said(loaded, "shout", "Help!")])
    assert all(one in text for one in expected), text


def test_a_line_of_a_kind_that_is_gone_is_still_shown() -> None:
    line = said(with_own_kinds(), "sign", "Run.", "ben")
    assert history(room(), "ben", line) == "Ada (sign): Run."
    assert "Run" not in history(room(), "cleo", line)


def test_a_scene_stores_the_name_and_reads_it_back_with_the_object() -> None:
    scene = with_own_kinds().scene
    stored = scene.model_dump(mode="json", exclude_defaults=True)
    assert stored["manners"] == ["say", "act", "whisper", "think", "sign", "pray", "shout"]
    assert Scene.model_validate(stored, context={"turn_kinds": OWN_KINDS}) == scene
    with pytest.raises(ValidationError, match="there is no turn kind 'sign'"):
        Scene.model_validate(stored)


def test_a_stored_scene_is_still_read_where_nobody_provides_its_kinds() -> None:
    scene = with_own_kinds().scene
    stored = {"scene": scene.model_dump(mode="json", exclude_defaults=True)}
    loaded = scene_of(f"{SCENE}room", stored)
    assert loaded is not None
    assert [kind.name for kind in loaded.scene.turn_kinds] == [kind.name for kind in scene.turn_kinds]
    assert render_line(loaded, said(with_own_kinds(), "sign", "Run.", "ben")) == "Ada: (sign) Run."
    assert scene_of(f"{SCENE}room", {"scene": {"manners": ["Sign!", 3]}}) is None


def test_an_opening_has_the_kinds_of_its_scene() -> None:
    opening = [{"speaker": "ada", "kind": "sign", "to": ["ben"], "text": "Run."}]
    assert with_own_kinds(opening=opening).scene.opening[0].kind == "sign"
    with pytest.raises(ValidationError, match=r"opening\[0\]\.kind: there is no kind 'sign'"):
        room(opening=opening)


def test_no_kind_takes_the_name_of_ours_or_of_another() -> None:
    public = MessageKind(name="whisper", label={"en": "whispers"})
    with pytest.raises(ValidationError, match="'whisper' is a message kind of ours"):
        room(manners=("say", public))
    other = MessageKind(name="sign", label={"en": "makes signs"})
    with pytest.raises(ValidationError, match="two turn kinds have the name 'sign'"):
        room(manners=(SIGN, other))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "Sign"}, "'Sign' is no name of a message kind"),
        ({"perceived_by": "cats"}, "is perceived by 'cats'; name one of everyone, addressees, speaker"),
        ({"label": {}}, "has no label"),
        ({"label": {"en": "signs to {whom}"}}, "cannot use 'signs to {whom}' as label"),
        ({"label": {"en": "signs (to {to})"}}, "no brackets, asterisks or colons"),
        ({"label": {"en": "signs to {to}: "}}, "no brackets, asterisks or colons"),
        ({"label": {"en": "signs to {to} " + "and so on " * 9}}, "a label has 1 to 80 characters"),
        ({"label": {"en": "signs to {to"}}, "cannot use 'signs to {to' as label"),
        ({"shown": {"en": "{name} signs"}}, "{text} is missing"),
        ({"mark": "sign("}, "is no regular expression"),
        ({"mark": "gestures?"}, "does not recognise its own label, 'signs to Ada'"),
        ({"label": {"en": "signs"}}, "does not recognise its own label, 'signs'"),
        ({"written": {"en": "~{text}~"}}, "leave out `written`"),
    ],
)
def test_a_kind_that_cannot_be_is_refused_with_a_sentence(fields: dict[str, Any], told: str) -> None:
    valid: dict[str, Any] = {
        "name": "sign",
        "perceived_by": "addressees",
        "label": {"en": "signs to {to}"},
        "mark": "signs?",
    }
    assert MessageKind(**valid)
    with pytest.raises(SceneError) as refused:
        MessageKind(**{**valid, **fields})
    assert told in str(refused.value)


def test_a_kind_without_a_mark_is_for_people_only() -> None:
    wink = MessageKind(name="wink", label={"en": "winks"})
    model = ScriptedChatModel(replies=["(winks) Well."])
    graph = scene_graph(room(), model=model, turn_kinds=["say", wink])
    lines = graph.invoke(SceneInput(said=line_by("ada", "So.", "wink")), context=SceneContext(turns=2))[
        "lines"
    ]
    assert [(line["kind"], line["text"]) for line in lines] == [("wink", "So."), ("say", "(winks) Well.")]
    assert PRAY.perceived_by == "speaker"
    assert SHOUT.typed == ("shout", "喊")
