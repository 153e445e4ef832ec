"""The scene as tokens, the same for every engine; nothing here knows a model."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Tokenize = Callable[[str], list[int]]
Render = Callable[[Sequence[dict[str, str]]], str]
"""A chat template: turns to the prompt's text, ready for the model's answer."""

OPENING = (
    "The storm has closed the road, and the last train has gone. In the waiting room there is one lamp, "
    "one stove and one chair too few. Somebody must begin, and tell the others why they are here."
)
NARRATOR = "Narrator"
ROOM = 4096
"""Tokens of context that every character has, or more where the scene needs it."""


class Role(NamedTuple):
    """Somebody on the stage."""

    name: str
    card: str
    """The system turn's text."""


@dataclass(frozen=True)
class WorkloadScene:
    """All that is known before anybody speaks."""

    heads: list[list[int]]
    """For each character the card and the narrator's opening, up to its last word."""
    names: list[list[int]]
    """What stands before a character's line in the others' prompts."""
    to_user: list[int]
    """From a user's turn to the next user's turn."""
    to_reply: list[int]
    """From a user's turn to where the answer begins."""
    after_reply: list[int]
    """From the end of an answer to the next user's turn."""
    turns: int
    reply: int
    """Tokens of every line."""

    @property
    def longest(self) -> int:
        """More tokens than any character's prompt and answer can come to."""
        marks = max(map(len, (self.to_user, self.to_reply, self.after_reply)))
        line = marks + max(map(len, self.names)) + self.reply
        return max(map(len, self.heads)) + self.turns * line + marks

    @property
    def room(self) -> int:
        """Tokens of context for a character."""
        return max(ROOM, -(-self.longest // 256) * 256)


class WorkloadTalk:
    """A scene under way: what each character has heard, each prompt going on where its last one ended."""

    def __init__(self, scene: WorkloadScene) -> None:
        """Begin with the narrator's opening."""
        self._scene = scene
        self.heard = [list(head) for head in scene.heads]
        """For each character all tokens so far; its next prompt begins with them."""
        self._spoke_last: int | None = None

    def prompt(self, character: int) -> list[int]:
        """What a character is asked with."""
        if character == self._spoke_last:
            raise ValueError("nobody speaks twice in a row: the others' lines stand between one's own")
        return self.heard[character] + self._scene.to_reply

    def say(self, speaker: int, line: Sequence[int]) -> None:
        """Let everybody hear a line: the speaker as its own answer, the others with its name."""
        scene = self._scene
        for character, heard in enumerate(self.heard):
            if character == speaker:
                heard += [*scene.to_reply, *line]
            else:
                mark = scene.after_reply if character == self._spoke_last else scene.to_user
                heard += [*mark, *scene.names[speaker], *line]
        self._spoke_last = speaker


def make_scene(
    roles: Sequence[Role], *, tokenize: Tokenize, render: Render, card_tokens: int, turns: int, reply: int
) -> WorkloadScene:
    """The scene in a model's tokens and its own chat template.

    Args:
        roles: who is on the stage, two at least.
        tokenize: text, special marks and all, to tokens; nothing is put first.
        render: the model's chat template.
        card_tokens: where a card is cut.
        turns: lines to be spoken, in turn.
        reply: tokens of a line.
    """
    before_card, after_card, *between = map(tokenize, _marks(render))
    opening = tokenize(f"{NARRATOR}: {OPENING}")
    cards = (tokenize(role.card)[:card_tokens] for role in roles)
    return WorkloadScene(
        heads=[[*before_card, *card, *after_card, *opening] for card in cards],
        names=[tokenize(f"{role.name}: ") for role in roles],
        to_user=between[0],
        after_reply=between[2],
        to_reply=between[3],
        turns=turns,
        reply=reply,
    )


def _marks(render: Render) -> list[str]:
    """What a template writes around contents: before system, to user, user, assistant, user, answer."""
    roles = ("system", "user", "user", "assistant", "user")
    said = [{"role": role, "content": f"@{place}@"} for place, role in enumerate(roles)]
    return re.split(r"@\d@", render(said))


def slices(tokens: Sequence[int], count: int, length: int) -> list[list[int]]:
    """`count` prompts of `length` tokens, one after another from a text."""
    if len(tokens) < count * length:
        raise ValueError(f"the text has {len(tokens)} tokens and not {count} times {length}")
    return [list(tokens[start : start + length]) for start in range(0, count * length, length)]


def shared_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two prompts begin with in common."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
