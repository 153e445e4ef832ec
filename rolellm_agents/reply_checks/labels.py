"""Label faults of generated questions and answers. The caller decides what to drop.

RoleLLM drops unconfident and repeated questions, and answers that are unfinished, refuse, or speak like an
assistant (arXiv 2310.00746, §3.2 and §3.3). The other labels are for further faults of small models.
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
    "low-confidence",  # the model itself gives the question a low confidence
    "incomplete",  # the question is cut off, or needs its context: “him”, “this passage”
    "not-in-segment",  # the segment does not mention the question's subject
    "wrong-person",  # a question about the character instead of to it; an answer in the third person
    "wrong-language",
    "leaked-template",  # marks or words of the prompt
    "empty",
    "unfinished",  # the answer reached the token limit within its first sentence
    "refusal",  # a refusal like an assistant's
    "ai-talk",
    "out-of-role",  # mentions role play
    "copied",  # copies a demonstration, the description or the question
    "repetitive",  # repeats the same words
    "near-duplicate",  # similar to an earlier question to the same character
    "unsupported",  # the answer states facts that are not in its lines, or others than its lines
    "off-question",  # the answer does not answer the question
    "low-gain",  # the answer is not likelier from the character than from anybody
    "low-grade",  # the answer has a low grade by a rubric
    "repaired",  # no fault: the answer replaces one with a fault
    "unchecked",  # no fault known: no check applied to the answer, or none gave a judgement
    "shortened",  # no fault: the incomplete last sentence was removed
    "boundary",  # no fault: the character cannot know the answer
]

MARKS: Final[Collection[Label]] = frozenset({"boundary", "repaired", "shortened", "unchecked"})
"""Labels that are no faults."""

_NEAR = 0.2
"""Minimum share of the weight of a question's words that its segment must contain."""
_COPIED, _ECHOED = 0.6, 0.9
"""Minimum share of an answer's n-grams that are in a known text, or in the question, for a copy."""
_RUN, _FEWEST_RUNS = 4, 4
_COPIED_RUN: Final[dict[Language, int]] = {"en": 12, "zh": 20}
"""Consecutive words, or Chinese characters, of a known text that count as a copy."""
_FEWEST_UNITS: Final[dict[Language, int]] = {"en": 4, "zh": 5}
_LEAKED_RUN: Final[dict[Language, int]] = {"en": 8, "zh": 12}
"""Consecutive words, or Chinese characters, of the prompt that count as leaked."""
_FEWEST_LEAKED = 5
_LEAKED_SENTENCE = 4
"""The fewest words of a whole sentence of the prompt that counts as leaked."""
_FEWEST_REPEATED = 3
_REPEATED = 3
"""Occurrences of one sentence that count as a loop."""
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
"""The character's name as a subject in the third person, or as a form of address."""
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
    """Label the faults of a question to a character.

    `is_unsure` says whether the model gave the question a low confidence. `segment` is the text that should
    contain the answer; None when there is none. Leaks are detected by `templates`, the texts of the
    prompts.
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
    """Label the faults of a character's answer.

    Leaks are detected by `templates`, the texts of the prompts.
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
    """Whether a text is not a question, is cut off, or cannot be understood without its segment."""
    return (
        len(units_of(question)) < _FEWEST_UNITS[persona.language]
        or not _ASKS.search(question.strip())
        or _OF_THE_TEXT.search(question) is not None
        or _speaks_of_nobody(question, persona)
    )


def closeness(question: str, segment: str, persona: Persona) -> float:
    """The share of the weight of a question's words that the segment contains, ignoring the name."""
    words = set(words_of(_without_name(question, persona), persona.language))
    there = set(words_of(segment, persona.language))
    weights = {word: weight(word, persona.language) for word in words}
    every = sum(weights.values())
    return sum(weights[word] for word in words & there) / every if every else 0.0


def is_repetitive(text: str) -> bool:
    """Whether a text repeats itself in a loop."""
    sentences = Counter(
        part.strip().casefold() for part in re.split(r"[.!?。！？\n]+", text) if len(part) > 8
    )
    if sentences and max(sentences.values()) >= _REPEATED:
        return True
    runs = [*_runs_in_order(text, 3)]
    return len(runs) >= _LOOP_UNITS and len(set(runs)) < _LOOP_DISTINCT * len(runs)


def repeats_earlier(text: str, earlier: Sequence[str]) -> bool:
    """Whether a line says again what one of the speaker's earlier lines said; short lines may recur."""
    units = units_of(text)
    return len(units) >= _FEWEST_REPEATED and any(
        units == units_of(other) or _share(text, other) >= _COPIED for other in earlier
    )


def _common_labels(text: str, language: Language, templates: Sequence[str]) -> Iterator[Label]:
    if is_in_other_language(text, language):
        yield "wrong-language"
    if (
        _TEMPLATE.search(text)
        or _shares_a_run(text, templates, _LEAKED_RUN[language])
        or any(
            _contains(text, sentence) for template in templates for sentence in _short_sentences(template)
        )
    ):
        yield "leaked-template"


def _is_named(text: str, persona: Persona) -> bool:
    """Whether the text contains the character's name or a longer part of it."""
    return re.search(_name_of(persona), text) is not None


def _speaks_as_somebody_else(answer: str, persona: Persona) -> bool:
    """Whether an answer speaks of the character in the third person, or addresses it."""
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
    """The question without the name that it addresses at the start or end."""
    name = _name_of(persona)
    return re.sub(rf"\A\W*(?:{name})\s*[,，：:]|[,，]\s*(?:{name})\s*[?？!！.。]*\s*\Z", "", question)


def _speaks_of_nobody(question: str, persona: Persona) -> bool:
    """Whether “he” or “she” refers to a person whom the question does not name."""
    pronoun = _PRONOUN.search(question)
    if pronoun is None:
        return False
    before = _without_name(question[: pronoun.start()], persona)
    if persona.language == "zh":
        return len(_NO_NAME_ZH.sub("", before)) < 2
    return not _WHOSE.search(before) and not _NAME.search(_without_name(question, persona))


def _is_copied(answer: str, persona: Persona, question: str) -> bool:
    known = [persona.description, *(pair.reply for pair in persona.demonstrations)]
    run = _runs(answer, _COPIED_RUN[persona.language])
    return _share(answer, question) >= _ECHOED or any(
        _share(answer, text) >= _COPIED
        or not run.isdisjoint(_known_runs(text, _COPIED_RUN[persona.language]))
        for text in known
    )


def _share(text: str, other: str) -> float:
    """The share of the text's n-grams that the other contains; 0 for texts that are too short."""
    own = _runs(text, _RUN)
    return len(own & _known_runs(other, _RUN)) / len(own) if len(own) >= _FEWEST_RUNS else 0.0


def _shares_a_run(text: str, others: Sequence[str], length: int) -> bool:
    # A text that is shorter than an n-gram is compared as a whole.
    length = min(length, max(_FEWEST_LEAKED, len(units_of(text))))
    own = _runs(text, length)
    return any(not own.isdisjoint(_known_runs(other, length)) for other in others)


@lru_cache(maxsize=64)
def _short_sentences(template: str) -> tuple[tuple[str, ...], ...]:
    """The units of a prompt's sentences that are shorter than a leaked run."""
    sentences = (tuple(units_of(part)) for part in re.split(r"[.!?:;。！？：；\n]+", template))
    return tuple(one for one in sentences if _LEAKED_SENTENCE <= len(one) < max(_LEAKED_RUN.values()))


def _contains(text: str, units: tuple[str, ...]) -> bool:
    return units in _runs(text, len(units))


def _runs(text: str, length: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_runs_in_order(text, length))


_known_runs = lru_cache(maxsize=256)(_runs)
"""Cached `_runs`, for texts that are compared often: a persona's lines and the prompts."""


def _runs_in_order(text: str, length: int) -> Iterator[tuple[str, ...]]:
    units = units_of(text)
    return (tuple(units[start : start + length]) for start in range(len(units) - length + 1))
