"""Speech tags: words beside a quotation that name the speaker, such as “said Elizabeth” or “孙悟空笑道”."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rolellm_agents.scripts.people import NAME, NO_PLACE, TITLES, Gender, People
from rolellm_agents.text.language import Language

_VERBS = (
    "said|says|replied|replies|cried|cries|answered|answers|asked|asks|exclaimed|returned|added|continued|"
    "observed|remarked|whispered|shouted|called|began|repeated|muttered|murmured|thought|went on|responded|"
    "inquired|enquired|demanded|declared|protested|interrupted|interposed|rejoined|sighed|laughed|screamed|"
    "growled|groaned|gasped|sobbed|roared|yelled|snapped|suggested|agreed|admitted|announced|explained|"
    "insisted|objected|ordered|pleaded|promised|retorted|resumed|stammered|urged|warned|wondered|ventured|"
    "put in|broke in|burst out|concluded|conceded|confessed|grumbled|hissed|mumbled|panted|persisted|"
    "pursued|ejaculated|quoth|assured|told|spoke|informed|affirmed|bellowed|grinned|smiled|nodded"
)
_ADVERB = r"(?:\w+ly |then |now |at last |only |again |also |at length |in reply |soon |just )?"
_NOUN = r"(?:[Hh]is|[Hh]er|[Tt]he|[Aa]n?|[Tt]heir|[Mm]y|[Oo]ur) (?:[a-z]+ )?[a-z]+"
_WHO = rf"{NAME}|[Hh]e\b|[Ss]he\b|I\b|{_NOUN}"
_AFTER = re.compile(
    rf"\|\s*(?:{_ADVERB}(?:{_VERBS})\s+(?P<after>{_WHO})|(?P<before>{_WHO})\s+{_ADVERB}(?:{_VERBS})\b)"
)
_AHEAD = re.compile(
    rf"(?:^|[.;!?,]\s+|\b(?:and|then|but|when)\s+)(?P<ahead>{_WHO})\s+{_ADVERB}(?:{_VERBS})\b"
    r"[^|.!?]*[,:;.—-]*\s*\|"
)
_VOCATIVE = re.compile(
    rf"(?:^|[,.!?;:—-]\s*)(?:(?:[Mm]y )?(?:[Dd]ear(?:est)?|poor|good) )?(?P<name>{NAME})(?=[,.!?;])"
)
_WOMEN = {
    *re.findall(r"\w+", "wife lady mother sister daughter aunt niece woman girl queen grandmother"),
}
_MEN = {
    *re.findall(r"\w+", "husband gentleman father brother son uncle nephew man boy king grandfather"),
}
_KIN = {
    **dict.fromkeys(("wife", "lady"), "wife"),
    "husband": "husband",
    **dict.fromkeys(("mother", "mamma"), "mother"),
    **dict.fromkeys(("father", "papa"), "father"),
}
_GOES_ON = re.compile(r"\b(?:continued|added|went on|resumed|repeated|pursued|concluded)\b")
_TITLE = rf"(?:{'|'.join(sorted(TITLES))})\b"
_TITLED = re.compile(rf"\b{_TITLE}\.? (?:St\. )?(?!{_TITLE})[A-Z][a-z]+\b{NO_PLACE}")
_NARRATES = 3
"""The least number of “I said” in a story that its narrator takes part in."""
_ADDRESSED = 3
"""The least number of times that a narrator is addressed by name, if the name is to be known."""
_NAMELESS: dict[Language, str] = {"en": "the narrator", "zh": "叙述者"}
_NOT_NAMES = {
    *re.findall(r"\w+", "i it and but then when so this that there what oh yes no you we they he she as"),
    *("at", "in", "if", "not", "after", "here", "now", "well", "how"),
}
_HAN_VERB = r"(?:道|说|曰|问|答)"
_HAN_AHEAD = re.compile(
    rf"(?:^|[，。；！？、\s|])(?P<clause>[\u3400-\u9fff]{{1,12}}?){_HAN_VERB}{{1,2}}[：:，,]?\s*\|"
)
_HAN_AFTER = re.compile(rf"\|\s*(?P<clause>[\u3400-\u9fff]{{1,8}}?){_HAN_VERB}{{1,2}}[，。：:]")
_LONGEST_HAN_NAME = 4
_SAME_NAME = 0.6
"""The least frequency of a longer prefix, relative to the shorter one, that extends a name."""


@dataclass(frozen=True)
class Tag:
    """The speaker in a speech tag: a person, a pronoun, or a noun that does not identify a person."""

    name: str = ""
    gender: Gender | None = None
    kin: str = ""
    """Wife, husband, mother or father of a person who was just named."""
    is_narrator: bool = False
    goes_on: bool = False
    """Whether the verb says that the last speaker continues."""


def likely_names(narration: Sequence[str], language: Language) -> Iterator[str]:
    """Names beside verbs of speech and titled names anywhere, each as often as it is found.

    Args:
        narration: the paragraphs, with a bar in place of each quotation.
        language: the text's language.
    """
    if language == "zh":
        yield from _chinese_names(narration)
        return
    for paragraph in narration:
        yield from _TITLED.findall(paragraph)
        for found in (*_AFTER.finditer(paragraph), *_AHEAD.finditer(paragraph)):
            who = _who(found)
            is_name = re.fullmatch(NAME, who) and who.split()[0].casefold() not in _NOT_NAMES
            if is_name and who not in TITLES:
                yield who


def _chinese_names(narration: Sequence[str]) -> Iterator[str]:
    """Names at the beginning of the clauses before “道”; frequencies of prefixes decide their length."""
    clauses = [
        found["clause"]
        for paragraph in narration
        for found in (*_HAN_AHEAD.finditer(paragraph), *_HAN_AFTER.finditer(paragraph))
        if found["clause"][0] not in "他她它我"
    ]
    counted = Counter(
        clause[:size]
        for clause in clauses
        for size in range(1, _LONGEST_HAN_NAME + 1)
        if len(clause) >= size
    )
    for clause in clauses:
        name = clause[:2]
        while len(name) < min(len(clause), _LONGEST_HAN_NAME):
            longer = clause[: len(name) + 1]
            if counted[longer] < _SAME_NAME * counted[name]:
                break
            name = longer
        yield name


def find_narrator(narration: Sequence[str], speeches: Sequence[str], language: Language) -> str:
    """A name of the person who tells a story in the first person and speaks in it.

    It is the name by which the speeches address somebody most often who is never the speaker in a speech
    tag, because the narrator speaks as “I”.

    Args:
        narration: the paragraphs, with a bar in place of each quotation.
        speeches: the words of the quotations.
        language: the text's language.

    Returns:
        “the narrator” if nobody addresses the narrator by name; empty if nobody says “I said”.
    """
    if sum(map(_is_told_by_speaker, narration)) < _NARRATES:
        return ""
    if language == "zh":
        return _NAMELESS[language]
    speakers = {word for name in likely_names(narration, language) for word in name.split()}
    text = " ".join([*narration, *speeches])
    addressed = Counter(
        found["name"]
        for speech in speeches
        for found in _VOCATIVE.finditer(speech)
        if " " not in found["name"]
    )
    for name, times in addressed.most_common():
        is_word = re.search(rf"\b{name.lower()}\b", text) is not None
        if times >= _ADDRESSED and name not in speakers | TITLES and not is_word:
            return name
    return _NAMELESS[language]


def _is_told_by_speaker(narration: str) -> bool:
    tags = (_AFTER.search(narration), _AHEAD.search(narration))
    if any(found is not None and _who(found) == "I" for found in tags):
        return True
    found = _HAN_AHEAD.search(narration) or _HAN_AFTER.search(narration)
    return found is not None and found["clause"].startswith("我")


def find_tag(narration: str, language: Language, people: People) -> Tag | None:
    """The speech tag beside the quotations; `None` when there is none."""
    if language == "zh":
        return _chinese_tag(narration, people)
    found = _AFTER.search(narration) or _AHEAD.search(narration)
    if found is None:
        return None
    who = _who(found)
    goes_on = bool(_GOES_ON.search(found.group()))
    if who == "I":
        return Tag(is_narrator=True, goes_on=goes_on)
    if who.casefold() in ("he", "she"):
        return Tag(gender="he" if who.casefold() == "he" else "she", goes_on=goes_on)
    for words in range(len(who.split()), 0, -1):
        if name := people.find(" ".join(who.split()[:words])):
            return Tag(name=name)
    nouns = who.split()
    gender: Gender | None = "she" if _WOMEN & {*nouns} else "he" if _MEN & {*nouns} else None
    return Tag(gender=gender, kin=next((_KIN[noun] for noun in nouns if noun in _KIN), ""), goes_on=goes_on)


def find_vocative(speech: str, people: People) -> str:
    """The person whom a speech addresses by name; empty when there is none."""
    for found in _VOCATIVE.finditer(speech):
        if name := people.find(found["name"]):
            return name
    return ""


def _who(found: re.Match[str]) -> str:
    return next((who for who in found.groupdict().values() if who), "")


def _chinese_tag(narration: str, people: People) -> Tag | None:
    found = _HAN_AHEAD.search(narration) or _HAN_AFTER.search(narration)
    if found is None:
        return None
    clause = found["clause"]
    for length in range(min(4, len(clause)), 0, -1):
        if name := people.find(clause[:length]):
            return Tag(name=name)
    if clause[0] == "我":
        return Tag(is_narrator=True)
    if clause[0] in "他她":
        return Tag(gender="he" if clause[0] == "他" else "she")
    return Tag()
