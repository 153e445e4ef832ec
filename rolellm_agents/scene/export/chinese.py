"""Chinese prose."""

import re
from collections.abc import Sequence
from typing import Literal

from rolellm_agents.scene.export.parts import THOUGHT, UNTHOUGHT, split_first_sentence
from rolellm_agents.scene.export.people import cast_of, name_of
from rolellm_agents.scene.export.signs import inside_quotes, printed
from rolellm_agents.scene.export.wording import Rotation, SpeechContext
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.scene.names import forms_of

_SHORT, _MIDDLE = 24, 60
"""Most characters of a first sentence that the speaker's name follows; of a speech that it ends."""

_SAYS = ("道", "说", "说道")
_ASKS = ("问", "问道")
_CRIES = ("叫道", "高声道")
_ANSWERS = ("答道", "说", "回道")
_GOES_ON = ("又道", "接着说")
_WHISPERS = ("{n}压低声音，只对{t}说", "{n}低声对{t}道", "{n}悄声说给{t}一个人听")
_WHISPERS_MANY = ("{n}压低声音，只对{t}说", "{n}低声对{t}道")
_WHISPERS_BACK = ("{n}也低声道", "{n}同样低声地回{t}道")
_MUTTERS = ("{n}喃喃道，声音低得谁也听不见", "{n}用谁也听不清的声音说")
_THINKS = ("{n}心想", "{n}暗想", "{n}心道")
_UNSAID = "这话{n}没有说出口。"

_SENTENCE_ENDS = re.compile(r"[。！？…!?]+[’”」』\ue001]*\s*")
_ENDED = re.compile(r"[。！？…—：.!?][’”」』）\ue001\ue003]*\Z")
_STOP = re.compile(r"。([’\ue001]*)\Z")
_SUBJECTS = ("他", "她", "它", "我", "你", "这", "那", "只见", "只听", "众人", "大家", "谁", "没有人")
_PRONOUN = re.compile(r"\A(“[^”]*”)[他她]")


class ChineseWording:
    """Writes a scene in Chinese."""

    blank = ""

    def __init__(self, loaded: LoadedScene, lines: Sequence[SceneLine]) -> None:
        """Collect the names that the lines use."""
        self._rotation = Rotation()
        self._names = {seat.id: name_of(loaded, seat.id) for seat in cast_of(loaded, lines)}
        known = [form for name in self._names.values() for form in forms_of(name)]
        self._subjects = (*_SUBJECTS, *known)

    def narrate(self, text: str) -> str:
        """Narration."""
        return _sentence(printed(text))

    def quote(self, text: str) -> str:
        """Words in quotes."""
        return f"“{_sentence(inside_quotes(printed(text)))}”"

    def narrate_quoting(self, seat: str, text: str) -> str:
        """A line that has its own quotation marks, with narration between them."""
        name = self._name(seat)
        named, changed = _PRONOUN.subn(lambda found: found[1] + name, self.narrate(text), count=1)
        return named if changed else f"{name}开口了。{named}"

    def action(self, seat: str, text: str, *, after: Literal["", "done", "said"]) -> str:
        """A sentence for an action."""
        if self._has_subject(text):
            return self.narrate(text)
        subject = {"": self._name(seat), "done": "接着", "said": "说着"}[after]
        return self.narrate(f"{subject}{text}")

    def speech(self, seat: str, text: str, context: SpeechContext) -> str:
        """Words in quotes with a speech tag."""
        words = _sentence(inside_quotes(printed(text)))
        if context.aloud:
            return f"开口道：“{words}”"
        first, rest = split_first_sentence(words, _SENTENCE_ENDS, _SHORT)
        place = self._rotation.pick("place", ("before", "before", "between", "after"))
        if place == "between" and rest:
            return f"“{_before_a_tag(first)}”{self._tag(seat, first, context)}，“{rest}”"
        tag = self._tag(seat, words, context)
        if place == "after" and len(words) <= _MIDDLE:
            return f"“{_before_a_tag(words)}”{tag}。"
        return f"{tag}：“{words}”"

    def action_and_speech(self, seat: str, done: str, text: str, context: SpeechContext) -> str:
        """An action, and the words that go with it."""
        if context.to is not None or self._has_subject(done) or _SENTENCE_ENDS.search(done.rstrip("。")):
            told = self.action(seat, done, after="")
            return told + (self.quote(text) if context.to is None else self.speech(seat, text, context))
        verb = self._verb(text, context)
        return f"{self._name(seat)}{printed(done).rstrip('。，')}，{verb}：{self.quote(text)}"

    def thought(self, seat: str, text: str, *, known: bool) -> str:
        """A thought, with the thinker's name unless that is known."""
        words = f"{THOUGHT}{_sentence(printed(text))}{UNTHOUGHT}"
        if known:
            return words
        how = self._rotation.pick("think", ("before", "before", "unsaid"))
        if how == "unsaid":
            return words + _UNSAID.format(n=self._name(seat))
        return f"{self._rotation.pick('thinks', _THINKS).format(n=self._name(seat))}：{words}"

    def _tag(self, seat: str, words: str, context: SpeechContext) -> str:
        name = self._name(seat)
        if context.to is None:
            return name + self._verb(words, context)
        if not context.to:
            return self._rotation.pick("mutter", _MUTTERS).format(n=name)
        about, ways = ("back", _WHISPERS_BACK) if context.answers else ("whisper", _WHISPERS)
        if len(context.to) > 1:
            about, ways = "whisper many", _WHISPERS_MANY
        to = _listed([self._name(one) for one in context.to])
        return self._rotation.pick(about, ways).format(n=name, t=to)

    def _verb(self, words: str, context: SpeechContext) -> str:
        last = words.rstrip("’”」』\ue001")[-1:]
        known: dict[str, tuple[str, tuple[str, ...]]] = {
            "？": ("ask", _ASKS),
            "?": ("ask", _ASKS),
            "！": ("cry", _CRIES),
        }
        ways = known.get(last)
        if context.continues and last not in ("？", "?"):
            ways = ("on", _GOES_ON)
        if ways is None and context.answers:
            ways = ("answer", _ANSWERS)
        return self._rotation.pick(*(ways or ("say", _SAYS)))

    def _name(self, seat: str) -> str:
        return self._names.get(seat, seat)

    def _has_subject(self, text: str) -> bool:
        return text.startswith(self._subjects)


def _sentence(text: str) -> str:
    """A text that ends with a final punctuation mark."""
    ended = text.rstrip(" ，；、,;")
    return ended if _ENDED.search(ended) else f"{ended}。"


def _before_a_tag(text: str) -> str:
    """Replace a full stop at the end with a comma; other punctuation stays."""
    return _STOP.sub(r"，\1", text)


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{'、'.join(others)}和{last}" if others else last
