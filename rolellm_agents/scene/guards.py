"""What must not stand as a character's turn: another's words, nothing, the same again, an assistant's talk.

All of it is found by the words alone; nothing is changed but for cutting off what another would say.
"""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from rolellm_agents.scene.alike import comparable, is_short, nearly_the_same, size_of
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.marks import mark_in
from rolellm_agents.scene.names import HAN, any_of, forms_of, ready
from rolellm_agents.scene.scene import TurnKind
from rolellm_agents.text import one_line
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import Language
from rolellm_agents.transcript.message import Kind

_NARRATORS = ("Narrator", "User", "Human", "Assistant", "System", "旁白", "用户", "助手")

_LOOKED_BACK = 12
"""Lines among which a repetition is looked for."""
_LONGEST = 8_000
"""Characters that are looked at."""


def cut_at_others(text: str, own_names: Collection[str], other_names: Collection[str]) -> str:
    """A text up to the line that begins with somebody else's name and a colon, as a script goes on.

    Args:
        text: a model's answer.
        own_names: what the speaker is called; a part of a name that is theirs too does not cut.
        other_names: of all others. The narrator and the user are known.

    Returns:
        Nothing, when the text begins so.
    """
    found = _anothers_line(tuple(own_names), tuple(other_names)).search(text)
    return text[: found.start()].rstrip() if found else text


def cut_at_marks(text: str, others: Mapping[str, str], turn_kinds: Container[TurnKind]) -> str:
    """A text up to where something begins that is meant for fewer than its beginning.

    Args:
        text: without the mark that it began with.
        others: names of the others, by seat.
        turn_kinds: what the speaker may do.
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
    kind: Kind = "say",
    turn_kinds: Container[TurnKind] = (),
    about: str = "",
) -> str | None:
    """What is wrong with something a model says for a character, in a sentence; None when nothing is found.

    Args:
        text: without marks, as it would stand.
        speaker: the seat that says it.
        lines: what happened, newest last; what the speaker did not witness is not looked at.
        names: of the others, by seat; the speaker's own may be among them.
        language: the scene's; None when any will do.
        kind: how it is meant.
        turn_kinds: what the speaker may do: with `whisper` or `think`, what is meant for few must not stand
            in the middle of what more would hear.
        about: who the speaker is; a machine may talk of its programming.
    """
    looked_at = text[:_LONGEST]
    others = {seat: name for seat, name in names.items() if seat != speaker}
    own_name = names.get(speaker, "")
    if not _SAYS_SOMETHING.search(looked_at):
        return "It says nothing."
    if found := _TEMPLATE.search(looked_at):
        return f"It shows a mark of the model's own ({one_line(found.group(), 20)!r})."
    if name := _spoken_for(looked_at, kind, own_name, others):
        return f"It speaks for {one_line(name, 60)}."
    if phrase := _assistants_words(looked_at, about):
        return f"It talks as an assistant does ({one_line(phrase, 60)!r})."
    if kind != "think" and _mark_inside(looked_at, others, turn_kinds):
        return "It says in the middle, for others to hear, what is meant for few."
    if _goes_round(looked_at):
        return "It says the same over and over."
    if language and _is_in_another(looked_at, language):
        return f"It is not in {_LANGUAGES[language]}."
    return _repeated(looked_at, speaker, lines, names)


_SAYS_SOMETHING = re.compile(r"[^\W_]|…|\.\.\.")
_TEMPLATE = re.compile(r"<\|[\w ]{2,20}\|>|</?s>|\[/?INST\]|<(?:start|end)_of_turn>|\{\{(?:user|char)\}\}")
_LANGUAGES: dict[Language, str] = {"en": "English", "zh": "Chinese"}


def _named(names: Sequence[str], but: Sequence[str]) -> str:
    """A regular expression for what people of these names are called, and nobody of the others is."""
    left_out = {form.casefold() for name in but for form in forms_of(name)}
    forms = {form for name in names for form in forms_of(name)}
    return f"(?:{any_of((form for form in forms if form.casefold() not in left_out), as_said=True)})"


@lru_cache(maxsize=256)
def _anothers_line(own_names: tuple[str, ...], other_names: tuple[str, ...]) -> re.Pattern[str]:
    named = _named((*other_names, *_NARRATORS), own_names)
    about = r"(?:[ \t]*[(（][^()（）\n]{0,60}[)）])?"
    return re.compile(
        rf"^[ \t]*(?:[>#*_\[【<]{{0,4}}[ \t]?{named}[*_\]】>]{{0,4}}{about}[*_]{{0,3}}[ \t]*[:：]"
        rf"|[#*_\[【]{{1,4}}[ \t]?{named}[*_\]】]{{1,4}}[ \t]*$)",
        re.MULTILINE,
    )


def _spoken_for(text: str, kind: Kind, own_name: str, others: Mapping[str, str]) -> str | None:
    """Whose words or deeds stand here, though another is the speaker."""
    if not others:
        return None
    says, does = _anothers_doing(own_name, tuple(others.values()))
    found = says.search(text) or (does.match(text) if kind == "act" else None)
    found = found or next((one for inside in _INSIDE.findall(text) if (one := does.match(inside))), None)
    return found["name"].strip() if found else None


_MACHINE = re.compile(
    r"\b(?:ai|android|computer|robot|machine|artificial)\b|人工智能|机器人|电脑|计算机", re.IGNORECASE
)
_OF_ITSELF = re.compile(r"\bai\b|programming|人工智能", re.IGNORECASE)


def _assistants_words(text: str, about: str) -> str | None:
    """Words that an assistant says and people, or this machine, do not; “Of course!” people do say."""
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
def _anothers_doing(own_name: str, others: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What begins a line that speaks for another, and what tells that another does something.

    To tell in speech what another said or did is no fault: so only a line that quotes them, in the present,
    counts, and only what stands as something done.
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
    text: str, others: Mapping[str, str], turn_kinds: Container[TurnKind]
) -> re.Match[str] | None:
    """The first mark for few within a text."""
    if "whisper" not in turn_kinds and "think" not in turn_kinds:
        return None
    names = ready(others)
    return next((one for one in _INSIDE.finditer(text) if mark_in(one[1], names, turn_kinds)), None)


_SENTENCE_END = re.compile(r"[.!?;。！？；…\n]+")
_UNIT = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
_TIMES = 3
_A_SENTENCE = 12
_LONGEST_ROUND = 40
_ROUNDS = 4
_WITHIN_ROUNDS = 16
"""Words that are to be the same as those before them, for a text to go round."""


def _goes_round(text: str) -> bool:
    """Whether one sentence comes three times, or some words follow upon themselves four times."""
    sentences = Counter(comparable(sentence) for sentence in _SENTENCE_END.split(text))
    if any(times >= _TIMES and size_of(sentence) >= _A_SENTENCE for sentence, times in sentences.items()):
        return True
    units = [unit.casefold() for unit in _UNIT.findall(text)]
    return any(
        _longest_run(units, step) >= max((_ROUNDS - 1) * step, _WITHIN_ROUNDS) for step in _rounds(units)
    )


def _rounds(units: Sequence[str]) -> Iterator[int]:
    return iter(range(1, min(_LONGEST_ROUND, len(units) // _ROUNDS) + 1))


def _longest_run(units: Sequence[str], step: int) -> int:
    """How many words in a row are those that stand so many words before them."""
    longest = run = 0
    for one, other in zip(units[step:], units, strict=False):
        run = run + 1 if one == other else 0
        longest = max(longest, run)
    return longest


_MUCH = 40


def _is_in_another(text: str, language: Language) -> bool:
    """Whether it is wholly in another language than the scene: a few foreign words are no fault."""
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
        if is_short(before) or not (nearly_the_same(said, before) or _is_mostly(said, before)):
            continue
        if line["speaker"] == speaker:
            return "It says again what it said before."
        return f"It says again what {one_line(names.get(line['speaker'], line['speaker']), 60)} said."
    return None


def _last_witnessed(lines: Sequence[SceneLine], seat: str) -> Iterator[SceneLine]:
    """The newest lines that a seat witnessed, the newest first."""
    seen = (line for line in reversed(lines) if seat in line["audience"])
    yield from islice((line for line in seen if line["kind"] not in ("join", "leave")), _LOOKED_BACK)


def _is_mostly(said: str, before: str) -> bool:
    """Whether a whole line stands again in another, and is the greater part of it."""
    return size_of(before) * 2 > size_of(said) and before in said
