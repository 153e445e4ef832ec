"""Conversations and scenes of the corpus as training prompts."""

import random
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.corpus.conversations import PersonaCorpus, parse_persona_corpus
from rolellm_agents.corpus.scenes import read_corpus_scenes
from rolellm_agents.corpus.splits import SplitConversation
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.transcript import Transcript
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage
from rolellm_train.data.card_shapes import SHAPES, in_another_shape
from rolellm_train.data.encoding import Encoded
from rolellm_train.data.material import counted, gather
from rolellm_train.data.written import encoded_written, scene_conversations, written_conversations
from rolellm_train.recipe import load_recipe

HOLMES = load_persona("sherlock-holmes")
TEXT = """\
# sherlock-holmes

## conversation: daily-life
> Did you sleep?
For two hours.

> In the chair?
Beside it.
"""
SCENE = """\
# The last train
setting: A waiting room at midnight.
- sherlock-holmes | goal: Learn what is in the basket.
- shrek | secret: The basket is empty.

shrek: That bench is taken.
sherlock-holmes (thinks): Mud to the knee.
sherlock-holmes: By whom, pray?
shrek (to sherlock-holmes): By me.
sherlock-holmes: *sits on the suitcase*
"""


def conversations() -> list[SplitConversation]:
    corpus: PersonaCorpus = parse_persona_corpus(TEXT)
    return [SplitConversation(HOLMES, one, "train") for one in corpus.conversations]


def shown(prompt: object) -> list[tuple[str, str]]:
    assert isinstance(prompt, list)
    return [(message.type, message.text) for message in prompt]


@pytest.mark.parametrize("form", ["system", "few-shot-dialogue", "retrieval"])
def test_a_conversation_is_learned_under_the_prompts_of_a_chat(form: Any) -> None:
    (written,) = written_conversations(conversations(), {form: 1.0}, seed=0)
    (_, first), (prompt, second) = written.turns
    assert (first, second) == ("For two hours.", "Beside it.")
    prompting = Prompting(HOLMES, form, user="User")
    history: list[BaseMessage] = [HumanMessage("Did you sleep?"), AIMessage("For two hours.")]
    found = prompting.look_up(history, "In the chair?", {}, seed=0).recalled
    assert shown(prompt) == shown(prompting.compose(history, found, "In the chair?"))


def test_a_card_tells_of_the_same_character_in_another_shape() -> None:
    texts = {shape(HOLMES) for shape in SHAPES}
    assert len(texts) == len(SHAPES)
    assert HOLMES.description not in texts
    assert all("Holmes" in text for text in texts)
    (written,) = written_conversations(conversations(), {"card": 1.0}, seed=0)
    instruction = written.turns[0][0][0].text
    assert in_another_shape(HOLMES, random.Random(0)).description in instruction
    assert "You see, but you do not observe" not in instruction or "[Says:" in instruction


def test_forms_are_drawn_by_their_weights() -> None:
    many = conversations() * 400
    written = [*written_conversations(many, {"system": 3.0, "retrieval": 1.0}, seed=1)]
    share = sum(one.group.endswith("under system") for one in written) / len(written)
    assert 0.65 < share < 0.85
    assert written == [*written_conversations(many, {"system": 3.0, "retrieval": 1.0}, seed=1)]


async def test_a_scene_is_learned_under_the_prompts_that_its_seats_get_when_it_is_played(
    tmp_path: Path,
) -> None:
    file = tmp_path / "ten.md"
    file.write_text(SCENE, "utf-8")
    (scene,) = read_corpus_scenes(file)
    written = {one.group: one for one in scene_conversations([scene])}
    assert {group: len(one.turns) for group, one in written.items()} == {
        "the-last-train sherlock-holmes": 3,
        "the-last-train shrek": 2,
    }
    loaded = scene.loaded
    answers = {
        seat: [answer for _, answer in written[f"the-last-train {seat}"].turns] for seat in loaded.seats
    }
    assert answers["sherlock-holmes"] == [
        "(thinks) Mud to the knee.",
        "By whom, pray?",
        "*sits on the suitcase*",
    ]
    assert answers["shrek"][1] == "(whispers to Sherlock Holmes) By me."
    models = {seat: ScriptedChatModel(replies=[*lines], once=True) for seat, lines in answers.items()}
    with Transcript(tmp_path / "transcript.db") as transcript:
        stage = Stage(Ensemble(loaded, models=models), transcript, seed=0)
        for line in scene.lines:
            async for _ in stage.step(speaker=line["speaker"]):
                pass
        assert [(line["speaker"], line["kind"], line["text"]) for line in stage.lines] == [
            (line["speaker"], line["kind"], line["text"]) for line in scene.lines
        ]
    for seat, model in models.items():
        prompts = [prompt for prompt, _ in written[f"the-last-train {seat}"].turns]
        assert [shown(call) for call in model.calls] == [shown([*prompt]) for prompt in prompts]


def test_the_last_turns_of_a_conversation_that_is_too_long_are_left_out() -> None:
    class Words:
        """Counts words."""

        def encode(self, group: str, turns: Any) -> Encoded:
            words = sum(len(answer.split()) for _, answer in turns)
            return Encoded(group, tuple(range(words)), (range(words),))

    (written,) = written_conversations(conversations(), {"system": 1.0}, seed=0)
    encoder: Any = Words()
    for longest, kept, left_out in ((5, [5], 0), (4, [3], 1), (2, [], 2)):
        found = encoded_written([written], encoder, longest)
        assert ([len(row.ids) for row in found[0]], found[1]) == (kept, left_out)


def test_a_recipe_learns_the_training_split_of_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "scenes").mkdir()
    for name in ("sherlock-holmes", "jack-sparrow"):
        singles = "".join(f"> Where is the key number {n} of {n + 9} keys?\nHere.\n" for n in range(40))
        (tmp_path / "en" / f"{name}.md").write_text(f"# {name}\n## single: world\n{singles}", "utf-8")
    (tmp_path / "scenes" / "ten.md").write_text(
        SCENE + SCENE.replace("shrek", "jack-sparrow").replace("The last train", "The first train"), "utf-8"
    )
    monkeypatch.setattr("rolellm_train.data.material.corpus_folder", lambda: tmp_path)
    recipe = load_recipe("smoke").model_copy(
        update={"corpus": 2.0, "scenes": 1.0, "cast": 0.0, "held_out_questions": 3}
    )
    material = gather(recipe, [], [HOLMES, load_persona("jack-sparrow")])
    assert material.learned == []
    assert len(material.written_held_out) == 3
    counts = counted(material)
    assert counts["scenes"] == 2
    assert counts["corpus"] % 2 == 0
    assert 50 < counts["corpus"] <= 74
    assert not any("jack-sparrow" in one.group for one in material.written)
    learned = {turn[0][-1].text for one in material.written for turn in one.turns}
    assert not learned & {turn[0][-1].text for one in material.written_held_out for turn in one.turns}
