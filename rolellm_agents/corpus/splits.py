"""Divide the corpus into training and test so that no test question is learned."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal

from rolellm_agents.corpus.checks import length_of
from rolellm_agents.corpus.conversations import CorpusConversation, PersonaCorpus
from rolellm_agents.corpus.location import persona_of
from rolellm_agents.corpus.scenes import CorpusScene
from rolellm_agents.datasets.held_out import is_held_out
from rolellm_agents.persona import Persona
from rolellm_agents.text.language import Language, language_of
from rolellm_agents.text.near_copies import near_copies
from rolellm_agents.text.phrases import bare

Split = Literal["train", "test_questions", "test_personas"]
SPLITS: Final[tuple[Split, ...]] = ("train", "test_questions", "test_personas")
"""`test_questions`: learned personas, other questions. `test_personas`: the held-out roles."""

_TENTH = 10
_SAME = 0.8
"""Two questions that share so many of their runs of words are the same question."""
_SHORTEST: Final[Mapping[Language, int]] = {"en": 5, "zh": 8}
"""Shorter questions ("Why?", "What is your name?") are asked everywhere and tie nothing together."""


@dataclass(frozen=True)
class SplitConversation:
    """A conversation with its persona and its split."""

    persona: Persona
    conversation: CorpusConversation
    split: Split


def split_conversations(
    corpora: Sequence[PersonaCorpus], personas: Mapping[str, Persona]
) -> list[SplitConversation]:
    """Divide conversations; those that share a question are in the same split.

    Args:
        corpora: of all personas.
        personas: by id.

    Raises:
        CorpusError: the corpus has conversations of an unknown persona.
    """
    pairs = [
        (persona_of(corpus, personas), conversation)
        for corpus in corpora
        for conversation in corpus.conversations
    ]
    learned = [place for place, (persona, _) in enumerate(pairs) if not is_held_out(persona.name)]
    tested = {
        learned[place]
        for group in _groups([pairs[place][1] for place in learned])
        if _is_tested(_text(pairs[learned[group[0]]][1]))
        for place in group
    }
    return [
        SplitConversation(persona, conversation, _split(persona, place in tested))
        for place, (persona, conversation) in enumerate(pairs)
    ]


def split_of_scene(scene: CorpusScene) -> Split:
    """The split of a scene: `test_personas` if a held-out role is in it."""
    if any(is_held_out(persona.name) for persona in scene.loaded.personas.values()):
        return "test_personas"
    return "test_questions" if _is_tested(scene.loaded.scene.title) else "train"


def _split(persona: Persona, tested: bool) -> Split:
    if is_held_out(persona.name):
        return "test_personas"
    return "test_questions" if tested else "train"


def _is_tested(text: str) -> bool:
    return int.from_bytes(sha256(bare(text).encode()).digest()[:4]) % _TENTH == 0


def _text(conversation: CorpusConversation) -> str:
    return conversation.exchanges[0].user


def _groups(conversations: Sequence[CorpusConversation]) -> Iterable[list[int]]:
    """Groups of conversations that share a question, each sorted by its first questions."""
    owners, questions = [], []
    for place, conversation in enumerate(conversations):
        for exchange in conversation.exchanges:
            language = language_of(exchange.user)
            if length_of(exchange.user, language) >= _SHORTEST[language]:
                owners.append(place)
                questions.append(exchange.user)
    root = list(range(len(conversations)))

    def find(place: int) -> int:
        while root[place] != place:
            root[place] = place = root[root[place]]
        return place

    for first, second, _ in near_copies(questions, at_least=_SAME):
        root[find(owners[first])] = find(owners[second])
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for place in range(len(conversations)):
        groups[find(place)].append(place)
    return [sorted(group, key=lambda place: _text(conversations[place])) for group in groups.values()]
