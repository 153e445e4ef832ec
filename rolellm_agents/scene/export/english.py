"""English prose in the present tense."""

import re
from collections.abc import Sequence
from typing import Literal

from rolellm_agents.scene.export.parts import STRESSED, THOUGHT, UNSTRESSED, UNTHOUGHT, split_first_sentence
from rolellm_agents.scene.export.people import EnglishNames, cast_of, name_of
from rolellm_agents.scene.export.signs import inside_quotes, printed
from rolellm_agents.scene.export.wording import Rotation, SpeechContext
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.names import forms_of
from rolellm_agents.scripts.people import TITLES

_SHORT, _MIDDLE = 90, 200
"""Most characters of a first sentence that the speaker's name follows; of a speech that it ends."""

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
    """Writes a scene in English."""

    blank = " "

    def __init__(self, loaded: LoadedScene, lines: Sequence[SceneLine]) -> None:
        """Collect the names that the lines use."""
        self._people = EnglishNames(loaded, lines)
        self._rotation = Rotation()
        names = [name_of(loaded, seat.id) for seat in cast_of(loaded, lines)]
        self._known = {form.split()[0] for name in names for form in forms_of(name)}

    def narrate(self, text: str) -> str:
        """Narration."""
        return _sentence(printed(text))

    def quote(self, text: str) -> str:
        """Words in quotes."""
        return f"“{_sentence(inside_quotes(printed(text)))}”"

    def narrate_quoting(self, seat: str, text: str) -> str:
        """A line that has its own quotation marks, with narration between them."""
        told = self.narrate(text)
        name = self._people.call(seat)
        named, changed = _PRONOUN.subn(lambda found: found[1] + name, told, count=1)
        return named if changed else f"{_capital(name)} speaks. {told}"

    def action(self, seat: str, text: str, *, after: Literal["", "done", "said"]) -> str:
        """A sentence for an action."""
        form, done = self._form(text)
        if form == "whole":
            return self.narrate(done)
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
        return self.narrate(told)

    def speech(self, seat: str, text: str, context: SpeechContext) -> str:
        """Words in quotes with a speech tag."""
        words = _sentence(inside_quotes(printed(text)))
        if context.aloud and self._rotation.pick("aloud", ("bare", "named")) == "bare":
            return f"Aloud: “{words}”"
        first, rest = split_first_sentence(words, _SENTENCE_ENDS, _SHORT, _ABBREVIATION)
        if len(first) > _MIDDLE:
            return f"{_capital(self._leading(seat, words, context))}: “{words}”"
        tag = self._tag(seat, first, context)
        return f"“{_before_a_tag(first)}” {tag}." + (f" “{rest}”" if rest else "")

    def action_and_speech(self, seat: str, done: str, text: str, context: SpeechContext) -> str:
        """An action, and the words that go with it."""
        form, doing = self._form(done)
        if context.to is not None or form not in ("clause", "adverb"):
            told = self.action(seat, done, after="")
            spoken = self.quote(text) if context.to is None else self.speech(seat, text, context)
            return f"{told} {spoken}"
        name, verb = self._people.call(seat), self._verb(text, context)
        doing = doing.rstrip(".,")
        told = f"{name} {verb} {doing}" if form == "adverb" else f"{printed(doing)}, {name} {verb}"
        return f"{_capital(told)}: {self.quote(text)}"

    def thought(self, seat: str, text: str, *, known: bool) -> str:
        """A thought, with the thinker's name unless that is known."""
        words = _sentence(printed(text))
        if known:
            return f"{THOUGHT}{words}{UNTHOUGHT}"
        name = self._people.call(seat)
        how = self._rotation.pick("think", ("after", "after", "unsaid"))
        if how == "unsaid" or len(words) > _MIDDLE:
            return f"{THOUGHT}{words}{UNTHOUGHT} {_capital(name)} says nothing of it."
        tag = self._rotation.pick("thinks", _THINKS).format(n=name)
        return f"{THOUGHT}{_before_a_tag(words)}{UNTHOUGHT} {tag}."

    def _tag(self, seat: str, words: str, context: SpeechContext) -> str:
        name = self._people.call(seat)
        if context.to is not None:
            return self._whispering(name, context)
        verb = self._verb(words, context)
        before = " " not in verb and self._rotation.pick("order", ("verb", "name")) == "verb"
        return f"{verb} {name}" if before else f"{name} {verb}"

    def _whispering(self, name: str, context: SpeechContext) -> str:
        if not context.to:
            return self._rotation.pick("mutter", _MUTTERS).format(n=name)
        to = _listed([self._people.call(one) for one in context.to])
        about, ways = ("back", _WHISPERS_BACK) if context.answers else ("whisper", _WHISPERS)
        return self._rotation.pick(about, ways).format(n=name, t=to)

    def _leading(self, seat: str, words: str, context: SpeechContext) -> str:
        name = self._people.call(seat)
        if context.to is None:
            return f"{name} {self._verb(words, context)}"
        to = _listed([self._people.call(one) for one in context.to])
        return f"{name} whispers to {to}" if to else f"{name} mutters, too low for anybody to hear"

    def _verb(self, words: str, context: SpeechContext) -> str:
        if context.aloud:
            return "says aloud"
        last = words.rstrip(f"’”{UNSTRESSED}")[-1:]
        ways = {"?": ("ask", _ASKS), "!": ("cry", _CRIES)}.get(last)
        if context.continues and last != "?":
            ways = ("on", _GOES_ON)
        if ways is None and context.answers:
            ways = ("answer", _ANSWERS)
        return self._rotation.pick(*(ways or ("say", _AMONG_MANY if context.crowd else _SAYS)))

    def _form(self, text: str) -> tuple[_Form, str]:
        """The grammatical form of an action, and its words adapted to that form."""
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
    """A text that begins with a capital letter and ends with a final punctuation mark."""
    ended = text.rstrip(" ,;")
    return _capital(ended if _ENDED.search(ended) else f"{ended}.")


def _capital(text: str) -> str:
    found = _LETTER.search(text)
    if found is None or text[: found.start()].strip(f"“‘({STRESSED}{THOUGHT}"):
        return text
    return text[: found.start()] + found.group().upper() + text[found.end() :]


def _before_a_tag(text: str) -> str:
    """Replace a full stop at the end with a comma; other punctuation stays."""
    return _STOP.sub(r",\1", text)


def _listed(names: Sequence[str]) -> str:
    *others, last = names or [""]
    return f"{', '.join(others)} and {last}" if others else last
