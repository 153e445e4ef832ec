"""Questions for a blind reading: turns of the corpus's test conversations, later turns included."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rolellm_agents.corpus.splits import Split, SplitConversation
from rolellm_agents.judging import ConversationTurn
from rolellm_agents.persona import Persona
from rolellm_agents.runs.seeds import digest_of


@dataclass(frozen=True, kw_only=True)
class OpenQuestion:
    """A user's line to a persona, with the conversation before it."""

    key: str
    """Unique, such as `shrek/120/2` for the second exchange of the conversation at line 120."""
    persona: Persona
    turns: tuple[ConversationTurn, ...]
    """The conversation; the last turn is the user's line to answer."""
    reference: str
    """The reply that the corpus has."""
    split: Split


def open_questions(
    conversations: Iterable[SplitConversation], *, limit: int | None = None, seed: int = 0
) -> list[OpenQuestion]:
    """Sample questions that no training learns, half of them to personas that no training learns.

    The sample is spread over personas. If one split has too few questions, the other fills the sample.

    Args:
        conversations: of all personas, with their splits.
        limit: the most questions; None for all.
        seed: of the sample.
    """
    by_split: defaultdict[Split, defaultdict[str, list[OpenQuestion]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in conversations:
        if one.split != "train":
            by_split[one.split][one.persona.id] += _questions_of(one)
    queues = [
        _alternating([_shuffled(questions, seed) for questions in personas.values()])
        for _, personas in sorted(by_split.items())
    ]
    return _alternating(queues)[:limit]


def _questions_of(one: SplitConversation) -> Iterator[OpenQuestion]:
    turns: list[ConversationTurn] = []
    for number, exchange in enumerate(one.conversation.exchanges, 1):
        turns.append(ConversationTurn("user", exchange.user))
        yield OpenQuestion(
            key=f"{one.persona.id}/{one.conversation.line}/{number}",
            persona=one.persona,
            turns=tuple(turns),
            reference=exchange.reply,
            split=one.split,
        )
        turns.append(ConversationTurn("persona", exchange.reply))


def _shuffled(questions: Sequence[OpenQuestion], seed: int) -> list[OpenQuestion]:
    return sorted(questions, key=lambda question: digest_of(f"{seed}/{question.key}"))


def _alternating(queues: Sequence[Sequence[OpenQuestion]]) -> list[OpenQuestion]:
    """The first of every queue, then the second of every queue, and so on."""
    return [one for row in zip_longest(*queues) for one in row if one is not None]
