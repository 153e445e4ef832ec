"""Verbal habits: phrases that a role uses significantly more often than the other speakers.

Phrases are ranked by the log-odds ratio with an informative Dirichlet prior (Monroe, Colaresi and Quinn,
“Fightin' Words”, Political Analysis 2008), whose z-score accounts for the uncertainty of rare phrases.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from rolellm_agents.persona.from_script.wording import clauses, joined, words
from rolellm_agents.text.language import Language

_LONGEST = 5
_OFTEN = 3
"""The least number of speeches in which a habit occurs."""
_PRIOR = 500
"""The weight of the prior in phrases, for a long text."""
_SURE = 1.64
"""The least z-score of a habit (p < 0.05, one-sided)."""
_ARTICLES = {"a", "an", "the", "his", "her", "their", "that", "this", "of", "to", "and"}
"""First words of phrases that name a thing, which are not habits."""
_OWNERS = {"my", "your", "our", "thy"}
"""The same for phrases of two words: “my father” names a thing, “my good friend” may be a habit."""
_PRONOUNS = frozenset(re.findall(r"\w+", "i you he she it we they thou ye"))
_SPEAKERS = {"i", "you", "thou"}
_BEGINS = 0.5
"""The least share of occurrences that begin a clause: “upon my word” does, “in the room” does not."""
_ALONE = 0.5
"""The least share of occurrences as a whole clause for a pronoun with a verb, such as “you know”."""
_SWALLOWED = 0.6
"""The least share of a phrase's occurrences inside a longer phrase that excludes the shorter one."""
_SMALL: dict[Language, Set[str]] = {
    "en": frozenset(
        re.findall(
            r"\w+",
            """a an the and or but if of to in on at by for with from as is are was were be been am do does
            did have has had will would shall should can could may might must not no so that this it its he
            she they we you i me him her them us my your his their our there here what which who whom when
            where how than then too very all any some such one out up down into thou thee thy thine ye hath
            hast dost doth art wilt shalt""",
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
    """Phrases that characterise a speaker, most distinctive first.

    Phrases that consist of names of speakers are not habits; at most `most` phrases are returned.
    """
    called = {word.casefold() for name in names for word in words(name, language)}
    speeches_with: dict[tuple[str, ...], set[int]] = defaultdict(set)
    written: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    mine: Counter[tuple[str, ...]] = Counter()
    beginning: Counter[tuple[str, ...]] = Counter()
    alone: Counter[tuple[str, ...]] = Counter()
    for number, speech in enumerate(own):
        for phrase in _phrases(speech, language):
            key = phrase.key
            mine[key] += 1
            beginning[key] += phrase.begins
            alone[key] += phrase.is_clause
            speeches_with[key].add(number)
            written[key][joined(phrase.words, language)] += 1
    theirs = Counter(phrase.key for speech in others for phrase in _phrases(speech, language))
    scores = {
        phrase: score
        for phrase, score in _z_scores(mine, theirs).items()
        if len(speeches_with[phrase]) >= _OFTEN
        and score > _SURE
        and _has_content(phrase, language, called)
        and beginning[phrase] >= _BEGINS * mine[phrase]
        and (not _is_pronoun_with_verb(phrase) or _is_aside(phrase, alone[phrase] / mine[phrase]))
    }
    ranked = sorted(scores, key=lambda phrase: (-scores[phrase] * math.sqrt(len(phrase)), phrase))
    return [written[phrase].most_common(1)[0][0] for phrase in _apart(ranked, mine)][:most]


class _Phrase(NamedTuple):
    """A run of words in a clause."""

    words: Sequence[str]
    begins: bool
    """Whether the clause begins with it."""
    is_clause: bool

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(word.casefold() for word in self.words)


def _phrases(speech: str, language: Language) -> Iterator[_Phrase]:
    """Runs of two to five words within a clause, and clauses of a single word, such as “Faith”."""
    for clause in clauses(speech):
        clause_words = words(clause, language)
        if len(clause_words) == 1:
            yield _Phrase(clause_words, begins=True, is_clause=True)
        for size in range(2, _LONGEST + 1):
            for start in range(len(clause_words) - size + 1):
                yield _Phrase(
                    clause_words[start : start + size],
                    begins=start == 0,
                    is_clause=size == len(clause_words),
                )


def _is_pronoun_with_verb(phrase: tuple[str, ...]) -> bool:
    return len(phrase) == 2 and phrase[0] in _PRONOUNS


def _is_aside(phrase: tuple[str, ...], alone: float) -> bool:
    """Whether a pronoun with a verb is a habit of speech (“you know”), not just a beginning."""
    return phrase[0] in _SPEAKERS and alone >= _ALONE


def _z_scores(
    mine: Mapping[tuple[str, ...], int], theirs: Mapping[tuple[str, ...], int]
) -> dict[tuple[str, ...], float]:
    """The z-score of each phrase's log-odds ratio; the prior is the distribution of both texts together."""
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


def _has_content(phrase: tuple[str, ...], language: Language, called: Set[str]) -> bool:
    """Whether a phrase has more than function words and names, and does not end with a function word."""
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
