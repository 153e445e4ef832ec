"""Choose demonstrations: pairs of a line to the role and the role's answer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from rolellm_agents.persona.from_script.wording import length, shortened, shortened_front, words
from rolellm_agents.scripts.script import Script, ScriptPassage
from rolellm_agents.text.language import Language
from rolellm_agents.text.phrases import is_heard

_FAR = 2
"""The most passages without speech between a line and its answer."""
_QUESTION_WORDS = (2, 60)
_REPLY_WORDS = (6, 90)
_BEST_WORDS = (15, 60)
_CERTAIN = {"named": 1.0, "pronoun": 0.8, "turn": 0.5, "none": 0.0}


@dataclass(frozen=True)
class Pair:
    """A line to the role and its answer."""

    user: str
    reply: str
    place: str
    scene: int
    certainty: float
    """How certainly the reply is the role's, from 0 to 1."""


def find_pairs(script: Script, names: Sequence[str]) -> list[Pair]:
    """All pairs of another speaker's turn and the role's answer, in the source's order.

    Consecutive speeches of one speaker are joined; long ones are cut at the end of a sentence.
    """
    turns = list(_turns(script.passages, set(names)))
    pairs = []
    for before, answer in pairwise(turns):
        if answer.is_role and not before.is_role and _is_near(before, answer):
            user = shortened_front(before.text, script.language, _QUESTION_WORDS[1])
            reply = shortened(answer.text, script.language, _REPLY_WORDS[1])
            if length(user, script.language) >= _QUESTION_WORDS[0]:
                pairs.append(Pair(user, reply, answer.first.place, answer.first.scene, answer.certainty))
    return pairs


@dataclass(frozen=True)
class _Turn:
    """Consecutive speeches of one speaker."""

    is_role: bool
    first: ScriptPassage
    begins: int
    ends: int
    text: str
    certainty: float


def _turns(passages: Sequence[ScriptPassage], names: set[str]) -> Iterator[_Turn]:
    spoken = [(number, passage) for number, passage in enumerate(passages) if passage.speech]
    for (speaker, _), run in groupby(spoken, key=lambda item: (item[1].speaker, item[1].scene)):
        speeches = list(run)
        yield _Turn(
            is_role=speaker in names,
            first=speeches[0][1],
            begins=speeches[0][0],
            ends=speeches[-1][0],
            text=" ".join(passage.speech for _, passage in speeches),
            certainty=min(_CERTAIN[passage.certainty] for _, passage in speeches),
        )


def _is_near(before: _Turn, answer: _Turn) -> bool:
    return before.first.scene == answer.first.scene and answer.begins - before.ends <= _FAR


def choose_pairs(
    pairs: Sequence[Pair], language: Language, count: int, habits: Sequence[str] = ()
) -> list[Pair]:
    """Choose the pairs that show the voice best.

    Pairs score by length, certainty, rare words and by whether they contain one of the `habits`. The choice
    is spread over the scenes and has no two replies with the same opening.

    Returns:
        At most `count` pairs, in the source's order.
    """
    usable = [pair for pair in pairs if length(pair.reply, language) >= _REPLY_WORDS[0]]
    usable = usable if len(usable) >= min(2, len(pairs)) else list(pairs)
    common = Counter(word.casefold() for pair in pairs for word in set(words(pair.reply, language)))
    ranked = sorted(usable, key=lambda pair: (-_score(pair, language, common, habits), pair.place))
    scenes = len({pair.scene for pair in usable})
    chosen: list[Pair] = []
    openings: set[str] = set()
    for most_of_a_scene in (max(1, -(-count // max(1, scenes))), count):
        for pair in ranked:
            opening = " ".join(words(pair.reply, language)[:3]).casefold()
            of_scene = sum(other.scene == pair.scene for other in chosen)
            if len(chosen) < count and opening not in openings and of_scene < most_of_a_scene:
                chosen.append(pair)
                openings.add(opening)
    place = {pair: number for number, pair in enumerate(pairs)}
    return sorted(chosen, key=lambda pair: place[pair])


def _score(pair: Pair, language: Language, common: Counter[str], habits: Sequence[str]) -> float:
    size = length(pair.reply, language)
    least, most = _BEST_WORDS
    of_length = min(1.0, size / least, most / max(size, 1))
    vocabulary = {word.casefold() for word in words(pair.reply, language)}
    rare = sum(common[word] == 1 for word in vocabulary) / max(1, len(vocabulary))
    is_question = 0.3 if pair.user.rstrip("\"'”’」").endswith(("?", "？")) else 0.0
    habit = 0.5 if any(is_heard(phrase, pair.reply, language) for phrase in habits) else 0.0
    return of_length + pair.certainty + rare + is_question + habit
