"""Checks of a generated turn: words of other speakers, empty turns, repetitions, an assistant's phrases.

The checks need no model. The only change to a text is to cut it where another speaker's line begins.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.marks import Mark, mark_in
from rolellm_agents.scene.message_kinds import ACT, SAY, MessageKind
from rolellm_agents.scene.names import HAN, any_of, forms_of, index_names
from rolellm_agents.scene.scene import NARRATOR
from rolellm_agents.scene.similarity import comparable, is_nearly_equal, is_short, size_of
from rolellm_agents.text import one_line
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import Language

_NARRATORS = ("Narrator", "User", "Human", "Assistant", "System", "旁白", "用户", "助手")

_LOOKED_BACK = 12
"""The most recent witnessed lines that are searched for a repetition."""
_LONGEST = 8_000
"""Characters that are checked."""


def cut_at_others(text: str, own_names: Collection[str], other_names: Collection[str]) -> str:
    """Cut a text before the first line that begins with another speaker's name and a colon.

    Args:
        text: a model's answer.
        own_names: names of the speaker. A part that they share with another name does not cut.
        other_names: names of all others, without the narrator and the user, which are built in.

    Returns:
        The text before that line; empty when the text begins with it.
    """
    found = _other_speakers_line(tuple(own_names), tuple(other_names)).search(text)
    return text[: found.start()].rstrip() if found else text


def cut_at_marks(text: str, others: Mapping[str, str], turn_kinds: Sequence[MessageKind]) -> str:
    """Cut a text before the first mark of a private kind, such as a whisper or a thought, inside it.

    The text has no mark at its beginning; the names of the others are by seat.
    """
    found = _mark_inside(text, others, turn_kinds)
    return text[: found.start()].rstrip() if found else text


def fault_in(
    text: str,
    *,
    speaker: str,
    lines: Sequence[SceneLine],
    names: Mapping[str, str],
    language: Language | None = None,
    kind: MessageKind = SAY,
    turn_kinds: Sequence[MessageKind] = (),
    about: str = "",
) -> str | None:
    """The first fault in a generated turn as a sentence; None when there is none.

    Args:
        text: the turn's words, without marks.
        speaker: the speaker's seat.
        lines: all lines, newest last; only those that the speaker witnessed are checked for repetition.
        names: names by seat, with or without the speaker's own.
        language: the scene's language; None to accept any.
        kind: the turn's message kind.
        turn_kinds: the speaker's allowed turn kinds. A mark inside the text is a fault if it is of one of
            them that not everyone perceives.
        about: the persona's description. A machine may talk about its programming.
    """
    checked = text[:_LONGEST]
    others = {seat: name for seat, name in names.items() if seat != speaker}
    own_name = names.get(speaker, "")
    if not _SAYS_SOMETHING.search(checked):
        return "It says nothing."
    if found := _TEMPLATE.search(checked):
        return f"It contains a control mark of the model ({one_line(found.group(), 20)!r})."
    if name := _spoken_for(checked, kind, own_name, others):
        return f"It speaks for {one_line(name, 60)}."
    if phrase := _assistant_phrase(checked, about):
        return f"It talks like an assistant ({one_line(phrase, 60)!r})."
    if kind.perceived_by != "speaker" and _mark_inside(checked, others, turn_kinds):
        return "It contains a whisper or a thought that others would hear."
    if _repeats_itself(checked):
        return "It repeats itself."
    if language and _is_in_other_language(checked, language):
        return f"It is not in {_LANGUAGES[language]}."
    return _repeated(checked, speaker, lines, names)


def narration_fault(
    text: str, *, lines: Sequence[SceneLine], names: Mapping[str, str], language: Language
) -> str | None:
    """The first fault in a narration as a sentence; None when there is none.

    Args:
        text: the narration.
        lines: the lines that the narrator read, newest last.
        names: names of all seats.
        language: the scene's language.
    """
    if _FIRST_PERSON[language].search(_QUOTED.sub(" ", text[:_LONGEST])):
        return "It speaks as somebody, instead of telling what happens."
    if cut_at_others(text, (), [*names.values()]) != text:
        return "It speaks for somebody."
    seen = [line | {"audience": [NARRATOR]} for line in lines]
    return fault_in(text, speaker=NARRATOR, lines=seen, names=names, language=language)


_QUOTED = re.compile(r"[\"“「『][^\"”」』]*[\"”」』]")
_FIRST_PERSON: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"\b(?:I|I['’](?:m|ll|ve|d)|me|my|mine|myself)\b(?!\.)"),
    "zh": re.compile("我"),
}
_SAYS_SOMETHING = re.compile(r"[^\W_]|…|\.\.\.")
_TEMPLATE = re.compile(r"<\|[\w ]{2,20}\|>|</?s>|\[/?INST\]|<(?:start|end)_of_turn>|\{\{(?:user|char)\}\}")
_LANGUAGES: dict[Language, str] = {"en": "English", "zh": "Chinese"}


def _named(names: Sequence[str], excluded: Sequence[str]) -> str:
    """A regular expression for the forms of names that no excluded name has."""
    left_out = {form.casefold() for name in excluded for form in forms_of(name)}
    forms = {form for name in names for form in forms_of(name)}
    return f"(?:{any_of((form for form in forms if form.casefold() not in left_out), match_case=True)})"


@lru_cache(maxsize=256)
def _other_speakers_line(own_names: tuple[str, ...], other_names: tuple[str, ...]) -> re.Pattern[str]:
    named = _named((*other_names, *_NARRATORS), own_names)
    about = r"(?:[ \t]*[(（][^()（）\n]{0,60}[)）])?"
    return re.compile(
        rf"^[ \t]*(?:[>#*_\[【<]{{0,4}}[ \t]?{named}[*_\]】>]{{0,4}}{about}[*_]{{0,3}}[ \t]*[:：]"
        rf"|[#*_\[【]{{1,4}}[ \t]?{named}[*_\]】]{{1,4}}[ \t]*$)",
        re.MULTILINE,
    )


def _spoken_for(text: str, kind: MessageKind, own_name: str, others: Mapping[str, str]) -> str | None:
    """The name of another character whose speech or action the text contains."""
    if not others:
        return None
    says, does = _others_speech_and_acts(own_name, tuple(others.values()))
    found = says.search(text) or (does.match(text) if kind == ACT else None)
    found = found or next((act for inside in _INSIDE.findall(text) if (act := does.match(inside))), None)
    return found["name"].strip() if found else None


_MACHINE = re.compile(
    r"\b(?:ai|android|computer|robot|machine|artificial)\b|人工智能|机器人|电脑|计算机", re.IGNORECASE
)
_OF_ITSELF = re.compile(r"\bai\b|programming|人工智能", re.IGNORECASE)


def _assistant_phrase(text: str, about: str) -> str | None:
    """An assistant's phrase; phrases that end with “!” and a machine's own terms are allowed."""
    rest = text
    while phrase := ai_talk(rest):
        is_own = _OF_ITSELF.search(phrase) and _MACHINE.search(about)
        if not (is_own or phrase.endswith("!")):
            return phrase
        rest = "." + rest.replace("’", "'").partition(phrase)[2]
    return None


_INSIDE = re.compile(r"(?:(?<![*\w])\*(?=[^\s*])|[(（\[【])([^*()（）\[\]【】\n]{2,240})[*)）\]】]")
_SPEAKING = (
    r"(?:\w+ly )?(?:says|replies|answers|asks|exclaims|shouts|whispers|mutters|murmurs|responds|adds|cries"
    r"|laughs|nods|smiles|sighs|frowns)"
)
_NO_DEED = (
    "always|perhaps|thus|alas|yes|his|its|was|is|has|does|as|this|towards|besides|needs|seems|red|need"
)


@lru_cache(maxsize=256)
def _others_speech_and_acts(
    own_name: str, others: tuple[str, ...]
) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a line that quotes another character, and for an action of another character.

    A speaker may report what others said or did. So the first pattern requires a quotation in the present
    tense, and the second is applied to actions only.
    """
    named = _named(others, (own_name,))
    says = (
        rf"^[ \t]*[*_(（]{{0,2}}(?P<name>{named})(?: {_SPEAKING}\b[^.!?:\n\"“「]{{0,60}}(?::|, ?[\"“'‘])"
        rf"|[^\s，。：:！？“的和与跟]{{0,8}}[说道问答喊叫][:：] ?[“\"「『])"
    )
    does = (
        rf"\s*(?P<name>{named})(?: (?:\w+ly )?(?!(?:{_NO_DEED})\b)[a-z]{{2,}}(?:s|ed)\b(?! (?:own|and I)\b)"
        rf"|(?![的和与跟是在有被已不也、，])[{HAN}])"
    )
    return re.compile(says, re.MULTILINE), re.compile(does)


def _mark_inside(
    text: str, others: Mapping[str, str], turn_kinds: Sequence[MessageKind]
) -> re.Match[str] | None:
    """The first mark inside a text of a kind that not everyone perceives."""
    if all(kind.perceived_by == "everyone" for kind in turn_kinds):
        return None
    names = index_names(others)
    marks = ((found, mark_in(found[1], names, turn_kinds)) for found in _INSIDE.finditer(text))
    return next((found for found, mark in marks if mark and _is_private(mark)), None)


def _is_private(mark: Mark) -> bool:
    return mark.kind.perceived_by != "everyone"


_SENTENCE_END = re.compile(r"[.!?;。！？；…\n]+")
_UNIT = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
_SENTENCE_REPEATS = 3
_SENTENCE_SIZE = 12
_LONGEST_CYCLE = 40
_CYCLES = 4
_REPEATED_WORDS = 16
"""The least words that repeat earlier ones, for a text to count as cyclic."""


def _repeats_itself(text: str) -> bool:
    """Whether one sentence occurs three times, or a sequence of words four times in a row."""
    sentences = Counter(comparable(sentence) for sentence in _SENTENCE_END.split(text))
    if any(
        times >= _SENTENCE_REPEATS and size_of(sentence) >= _SENTENCE_SIZE
        for sentence, times in sentences.items()
    ):
        return True
    units = [unit.casefold() for unit in _UNIT.findall(text)]
    return any(
        _longest_run(units, step) >= max((_CYCLES - 1) * step, _REPEATED_WORDS)
        for step in range(1, min(_LONGEST_CYCLE, len(units) // _CYCLES) + 1)
    )


def _longest_run(units: Sequence[str], step: int) -> int:
    """The longest run of words that equal the words `step` places before them."""
    longest = run = 0
    for unit, earlier in zip(units[step:], units, strict=False):
        run = run + 1 if unit == earlier else 0
        longest = max(longest, run)
    return longest


_MUCH = 40


def _is_in_other_language(text: str, language: Language) -> bool:
    """Whether the whole text is in another language; a few foreign words are no fault."""
    chinese = len(re.findall(f"[{HAN}]", text))
    other = len(re.findall(rf"[^\W\d_{HAN}]", text))
    if language == "zh":
        return other >= _MUCH and chinese * 10 < other
    return chinese >= _MUCH // 4 and other < chinese


def _repeated(text: str, speaker: str, lines: Sequence[SceneLine], names: Mapping[str, str]) -> str | None:
    said = comparable(text)
    if is_short(said):
        return None
    for line in _last_witnessed(lines, speaker):
        before = comparable(line["text"])
        contains = size_of(before) * 2 > size_of(said) and before in said
        if is_short(before) or not (contains or is_nearly_equal(said, before)):
            continue
        if line["speaker"] == speaker:
            return "It repeats what it said before."
        return f"It repeats what {one_line(names.get(line['speaker'], line['speaker']), 60)} said."
    return None


def _last_witnessed(lines: Sequence[SceneLine], seat: str) -> Iterator[SceneLine]:
    """The newest lines that a seat witnessed, without entrances and exits, newest first."""
    seen = (line for line in reversed(lines) if seat in line["audience"])
    yield from islice((line for line in seen if line["kind"] not in ("join", "leave")), _LOOKED_BACK)
