"""Label what is wrong with a generated question or answer. Nothing is deleted here: whoever reads decides.

RoleLLM drops unconfident and repeated questions, and answers that are unfinished, refuse, or show the
assistant (arXiv 2310.00746, §3.2 and §3.3); the other labels are for what small models do besides.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from rolellm_agents.persona import Persona
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import Language, is_in_other_language
from rolellm_agents.text.near_copies import units_of
from rolellm_agents.text.words import weight, words_of

Label = Literal[
    "unreadable",  # the model wrote no question at all
    "low-confidence",  # the model itself says that the question leaves something open
    "incomplete",  # the question does: it is cut, or speaks of “him” or “this passage”
    "not-in-segment",  # the segment does not speak of what is asked
    "wrong-person",  # the character is spoken of, not to; or speaks of itself as of somebody else
    "wrong-language",
    "leaked-template",  # marks or words of the prompt
    "empty",
    "unfinished",  # the answer was cut by its limit within its first sentence
    "refusal",  # of an assistant
    "ai-talk",
    "out-of-role",  # speaks of playing a part
    "copied",  # a demonstration, the description or the question once more
    "repetitive",  # the same words over and over
    "near-duplicate",  # of an earlier question to the same character
    "shortened",  # no fault: the half sentence at the answer's limit was taken away
    "boundary",  # no fault: the character cannot know the answer
]

MARKS: Final[Collection[Label]] = frozenset({"boundary", "shortened"})
"""Labels that are no faults."""

_NEAR = 0.2
"""The least share of a question's weight of words that its segment must hold."""
_COPIED, _ECHOED = 0.6, 0.9
"""The share of an answer's runs of words from which on it is taken from elsewhere, or is the question."""
_RUN, _FEWEST_RUNS = 4, 4
_FEWEST_UNITS: Final[dict[Language, int]] = {"en": 4, "zh": 5}
_LEAKED_RUN: Final[dict[Language, int]] = {"en": 8, "zh": 12}
"""So many words, or Chinese characters, of the prompt in a row are no chance."""
_FEWEST_LEAKED = 5
_REPEATED = 3
"""A sentence that stands so often is a loop."""
_LOOP_UNITS, _LOOP_DISTINCT = 40, 0.5


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_YOU = _any(
    r"\b(?:you|your|yours|yourself|thou|thee|thy)\b",
    r"[你您君卿]|陛下|皇上|娘娘|大圣|将军|先生|阁下|前辈",
)
_I = _any(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|i['’]\w+)\b",
    r"[我俺吾朕咱某余妾]|本(?:宫|妃|王|座|将军)|老(?:孙|夫|身|子)|贫道|在下|哀家|洒家|小生|鄙人|奴家",
)
_THIRD_PERSON: Final[dict[Language, str]] = {
    "en": r"{name} (?:would|was|has|had|does|says|said|thinks|believes|knows|loves|wants|could|will|must)\b"
    r"|,\s*{name}\s*[.!?]*\s*\Z",
    "zh": r"(?<!我){name}(?:认为|觉得|知道|会说|说过|说)|[，,]\s*{name}\s*[。！？!?]*\s*\Z",
}
"""What is done by somebody else, or said to somebody else."""
_ASKS = _any(
    r"[?？]",
    r"\A\W*(?:[\w .'-]{1,40},\s*)?(?:please |pray )?(?:tell|describe|explain|share|talk|give|name)\b",
    r"\A\W*(?:[\w .'-]{1,40},\s*)?(?:please |pray )?(?:recall|teach|show|imagine|suppose|list|walk)\b",
    r"讲讲|说说|谈谈|聊聊|[吗呢么][。！]?\s*\Z",
)
_OF_THE_TEXT = _any(
    r"\b(?:this|the|that|these|above) (?:passage|text|segment|script|excerpt|document|paragraph|quote)\b",
    r"\blines? \d|\b(?:mentioned|described|given) (?:above|here)\b",
    r"这段(?:话|文字|原文|台词|对话)|上文|文中|原文|剧本|第\s*\d+\s*行",
)
_PRONOUN = _any(r"\b(?:he|him|his|she|hers?)\b", r"[他她](?!人)")
_WHOSE = _any(
    r"\b(?:an?|any|every|some|each|the|your|those|these|who|whom|people|person|man|woman)\b",
    r"\b(?:some|any|every)(?:one|body)\b",
)
_NAME = re.compile(r"(?<=[\w,;'’] )[A-Z][\w'’-]+")
_NO_NAME_ZH = re.compile(r"[\W你您我们当时那这为什么怎样如何是否曾经后来在对跟和给与把被让请问]+")
_REFUSAL = _any(
    r"\bi(?:['’]m| am) (?:so |very )?(?:sorry|afraid),? (?:but )?i (?:can(?:['’]?t|not)|am (?:un|not )able)"
    r" (?:to )?(?:answer|help|create|discuss|do that|offer)\b",
    r"\bi (?:can(?:['’]t|not)|am (?:un|not )able to) (?:provide|assist|comply|fulfil|generate|engage)\b",
    r"(?:抱歉|对不起|很遗憾)[，,]?\s*我(?:不能|无法|没法)(?:回答|提供|协助|帮助|满足|生成)",
    r"我(?:无法|不能)(?:提供|协助|满足|生成)",
)
_OUT_OF_ROLE = _any(
    r"\brole-?play",
    r"\b(?:stay|remain|break)(?:ing|s)? (?:in|out of)? ?character\b",
    r"\b(?:a|this|my|the) fictional character\b|\bthe character i\b|\bas a character\b",
    r"\bin the (?:style|voice|manner) of\b|\bmy (?:persona|character) is\b",
    r"角色扮演|扮演(?:的|着|一个)?角色|虚构(?:的)?(?:角色|人物)",
    r"以.{1,8}的(?:口吻|语气|身份)来?(?:回答|说)",
)
_TEMPLATE = _any(
    r"<\|[^|<>]{1,40}\|>|</?(?:s|start_of_turn|end_of_turn)>|\[/?INST\]",
    r"\{\{?[a-z_]{1,30}\}?\}",
    r"(?:\A|\n)\s*(?:question|answer|user|assistant|human|system|用户|助手|系统|回答|问|答)\s*\d*[:：]",
    r"[\"'](?:questions?|answer|confidence|reason|line)[\"']\s*:",
    r"\b(?:as|in) JSON\b|用 ?JSON",
)


def question_labels(
    text: str, persona: Persona, *, is_unsure: bool, segment: str | None, templates: Sequence[str]
) -> list[Label]:
    """What is wrong with a question to a character.

    Args:
        text: the question, as it was read out of the model's answer.
        persona: whom it is put to.
        is_unsure: whether the model gave it a low confidence.
        segment: the text in which its answer should stand; None when none does.
        templates: the prompt's own words.
    """
    found: list[Label] = []
    if is_unsure:
        found.append("low-confidence")
    if is_incomplete(text, persona):
        found.append("incomplete")
    if segment is not None and closeness(text, segment, persona) < _NEAR:
        found.append("not-in-segment")
    if _is_named(_without_address(text, persona), persona) and not _YOU.search(text):
        found.append("wrong-person")
    return [*found, *_common_labels(text, persona.language, templates)]


def answer_labels(answer: str, persona: Persona, *, question: str, templates: Sequence[str]) -> list[Label]:
    """What is wrong with a character's answer.

    Args:
        answer: what the model said.
        persona: whose answer it should be.
        question: what was asked.
        templates: the prompt's own words.
    """
    if not re.search(r"\w", answer):
        return ["empty"]
    found: list[Label] = []
    if _REFUSAL.search(answer):
        found.append("refusal")
    if ai_talk(answer):
        found.append("ai-talk")
    if _OUT_OF_ROLE.search(answer):
        found.append("out-of-role")
    if _speaks_as_somebody_else(answer, persona):
        found.append("wrong-person")
    if _is_copied(answer, persona, question):
        found.append("copied")
    if is_repetitive(answer):
        found.append("repetitive")
    return [*found, *_common_labels(answer, persona.language, templates)]


def is_incomplete(question: str, persona: Persona) -> bool:
    """Whether a question is none, is cut, or cannot be understood without the segment."""
    return (
        len(units_of(question)) < _FEWEST_UNITS[persona.language]
        or not _ASKS.search(question.strip())
        or _OF_THE_TEXT.search(question) is not None
        or _speaks_of_nobody(question, persona)
    )


def closeness(question: str, segment: str, persona: Persona) -> float:
    """Of the weight of a question's words, the share that the segment holds; the character's name aside."""
    words = set(words_of(_without_name(question, persona), persona.language))
    there = set(words_of(segment, persona.language))
    weights = {word: weight(word, persona.language) for word in words}
    every = sum(weights.values())
    return sum(weights[word] for word in words & there) / every if every else 0.0


def is_repetitive(text: str) -> bool:
    """Whether a text goes round in a loop."""
    sentences = Counter(
        part.strip().casefold() for part in re.split(r"[.!?。！？\n]+", text) if len(part) > 8
    )
    if sentences and max(sentences.values()) >= _REPEATED:
        return True
    runs = [*_runs_in_order(text, 3)]
    return len(runs) >= _LOOP_UNITS and len(set(runs)) < _LOOP_DISTINCT * len(runs)


def _common_labels(text: str, language: Language, templates: Sequence[str]) -> Iterator[Label]:
    if is_in_other_language(text, language):
        yield "wrong-language"
    if _TEMPLATE.search(text) or _shares_a_run(text, templates, _LEAKED_RUN[language]):
        yield "leaked-template"


def _is_named(text: str, persona: Persona) -> bool:
    """Whether the character's name stands in the text, or a part of it of some length."""
    return re.search(_name_of(persona), text) is not None


def _speaks_as_somebody_else(answer: str, persona: Persona) -> bool:
    """Whether the character is spoken of, or to, by its own mouth."""
    if not _is_named(answer, persona):
        return False
    name = _name_of(persona)
    third = re.search(_THIRD_PERSON[persona.language].format(name=name), answer)
    return third is not None or not _I.search(_without_name(answer, persona))


def _name_of(persona: Persona) -> str:
    if persona.language == "zh":
        return re.escape(persona.name)
    parts = [persona.name, *re.findall(r"(?!The\b)[^\W\d_]{3,}", persona.name)]
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, parts))})(?!\w)"


def _without_name(text: str, persona: Persona) -> str:
    return re.sub(_name_of(persona), " ", text)


def _without_address(question: str, persona: Persona) -> str:
    """The question without the name it is addressed to, before or after it."""
    name = _name_of(persona)
    return re.sub(rf"\A\W*(?:{name})\s*[,，：:]|[,，]\s*(?:{name})\s*[?？!！.。]*\s*\Z", "", question)


def _speaks_of_nobody(question: str, persona: Persona) -> bool:
    """Whether “he” or “she” stands for somebody whom the question does not name."""
    pronoun = _PRONOUN.search(question)
    if pronoun is None:
        return False
    before = _without_name(question[: pronoun.start()], persona)
    if persona.language == "zh":
        return len(_NO_NAME_ZH.sub("", before)) < 2
    return not _WHOSE.search(before) and not _NAME.search(_without_name(question, persona))


def _is_copied(answer: str, persona: Persona, question: str) -> bool:
    known = [persona.description, *(pair.reply for pair in persona.demonstrations)]
    return _share(answer, question) >= _ECHOED or any(_share(answer, text) >= _COPIED for text in known)


def _share(text: str, other: str) -> float:
    """The share of the text's runs of words that the other holds; a phrase is nobody's."""
    own = _runs(text, _RUN)
    return len(own & _known_runs(other, _RUN)) / len(own) if len(own) >= _FEWEST_RUNS else 0.0


def _shares_a_run(text: str, others: Sequence[str], length: int) -> bool:
    # What is shorter than a run is looked for whole.
    length = min(length, max(_FEWEST_LEAKED, len(units_of(text))))
    own = _runs(text, length)
    return any(not own.isdisjoint(_known_runs(other, length)) for other in others)


def _runs(text: str, length: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_runs_in_order(text, length))


_known_runs = lru_cache(maxsize=256)(_runs)
"""For texts that come again and again: what a persona has said, the prompts."""


def _runs_in_order(text: str, length: int) -> Iterator[tuple[str, ...]]:
    units = units_of(text)
    return (tuple(units[start : start + length]) for start in range(len(units) - length + 1))
