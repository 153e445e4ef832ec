"""A persona's moment: prompts and judges know it, and data of personas without one stay the same."""

from pathlib import Path

import pytest

from rolellm_agents.judging.showing import profile_of
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Demonstration, Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.persona.version import persona_version
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.scene import LoadedScene, Scene, Seat
from rolellm_agents.scene.scene import Director, OpeningLine, Stop
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.graph import staged_scene_graph
from rolellm_graphs.scene.state import SceneContext, SceneInput

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada keeps the lamp.",
    demonstrations=(Demonstration(user="Who are you?", reply="Ada."),),
)
THEN = ADA.model_copy(update={"moment": "the night before the storm."})
KNOWN = (
    "The story has come to this moment and no further: the night before the storm. Ada knows what happened"
)


@pytest.mark.parametrize(
    "strategy", ["zero-shot", "few-shot-prompt", "few-shot-dialogue", "retrieval", "system"]
)
def test_every_instruction_says_at_which_moment_the_character_speaks(strategy: str) -> None:
    first, *_ = Prompting(THEN, strategy, user="Jon").compose([], [], "When did the lamp break?")
    assert "Ada keeps the lamp.\n" + KNOWN in first.text
    plain, *_ = Prompting(ADA, strategy, user="Jon").compose([], [], "When did the lamp break?")
    assert first.text.replace(f"\n{_moment_of(first.text)}", "") == plain.text


def _moment_of(text: str) -> str:
    begin = text.index("The story has come")
    return text[begin : text.index("of what comes later.", begin) + len("of what comes later.")]


def test_judges_know_the_moment() -> None:
    assert KNOWN in profile_of(THEN)
    assert "The story has come" not in profile_of(ADA)


async def test_so_do_the_characters_of_a_scene() -> None:
    scene = Scene(
        id="one",
        title="One",
        setting="A pier.",
        cast=(
            Seat(id="ada", persona="ada", name="Ada"),
            Seat(id="jon", name="Jon", about="Jon mends nets."),
        ),
        opening=(OpeningLine(speaker="jon", text="Well?"),),
        director=Director(kind="round-robin"),
        stop=Stop(turns=1, silent=4),
    )
    jon = Persona(id="jon", name="Jon", description="Jon mends nets.")
    model = ScriptedChatModel(replies=["I keep it lit."])
    loaded = LoadedScene(scene=scene, personas={"ada": THEN, "jon": jon})
    await staged_scene_graph(Ensemble(loaded, model=model)).ainvoke(
        SceneInput(lines=[]), context=SceneContext(seed=0)
    )
    assert KNOWN in model.calls[0][0].text


def test_a_persona_without_a_moment_is_the_same_data_as_before(tmp_path: Path) -> None:
    assert "moment" not in ADA.model_dump()
    assert "moment" not in ADA.model_dump_json()
    assert Persona.model_validate(THEN.model_dump()) == THEN
    assert persona_version(THEN) != persona_version(ADA)
    file = tmp_path / "ada.yaml"
    file.write_text("id: ada\nname: Ada\ndescription: Ada keeps the lamp.\nmoment: before the storm\n")
    assert load_persona(str(file)).moment == "before the storm"


def test_macros_are_filled_in_a_moment() -> None:
    persona = ADA.model_copy(update={"moment": "{{char}} has just met {{user}}"})
    assert with_macros(persona, "Jon").moment == "Ada has just met Jon"


def test_a_chinese_moment_is_said_in_chinese() -> None:
    persona = Persona(id="li", name="李", language="zh", description="李守灯。", moment="风暴前夜。")
    first, *_ = Prompting(persona, "system", user="").compose([], [], "灯呢？")
    assert "还没有往下：风暴前夜。李知道此前发生的事" in first.text
