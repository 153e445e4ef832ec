"""English prose, in the present tense, as scenes are told in."""

import re
from collections.abc import Sequence
from typing import Literal

from rolellm_agents.scene.export.parts import STRESSED, THOUGHT, UNSTRESSED, UNTHOUGHT, split_first_sentence
from rolellm_agents.scene.export.people import English as People
from rolellm_agents.scene.export.people import cast_of, name_of
from rolellm_agents.scene.export.signs import inside_quotes, printed
from rolellm_agents.scene.export.wording import Rotation, Telling
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.names import forms_of
from rolellm_agents.scripts.people import TITLES

_SHORT, _MIDDLE = 90, 200
"""Characters of a first sentence behind which the speaker is named; of a speech at whose end they are."""

_SAYS = ("says", "says", "remarks", "says")
_AMONG_MANY = ("says", "puts in", "says", "remarks")
_ASKS = ("asks", "wants to know", "asks")
_CRIES = ("exclaims", "says", "cries")
_ANSWERS = ("answers", "says", "replies")
_GOES_ON = ("goes on", "adds", "says")
_WHISPERS = (
    "{n} murmurs, low enough for {t} alone",
    "{n} whispers to {t}",
    "says {n}, in a voice that reaches {t} and nobody else",
    "whispers {n}, for {t} only",
)
_WHISPERS_BACK = ("{n} whispers back", "{n} answers as softly, to {t}")
_MUTTERS = ("{n} mutters, too low for anybody to hear", "says {n} in a breath that nobody catches")
_THINKS = ("{n} thinks", "thinks {n}")

_SENTENCE_ENDS = re.compile(r"[.!?…]+[”’)\ue001]*\s+(?=[\ue000“‘(]*[A-Z0-9\"'])")
_ENDED = re.compile(r"[.!?…—:][”’)\ue001\ue003]*\Z")
_STOP = re.compile(r"(?<!\.)\.([’\ue001]*)\Z")
_ABBREVIATION = re.compile(
    rf"\b(?:{'|'.join(sorted(TITLES))}|Jr|Sr|Prof|Capt|Col|Gen|Lt|Sgt|vs|No|[A-Z])\.\Z"
)
_PRONOUN = re.compile(r"\A(“[^”]*” )(?:he|she|they)\b")
_LETTER = re.compile(r"[^\W\d_]")

_Form = Literal["whole", "verb", "clause", "adverb", "owned"]
_SUBJECTS = re.compile(
    "he|she|it|they|we|you|i|the|an?|his|her|their|its|my|our|your|this|that|these|those|there|here|some(?:one|body)"
    "|every(?:one|body|thing)|no(?:body|thing)|something|one|both|all|each|silence"
)
_CLAUSES = re.compile(
    "with(?:out)?|in(?:to)?|on|at|from|under|behind|beside|over|across|by|while|as|after|before"
)
_BODY = re.compile(
    "eyes|hands|arms|lips|(?:eye)?brows|shoulders|fingers|teeth|legs|feet|knees|cheeks|fists|tears"
)
_NO_PARTICIPLES = re.compile("king|s?pring|ring|s?t?ring|thing|wing|sing|bring|morning|evening|ceiling")
_PAST = re.compile(
    "sat|stood|went|took|made|gave|got|came|left|held|kept|fell|rose|drew|threw|shook|said|spoke|put|let|set"
    "|hit|cut|ran|bent|bit|wept|slept|swept|told|thought|caught|found|felt|lay|laid|led|met|paid|read"
)


class EnglishWording:
    """Tells a scene in English."""

    blank = " "

    def __init__(self, loaded: LoadedScene, lines: Sequence[SceneLine]) -> None:
        """Prepare names; only what the lines tell is used."""
        self._people = People(loaded, lines)
        self._rotation = Rotation()
        names = [name_of(loaded, seat.id) for seat in cast_of(loaded, lines)]
        self._known = {form.split()[0] for name in names for form in forms_of(name)}

    def told(self, text: str) -> str:
        """What nobody says."""
        return _sentence(printed(text))

    def quoted(self, text: str) -> str:
        """Words in quotes."""
        return f"“{_sentence(inside_quotes(printed(text)))}”"

    def told_by_itself(self, seat: str, text: str) -> str:
        """What somebody said, where their words have quotes already and tell of them in between."""
        told = self.told(text)
        name = self._people.call(seat)
        named, changed = _PRONOUN.subn(lambda found: found[1] + name, told, count=1)
        return named if changed else f"{_capital(name)} speaks. {told}"

    def did(self, seat: str, text: str, *, after: Literal["", "done", "said"]) -> str:
        """A sentence for what somebody did."""
        form, done = self._form(text)
        if form == "whole":
            return self.told(done)
        name = self._people.call(seat)
        match form:
            case "verb":
                told = f"then {name} {done}" if after == "done" else f"{name} {done}"
            case "owned":
                told = f"{name}’s {done}"
            case "clause" if _is_participle(done):
                told = f"{name} is {done}"
            case "clause" if _BODY.match(done):
                told = f"{name}’s {done.replace(' ', ' are ', 1)}"
            case _:
                told = f"{name}, {done}"
        return self.told(told)

    def said(self, seat: str, text: str, telling: Telling) -> str:
        """Words in quotes, and who said them."""
        words = _sentence(inside_quotes(printed(text)))
        if telling.aloud and self._rotation.pick("aloud", ("bare", "named")) == "bare":
            return f"Aloud: “{words}”"
        first, rest = split_first_sentence(words, _SENTENCE_ENDS, _SHORT, _ABBREVIATION)
        if len(first) > _MIDDLE:
            return f"{_capital(self._leading(seat, words, telling))}: “{words}”"
        tag = self._tag(seat, first, telling)
        return f"“{_before_a_tag(first)}” {tag}." + (f" “{rest}”" if rest else "")

    def said_doing(self, seat: str, done: str, text: str, telling: Telling) -> str:
        """What somebody did, and the words they said with it."""
        form, doing = self._form(done)
        if telling.to is not None or form not in ("clause", "adverb"):
            told = self.did(seat, done, after="")
            spoken = self.quoted(text) if telling.to is None else self.said(seat, text, telling)
            return f"{told} {spoken}"
        name, verb = self._people.call(seat), self._verb(text, telling)
        doing = doing.rstrip(".,")
        told = f"{name} {verb} {doing}" if form == "adverb" else f"{printed(doing)}, {name} {verb}"
        return f"{_capital(told)}: {self.quoted(text)}"

    def thought(self, seat: str, text: str, *, known: bool) -> str:
        """A thought, and whose it is."""
        words = _sentence(printed(text))
        if known:
            return f"{THOUGHT}{words}{UNTHOUGHT}"
        name = self._people.call(seat)
        how = self._rotation.pick("think", ("after", "after", "unsaid"))
        if how == "unsaid" or len(words) > _MIDDLE:
            return f"{THOUGHT}{words}{UNTHOUGHT} {_capital(name)} says nothing of it."
        tag = self._rotation.pick("thinks", _THINKS).format(n=name)
        return f"{THOUGHT}{_before_a_tag(words)}{UNTHOUGHT} {tag}."

    def _tag(self, seat: str, words: str, telling: Telling) -> str:
        name = self._people.call(seat)
        if telling.to is not None:
            return self._whispering(name, telling)
        verb = self._verb(words, telling)
        before = " " not in verb and self._rotation.pick("order", ("verb", "name")) == "verb"
        return f"{verb} {name}" if before else f"{name} {verb}"

    def _whispering(self, name: str, telling: Telling) -> str:
        if not telling.to:
            return self._rotation.pick("mutter", _MUTTERS).format(n=name)
        to = _listed([self._people.call(one) for one in telling.to])
        about, ways = ("back", _WHISPERS_BACK) if telling.answers else ("whisper", _WHISPERS)
        return self._rotation.pick(about, ways).format(n=name, t=to)

    def _leading(self, seat: str, words: str, telling: Telling) -> str:
        name = self._people.call(seat)
        if telling.to is None:
            return f"{name} {self._verb(words, telling)}"
        to = _listed([self._people.call(one) for one in telling.to])
        return f"{name} whispers to {to}" if to else f"{name} mutters, too low for anybody to hear"

    def _verb(self, words: str, telling: Telling) -> str:
        if telling.aloud:
            return "says aloud"
        last = words.rstrip(f"’”{UNSTRESSED}")[-1:]
        ways = {"?": ("ask", _ASKS), "!": ("cry", _CRIES)}.get(last)
        if telling.goes_on and last != "?":
            ways = ("on", _GOES_ON)
        if ways is None and telling.answers:
            ways = ("answer", _ANSWERS)
        return self._rotation.pick(*(ways or ("say", _AMONG_MANY if telling.crowd else _SAYS)))

    def _form(self, text: str) -> tuple[_Form, str]:
        """How a sentence is made of what is done, and the words for it."""
        done = text.strip().strip(",;")
        words = done.split()
        first = words[0].strip(".,;:!?…")
        low = first.casefold().replace("’", "'")
        if first in self._known or _SUBJECTS.fullmatch(low.split("'")[0]) or not _LETTER.match(low):
            return "whole", done
        small = low + done[len(first) :]
        if _BODY.fullmatch(low):
            form: _Form = "clause" if re.search(r"\w+(?:ing|ed)\b", done) else "owned"
            return form, small
        if _CLAUSES.fullmatch(low) or _is_participle(done):
            return "clause", small
        if low.endswith("ly") and all(word.strip(",").endswith(("ly", "and")) for word in words):
            return "adverb", small
        if low.endswith(("s", "ed", "ly")) or _PAST.fullmatch(low):
            return "verb", small
        return ("whole", done) if first[0].isupper() else ("verb", _third_person(small))


def _is_participle(done: str) -> bool:
    low = done.split()[0].casefold().strip(",")
    return bool(low.endswith("ing")) and not _NO_PARTICIPLES.fullmatch(low)


def _third_person(done: str) -> str:
    verb, blank, rest = done.partition(" ")
    if verb.endswith(("sh", "ch", "x", "o", "z")):
        return f"{verb}es{blank}{rest}"
    if re.search(r"[^aeiou]y\Z", verb):
        return f"{verb[:-1]}ies{blank}{rest}"
    return f"{verb}s{blank}{rest}" if verb.isalpha() else done


def _sentence(text: str) -> str:
    """A text that begins with a capital letter and has an end."""
    ended = text.rstrip(" ,;")
    return _capital(ended if _ENDED.search(ended) else f"{ended}.")


def _capital(text: str) -> str:
    found = _LETTER.search(text)
    if found is None or text[: found.start()].strip(f"“‘({STRESSED}{THOUGHT}"):
        return text
    return text[: found.start()] + found.group().upper() + text[found.end() :]


def _before_a_tag(text: str) -> str:
    """A stop becomes a comma; questions, exclamations and what breaks off stay."""
    return _STOP.sub(r",\1", text)


def _listed(names: Sequence[str]) -> str:
    *others, last = names or [""]
    return f"{', '.join(others)} and {last}" if others else last
