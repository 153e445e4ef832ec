"""Training conversations from the cast's corpus, in the forms in which a model is asked.

Prompts come from the same functions as in chats and scenes, so that training and inference use one format.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.corpus.scenes import CorpusScene
from rolellm_agents.corpus.splits import SplitConversation
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.scene.line import is_turn
from rolellm_agents.scene.view import history_for, instruction_for, render_own_line
from rolellm_train.data.card_shapes import in_another_shape
from rolellm_train.data.encoding import Encoded, Encoder
from rolellm_train.data.rows import STRATEGY
from rolellm_train.recipe import Form

Turn = tuple[Sequence[BaseMessage], str]
"""A prompt and its answer."""


@dataclass(frozen=True)
class WrittenConversation:
    """A conversation of the corpus with its prompts."""

    group: str
    """Conversations of one group begin with the same instruction."""
    source: Literal["corpus", "scenes"]
    turns: tuple[Turn, ...]


def written_conversations(
    conversations: Iterable[SplitConversation], forms: Mapping[Form, float], *, seed: int
) -> Iterator[WrittenConversation]:
    """Compose the prompts of conversations, each in a form that is drawn by its weight.

    Args:
        conversations: of any persona.
        forms: weights of the forms.
        seed: of the draw.
    """
    rng = random.Random(seed)  # noqa: S311  # no secret
    names, weights = [*forms], [*forms.values()]
    ready: dict[tuple[str, Form], Prompting] = {}
    for one in conversations:
        (form,) = rng.choices(names, weights)
        persona = with_macros(one.persona, DEFAULT_USER)
        if form == "card":
            shaped = Prompting(in_another_shape(persona, rng), STRATEGY, user=DEFAULT_USER)
            yield _written(f"{persona.id} as a card", shaped, one.conversation.exchanges)
            continue
        prompting = ready.get((persona.id, form))
        if prompting is None:
            prompting = ready[persona.id, form] = Prompting(persona, form, user=DEFAULT_USER)
        yield _written(f"{persona.id} under {form}", prompting, one.conversation.exchanges)


def _written(group: str, prompting: Prompting, exchanges: Sequence[Demonstration]) -> WrittenConversation:
    history: list[BaseMessage] = []
    turns: list[Turn] = []
    for exchange in exchanges:
        recalled = prompting.look_up(history, exchange.user, {}, seed=0).recalled
        turns.append((prompting.compose(history, recalled, exchange.user), exchange.reply))
        history += [HumanMessage(exchange.user), AIMessage(exchange.reply)]
    return WrittenConversation(group, "corpus", tuple(turns))


def scene_conversations(scenes: Iterable[CorpusScene]) -> Iterator[WrittenConversation]:
    """Each scene as each of its characters sees it: what it witnessed, and its own lines as answers."""
    for scene in scenes:
        for seat, persona in scene.loaded.personas.items():
            turns = tuple(_scene_turns(scene, seat, persona))
            if turns:
                yield WrittenConversation(f"{scene.loaded.scene.id} {seat}", "scenes", turns)


def _scene_turns(scene: CorpusScene, seat: str, persona: Persona) -> Iterator[Turn]:
    prompting = Prompting(persona, STRATEGY, user=DEFAULT_USER)
    for place, line in enumerate(scene.lines):
        if line["speaker"] != seat or not is_turn(line):
            continue
        before = scene.lines[:place]
        *history, last = history_for(scene.loaded, seat, before)
        instruction = instruction_for(scene.loaded, seat, before)
        prompt = prompting.compose(history, [], last.text, scene=instruction)
        yield prompt, render_own_line(scene.loaded, line)


def encoded_written(
    conversations: Iterable[WrittenConversation], encoder: Encoder, longest: int
) -> tuple[list[Encoded], int]:
    """Encode conversations. The last turns of one that is too long are left out.

    Returns:
        What is no longer than `longest` tokens, and how many turns are left out.
    """
    short: list[Encoded] = []
    left_out = 0
    for conversation in conversations:
        turns = list(conversation.turns)
        while turns:
            row = encoder.encode(conversation.group, turns)
            if len(row.ids) <= longest:
                short.append(row)
                break
            turns.pop()
            left_out += 1
    return short, left_out
