"""Message kinds: how a line is written, who perceives it, and how they read it.

Our own kinds and those of users and packages are objects of one class.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from string import Formatter
from types import MappingProxyType
from typing import Final, Literal, get_args

from rolellm_agents.errors import SceneError
from rolellm_agents.plugins import load_object, plugin_names, unusable
from rolellm_agents.prompting.prompts import PromptTexts
from rolellm_agents.scene.mark_readers import (
    MarkReader,
    ThoughtMarks,
    WhisperMarks,
    private_marks,
    public_marks,
)
from rolellm_agents.scene.names import index_names
from rolellm_agents.text import did_you_mean
from rolellm_agents.text.language import Language
from rolellm_agents.transcript.message import KINDS, Kind, is_kind_name

PerceivedBy = Literal["everyone", "addressees", "speaker"]
"""Who perceives a line: all who are present, the addressees who are present, or nobody but its speaker."""

Texts = Mapping[Language, str]
"""A text in each language; a missing language gets the first text."""

_WRITTEN: Texts = {"en": "({label}) {text}", "zh": "（{label}）{text}"}
_SHOWN: Texts = {"en": "{name} ({label}): {text}", "zh": "{name}（{label}）：{text}"}
_NO_LABEL = re.compile(r"[()（）\[\]【】<>*_:：\n]")
"""What would end the brackets around a label, or its words."""
_LONGEST_LABEL = 80
_YOU: Texts = {"en": "you", "zh": "你"}


@dataclass(frozen=True, kw_only=True)
class MessageKind:
    """A message kind."""

    name: Kind
    """The name in scene files, transcripts and commands: small letters, digits and hyphens."""
    perceived_by: PerceivedBy = "everyone"
    label: Texts
    """What the speaker does, for example `{"en": "signs to {to}"}`; names replace `{to}`."""
    mark: str | MarkReader = ""
    """How an answer is recognised as being of this kind: a regular expression for the verb in its mark, for
    example `sign(?:s|ing)?`. Without one, only people can use the kind."""
    instruction: Texts = field(default_factory=dict)
    """Tells a character how to write the kind."""
    written: Texts = field(default_factory=dict)
    """How the speaker writes a line, with `{text}`; by default the label in brackets and the text. Only for
    kinds that everyone perceives."""
    shown: Texts = field(default_factory=dict)
    """How those who perceive a line read it, with `{name}` and `{text}`; by default the name, the label
    with “you” as the addressee, and the text."""
    commands: tuple[str, ...] = ()
    """What people type after a slash; by default the name."""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            SceneError: a field is invalid, or an answer in the kind's own form would not be recognised.
        """
        if not is_kind_name(self.name):
            raise SceneError(
                f"{self.name!r} is no name of a message kind; use at most 40 small letters, digits and "
                "hyphens."
            )
        if self.perceived_by not in get_args(PerceivedBy):
            raise SceneError(
                f"The message kind {self.name!r} is perceived by {self.perceived_by!r}; name one of "
                f"{', '.join(get_args(PerceivedBy))}."
            )
        for what, texts, allowed in (
            ("label", self.label, {"to"}),
            ("written", self.written, {"to", "text"}),
            ("shown", self.shown, {"name", "text"}),
        ):
            self._check_texts(what, texts, allowed)
        if not self.is_built_in:
            self._check_its_own_form()

    @property
    def is_built_in(self) -> bool:
        """Whether the kind is one of ours."""
        return self.name in KINDS

    @cached_property
    def reader(self) -> MarkReader | None:
        """Recognises the marks of this kind; None when the kind has no mark."""
        if not isinstance(self.mark, str):
            return self.mark
        if not self.mark:
            return None
        return public_marks(self.mark) if self.perceived_by == "everyone" else private_marks(self.mark)

    @property
    def typed(self) -> tuple[str, ...]:
        """The words that people type after a slash."""
        return self.commands or (self.name,)

    def labelled(self, to: str, language: Language) -> str:
        """What the speaker does, with the names of the addressees."""
        return in_language(self.label, language).format(to=to)

    def write(self, text: str, to: str, language: Language) -> str:
        """A line as its speaker writes it; `to` are the names of the addressees."""
        if written := self.written.get(language) or in_language(self.written, language):
            return written.format(text=text, to=to)
        return _WRITTEN[language].format(label=self.labelled(to, language), text=text)

    def shown_form(self, language: Language) -> str:
        """The form in which those who perceive a line read it, with `{name}` and `{text}`."""
        label = self.labelled(_YOU[language], language).replace("{", "{{").replace("}", "}}")
        return in_language(self.shown, language) or _SHOWN[language].replace("{label}", label)

    def _check_texts(self, what: str, texts: Texts, allowed: set[str]) -> None:
        for text in texts.values():
            try:
                used = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
            except ValueError as error:
                raise self._invalid(what, text, f"{error}") from error
            if unknown := used - allowed:
                raise self._invalid(what, text, f"{{{min(unknown)}}} has no value")
            if what != "label" and "text" not in used:
                raise self._invalid(what, text, "{text} is missing")
            if what == "label" and (_NO_LABEL.search(text) or not 0 < len(text) <= _LONGEST_LABEL):
                reason = f"a label has 1 to {_LONGEST_LABEL} characters, no brackets, asterisks or colons"
                raise self._invalid(what, text, reason)
        if what == "label" and not texts:
            raise SceneError(
                f"The message kind {self.name!r} has no label; give it one, as in "
                '{"en": "signs to {to}"}.'
            )

    def _invalid(self, what: str, text: str, reason: str) -> SceneError:
        return SceneError(
            f"The message kind {self.name!r} cannot use {text!r} as {what} ({reason}); correct the text."
        )

    def _check_its_own_form(self) -> None:
        """A character sees its own lines in this form, and repeats it; unrecognised, it would be public."""
        if self.written and self.perceived_by != "everyone":
            raise SceneError(
                f"Only few perceive the message kind {self.name!r}, so its lines are written with its "
                "label; leave out `written`."
            )
        if self.reader is None:
            return
        for language in self.label:
            label = self.labelled("Ada", language)
            reading = self.reader.read(label, index_names({"ada": "Ada"}))
            if reading is None or (self.perceived_by == "addressees" and reading.to != ("ada",)):
                raise SceneError(
                    f"The mark of the message kind {self.name!r} does not recognise its own label, "
                    f"{label!r}; change one of them."
                )


def in_language(texts: Texts, language: Language) -> str:
    """The text in a language, else the first one, else nothing."""
    return texts.get(language) or next(iter(texts.values()), "")


SAY: Final = MessageKind(
    name="say",
    label={"en": "says", "zh": "说"},
    written={"en": "{text}"},
    shown={"en": "{name}: {text}", "zh": "{name}：{text}"},
    commands=("say", "s", "说"),
)
WHISPER: Final = MessageKind(
    name="whisper",
    perceived_by="addressees",
    label={"en": "whispers to {to}", "zh": "对{to}低声说"},
    mark=WhisperMarks(),
    instruction=PromptTexts("scene-whisper"),
    shown={"en": "{name} (whispering to you): {text}", "zh": "{name}（对你低声说）：{text}"},
    commands=("whisper", "w", "tell", "msg", "耳语", "悄悄", "悄悄话", "低声", "密语", "私语"),
)
ACT: Final = MessageKind(
    name="act",
    label={"en": "acts", "zh": "做"},
    written={"en": "*{text}*"},
    shown={"en": "*{name}: {text}*", "zh": "*{name}：{text}*"},
    commands=("act", "me", "do", "动作", "做"),
)
THINK: Final = MessageKind(
    name="think",
    perceived_by="speaker",
    label={"en": "thinks", "zh": "心想"},
    mark=ThoughtMarks(),
    instruction=PromptTexts("scene-think"),
    shown={"en": "{name} (thinking): {text}", "zh": "{name}（心想）：{text}"},
    commands=("think", "t", "心想", "想"),
)
_HAPPENS: Texts = {"en": "[{text}]", "zh": "【{text}】"}
NARRATE: Final = MessageKind(
    name="narrate",
    label={"en": "narrates", "zh": "旁白"},
    written={"en": "{text}"},
    shown=_HAPPENS,
    commands=("narrate", "n", "旁白", "叙述"),
)
JOIN: Final = MessageKind(
    name="join", label={"en": "comes in", "zh": "来"}, written={"en": "{text}"}, shown=_HAPPENS
)
LEAVE: Final = MessageKind(
    name="leave", label={"en": "leaves", "zh": "走"}, written={"en": "{text}"}, shown=_HAPPENS
)

TURN_KINDS: Final = (SAY, ACT, WHISPER, THINK)
"""Our kinds of turns and of opening lines."""
BUILT_IN: Final[Mapping[Kind, MessageKind]] = MappingProxyType(
    {kind.name: kind for kind in (SAY, WHISPER, THINK, ACT, NARRATE, JOIN, LEAVE)}
)
"""All our kinds, by name; the last three are no turns."""


def turn_kind_named(name: str) -> MessageKind:
    """The turn kind of a name: one of ours, or an entry point of `rolellm.turn_kinds`.

    Raises:
        SceneError: there is none.
        PluginError: the package that provides it cannot be used.
    """
    ours = {kind.name: kind for kind in TURN_KINDS}
    if name in ours:
        return ours[name]
    found = None if name in KINDS else load_object("rolellm.turn_kinds", name)
    if found is None:
        known = [*ours, *plugin_names("rolellm.turn_kinds")]
        raise SceneError(
            f"There is no turn kind {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}."
        )
    if not isinstance(found, MessageKind):
        raise unusable("rolellm.turn_kinds", name, "is no MessageKind")
    if found.name != name:
        raise unusable("rolellm.turn_kinds", name, f"has the name {found.name!r}")
    return found


def kind_of(name: Kind, own: Iterable[MessageKind]) -> MessageKind:
    """The kind of a line: one of ours, one of `own`, or for a kind that is not known here a plain one."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    for kind in own:
        if kind.name == name:
            return kind
    return plain_kind(name)


def plain_kind(name: Kind) -> MessageKind:
    """A kind of which only the name is known, for lines that are read where nobody provides the kind."""
    return MessageKind(name=name, perceived_by="addressees", label={"en": name})
