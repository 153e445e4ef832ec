"""The scene in tokens, which is the same for every engine and independent of the model."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Tokenize = Callable[[str], list[int]]
Render = Callable[[Sequence[dict[str, str]]], str]
"""A chat template: converts turns to a prompt that ends where the model's answer begins."""

OPENING = (
    "The storm has closed the road, and the last train has gone. In the waiting room there is one lamp, "
    "one stove and one chair too few. Somebody must begin, and tell the others why they are here."
)
NARRATOR = "Narrator"
ROOM = 4096
"""The least context of a character, in tokens."""


class Role(NamedTuple):
    """A character of the scene."""

    name: str
    card: str
    """The text of the system message."""


@dataclass(frozen=True)
class WorkloadScene:
    """The scene before the first line."""

    heads: list[list[int]]
    """For each character the card and the narrator's opening."""
    names: list[list[int]]
    """The name before each character's lines in the other characters' prompts."""
    to_user: list[int]
    """Template tokens between two user turns."""
    to_reply: list[int]
    """Template tokens between a user turn and the answer."""
    after_reply: list[int]
    """Template tokens between an answer and the next user turn."""
    turns: int
    reply: int
    """Number of tokens of every line."""

    @property
    def longest(self) -> int:
        """An upper bound of the tokens of a character's prompt and answer."""
        marks = max(map(len, (self.to_user, self.to_reply, self.after_reply)))
        line = marks + max(map(len, self.names)) + self.reply
        return max(map(len, self.heads)) + self.turns * line + marks

    @property
    def room(self) -> int:
        """The context size of a character, in tokens."""
        return max(ROOM, -(-self.longest // 256) * 256)


class WorkloadTalk:
    """A running scene with each character's prompt, which continues its previous one."""

    def __init__(self, scene: WorkloadScene) -> None:
        """Start with the narrator's opening."""
        self._scene = scene
        self.heard = [list(head) for head in scene.heads]
        """All tokens of each character so far, with which its next prompt begins."""
        self._spoke_last: int | None = None

    def prompt(self, character: int) -> list[int]:
        """The next prompt of a character."""
        if character == self._spoke_last:
            raise ValueError("nobody speaks twice in a row: the others' lines stand between one's own")
        return self.heard[character] + self._scene.to_reply

    def say(self, speaker: int, line: Sequence[int]) -> None:
        """Add a line to all prompts, as an answer for the speaker and with the name for the others."""
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
        roles: at least two characters.
        tokenize: converts text with special tokens to tokens, without a BOS token.
        render: the model's chat template.
        card_tokens: the number of tokens to which cards are truncated.
        turns: number of lines.
        reply: number of tokens of a line.
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
    """A template's text around contents: before system, then to user, user, assistant, user, answer."""
    roles = ("system", "user", "user", "assistant", "user")
    said = [{"role": role, "content": f"@{place}@"} for place, role in enumerate(roles)]
    return re.split(r"@\d@", render(said))


def slices(tokens: Sequence[int], count: int, length: int) -> list[list[int]]:
    """`count` consecutive slices of a text, of `length` tokens each."""
    if len(tokens) < count * length:
        raise ValueError(f"the text has {len(tokens)} tokens and not {count} times {length}")
    return [list(tokens[start : start + length]) for start in range(0, count * length, length)]


def shared_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """The number of tokens of the common prefix of two prompts."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
