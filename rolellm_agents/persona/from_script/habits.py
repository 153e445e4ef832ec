"""Verbal habits by statistics: what a role says again and again, and the others do not.

Phrases are weighed by the log-odds ratio with an informative Dirichlet prior (Monroe, Colaresi and Quinn,
“Fightin' Words”, Political Analysis 2008), whose z-score knows that rare things may be chance.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from rolellm_agents.persona.from_script.wording import clauses, joined, words
from rolellm_agents.text.language import Language

_LONGEST = 5
_OFTEN = 3
"""A habit is heard in at least so many speeches."""
_PRIOR = 500
"""How many phrases the prior counts for, in a long text."""
_SURE = 1.64
"""The z-score of a habit: one in twenty by chance."""
_ARTICLES = {"a", "an", "the", "his", "her", "their", "that", "this", "of", "to", "and"}
"""A phrase that begins so names a thing and is no way of speaking."""
_OWNERS = {"my", "your", "our", "thy"}
"""So does “my father”; “my good friend” does not."""
_SWALLOWED = 0.6
"""A phrase that stands so often inside a longer habit is not named beside it."""
_SMALL: dict[Language, Set[str]] = {
    "en": frozenset(
        re.findall(
            r"\w+",
            """a an the and or but if of to in on at by for with from as is are was were be been am do does
            did have has had will would shall should can could may might must not no so that this it its he
            she they we you i me him her them us my your his their our there here what which who whom when
            where how than then too very all any some such one out up down into""",
        )
    ),
    "zh": frozenset("的了是在我你他她它们也就都不有和与这那个人说道着过吗呢吧啊")
    | {"我们", "你们", "他们"},
}


def find_habits(
    own: Sequence[str],
    others: Sequence[str],
    language: Language,
    *,
    names: Iterable[str] = (),
    most: int = 8,
) -> list[str]:
    """Phrases that mark how somebody speaks, the most telling first.

    Args:
        own: the role's speeches.
        others: everybody else's.
        language: of both.
        names: whoever is called by name is no habit.
        most: how many to return.
    """
    called = {word.casefold() for name in names for word in words(name, language)}
    held_by: dict[tuple[str, ...], set[int]] = defaultdict(set)
    written: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    mine: Counter[tuple[str, ...]] = Counter()
    for number, speech in enumerate(own):
        for phrase in _phrases(speech, language):
            key = tuple(word.casefold() for word in phrase)
            mine[key] += 1
            held_by[key].add(number)
            written[key][joined(phrase, language)] += 1
    theirs = Counter(
        tuple(word.casefold() for word in phrase)
        for speech in others
        for phrase in _phrases(speech, language)
    )
    scores = {
        phrase: score
        for phrase, score in _z_scores(mine, theirs).items()
        if len(held_by[phrase]) >= _OFTEN and score > _SURE and _says_something(phrase, language, called)
    }
    ranked = sorted(scores, key=lambda phrase: (-scores[phrase] * math.sqrt(len(phrase)), phrase))
    return [written[phrase].most_common(1)[0][0] for phrase in _apart(ranked, mine)][:most]


def _phrases(speech: str, language: Language) -> Iterator[list[str]]:
    """Runs of two to five words within a clause, and clauses of a single word, such as “Faith”."""
    for clause in clauses(speech):
        held = words(clause, language)
        if len(held) == 1:
            yield held
        for size in range(2, _LONGEST + 1):
            for start in range(len(held) - size + 1):
                yield held[start : start + size]


def _z_scores(
    mine: Mapping[tuple[str, ...], int], theirs: Mapping[tuple[str, ...], int]
) -> dict[tuple[str, ...], float]:
    """How sure it is that a phrase is more mine than theirs; the prior is both texts together."""
    total_mine, total_theirs = sum(mine.values()), sum(theirs.values())
    if not total_mine or not total_theirs:
        return dict.fromkeys(mine, math.inf)
    weight = min(_PRIOR, (total_mine + total_theirs) / 10)
    scale = weight / (total_mine + total_theirs)
    scores = {}
    for phrase, count in mine.items():
        other = theirs.get(phrase, 0)
        prior = (count + other) * scale
        odds = math.log((count + prior) / (total_mine + weight - count - prior))
        odds -= math.log((other + prior) / (total_theirs + weight - other - prior))
        scores[phrase] = odds / math.sqrt(1 / (count + prior) + 1 / (other + prior))
    return scores


def _says_something(phrase: tuple[str, ...], language: Language, called: Set[str]) -> bool:
    """Not only small words and names, and no beginning or end that hangs in the air."""
    small = _SMALL[language]
    if all(word in small or word in called for word in phrase) or any(word.isdigit() for word in phrase):
        return False
    if len(phrase) == 1:
        return True
    names_a_thing = phrase[0] in _ARTICLES or (len(phrase) == 2 and phrase[0] in _OWNERS)
    return phrase[-1] not in small and not names_a_thing


def _apart(
    ranked: Sequence[tuple[str, ...]], counts: Mapping[tuple[str, ...], int]
) -> Iterator[tuple[str, ...]]:
    """Without phrases that are hardly more than a part, or an extension, of one that stands already."""
    kept: list[tuple[str, ...]] = []
    for phrase in ranked:
        relatives = [other for other in kept if _contains(other, phrase) or _contains(phrase, other)]
        longer = [
            other
            for other in ranked
            if other != phrase and _contains(other, phrase) and counts[other] >= _SWALLOWED * counts[phrase]
        ]
        if not relatives and not longer:
            kept.append(phrase)
            yield phrase


def _contains(long: tuple[str, ...], short: tuple[str, ...]) -> bool:
    size = len(short)
    return len(long) > size and any(
        long[start : start + size] == short for start in range(len(long) - size + 1)
    )
