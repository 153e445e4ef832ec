"""The people of a novel: which names refer to the same person, and which pronoun refers to whom."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Literal

Gender = Literal["he", "she", "it"]

_MALE = {*re.findall(r"\w+", "mr sir lord king prince uncle father brother monsieur count duke mister")}
_FEMALE = {
    *re.findall(r"\w+", "mrs miss ms lady madam madame mademoiselle queen princess aunt mother sister"),
    *("countess", "duchess", "dame", "mistress"),
}
_NEUTRAL = {
    *re.findall(r"\w+", "dr doctor colonel captain professor major general judge inspector st"),
}
_TITLES = _MALE | _FEMALE | _NEUTRAL
TITLES = frozenset(title.capitalize() for title in _TITLES)
"""Titles, which may begin a name and are not names alone."""
_TITLE = r"(?:" + "|".join(sorted(TITLES, key=len, reverse=True)) + r")\.?"
_WORD = r"(?:St\. )?[A-Z][a-z]+(?:[-'’][A-Z]?[a-z]+)*(?<!'s)(?<!’s)"
_PLACES = (
    "Street|St|Road|Lane|Square|Place|Park|Hall|House|Court|Gardens?|Terrace|Avenue|Hill|Bridge|Station|Inn|"
    "Abbey|Castle|Wood|Farm|Cottage|Row|Market|County|River|Bay|Lodge|Manor|Church|College|Hospital|Hotel|"
    "Palace|Tower|Town|Island"
)
NO_PLACE = rf"(?!(?:['’]s)? (?:{_PLACES})\b)"
"""After a name: it is not the beginning of a place's name, such as “Baker Street”."""
NAME = rf"(?:(?:{_TITLE} )?{_WORD}(?: (?:de |of |von |d')?{_WORD}){{0,2}}|[Tt]he (?:{_WORD} )?{_WORD})"
"""A regular expression for a name: titled or not, of up to three words; or “the Hatter”."""

_PRONOUNS: Mapping[str, Gender] = {
    **dict.fromkeys(("he", "him", "his", "himself"), "he"),
    **dict.fromkeys(("she", "her", "hers", "herself"), "she"),
}
_OFTEN = 2
_LONG_TEXT = 100
"""The least number of names in a text for which a name that occurs once is ignored."""
_PRONOUN = re.compile(r"\b(?:he|him|his|himself|she|hers?|herself)\b", re.IGNORECASE)


@dataclass(frozen=True)
class People:
    """Maps the names of a text to one canonical name for each person."""

    canonical: Mapping[str, str]
    gender: Mapping[str, Gender]
    """The pronoun of each person where it is known, by canonical name."""
    surnames: Mapping[str, str]
    """The surnames of persons whose canonical name is the first name."""
    narrator: str = ""
    """The person who tells the story in the first person; empty in other stories."""

    def find(self, name: str) -> str:
        """The canonical name for a name in the text; empty for an unknown one."""
        return self.canonical.get(_folded(name), "")

    def relative(self, person: str, kin: str) -> str:
        """A person's wife, husband, mother or father by titles and surnames; empty when there is none."""
        title, words = split_title(person)
        surname = self.surnames.get(person, "")
        if title in ("mr", "mrs") and kin in ("wife", "husband"):
            spouse = {"mr": "Mrs", "mrs": "Mr"}[title]
            return self._titled(spouse, " ".join(words)) if (kin == "wife") == (title == "mr") else ""
        if kin in ("mother", "father") and surname:
            return self._titled("Mrs" if kin == "mother" else "Mr", surname)
        return ""

    def _titled(self, title: str, surname: str) -> str:
        return self.find(f"{title}. {surname}") or self.find(f"{title} {surname}")

    def mentions(self) -> re.Pattern[str]:
        """A regular expression that matches all names."""
        return _any_of(self.canonical)


def split_title(name: str) -> tuple[str, tuple[str, ...]]:
    """A name's title in lower case, without its full stop, and its other words."""
    words = name.split()
    first = words[0].rstrip(".").casefold() if words else ""
    return (first, tuple(words[1:])) if first in _TITLES and len(words) > 1 else ("", tuple(words))


def find_people(names: Iterable[str], narration: str, narrator: str = "") -> People:
    """Group the names that refer to one person; in a long text, persons who occur once are left out.

    Args:
        names: the names beside speeches, each as often as it was found.
        narration: the text outside of quotations, whose pronouns give the genders.
        narrator: a name of the person who tells the story in the first person; empty in other stories.
    """
    counted = Counter(_folded(name) for name in names)
    canonical = {name: _first_guess(name, counted) for name in counted}
    for name in counted:
        title, words = split_title(name)
        if not title and len(words) == 1:
            _join_titled(name, counted, canonical)
    often = Counter(canonical[name] for name in counted.elements())
    least = _OFTEN if counted.total() > _LONG_TEXT else 1
    tells = canonical.setdefault(narrator, narrator) if narrator else ""
    canonical = {
        name: person for name, person in canonical.items() if often[person] >= least or person == tells
    }
    people = set(canonical.values())
    surnames = {
        person: words[-1]
        for name, person in canonical.items()
        if len(words := split_title(name)[1]) > 1 and words[0] == person
    }
    return People(
        canonical | _nicknames(people, canonical),
        _genders(people, canonical, narration),
        surnames,
        narrator=tells,
    )


def _nicknames(people: Set[str], canonical: Mapping[str, str]) -> dict[str, str]:
    """Unambiguous short forms of first names: Lizzy is Elizabeth."""
    from nicknames import NickNamer

    namer = NickNamer()
    short: dict[str, list[str]] = defaultdict(list)
    for person in people:
        if person.isalpha():
            for name in namer.nicknames_of(person):
                short[name.capitalize()].append(person)
    return {
        name: persons[0] for name, persons in short.items() if len(persons) == 1 and name not in canonical
    }


def _join_titled(name: str, counted: Mapping[str, int], canonical: dict[str, str]) -> None:
    """Join “Darcy” with Mr. Darcy, not with Miss Darcy; join Miss Elizabeth with Elizabeth."""
    titled = [other for other in counted if split_title(other)[0] and split_title(other)[1] == (name,)]
    if not titled:
        return
    best = max(titled, key=lambda other: (split_title(other)[0] in _MALE, counted[other]))
    shown = name if counted[name] > counted[best] else best
    canonical[name] = canonical[best] = shown


def _first_guess(name: str, counted: Mapping[str, int]) -> str:
    title, words = split_title(name)
    if len(words) > 1 and words[0] in counted:
        return words[0]
    if title and len(words) == 1 and _begins_a_longer_name(words[0], counted):
        # “Miss Elizabeth” is Elizabeth.
        return words[0] if words[0] in counted else name
    if title and len(words) > 1:
        return words[0] if words[0] in counted else " ".join(words)
    return name


def _begins_a_longer_name(word: str, counted: Mapping[str, int]) -> bool:
    return any(len(split_title(name)[1]) > 1 and split_title(name)[1][0] == word for name in counted)


def _folded(name: str) -> str:
    name = " ".join(name.replace("’", "'").split())
    return "the " + name[4:] if name.startswith("The ") else name


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile("|".join(rf"\b{re.escape(name)}\b{NO_PLACE}" for name in longest_first) or r"(?!)")


def _genders(people: Set[str], canonical: Mapping[str, str], narration: str) -> dict[str, Gender]:
    """The pronoun of each person: by title, otherwise by majority of the first pronouns after the name."""
    gender: dict[str, Gender] = {}
    votes: dict[str, Counter[Gender]] = defaultdict(Counter)
    found = list(_any_of(canonical).finditer(narration))
    for number, mention in enumerate(found):
        until = found[number + 1].start() if number + 1 < len(found) else len(narration)
        pronoun = _PRONOUN.search(narration, mention.end(), min(until, mention.end() + 120))
        if pronoun:
            votes[canonical[mention.group()]][_PRONOUNS[pronoun.group().casefold()]] += 1
    for person in people:
        titles = {split_title(name)[0] for name, who in canonical.items() if who == person}
        if titles & _FEMALE:
            gender[person] = "she"
        elif titles & _MALE:
            gender[person] = "he"
        elif votes[person]:
            (best, times), *_ = votes[person].most_common(1)
            if times > 0.6 * votes[person].total():
                gender[person] = best
    return gender
