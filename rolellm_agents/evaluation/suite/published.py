"""The items of published benchmarks as tasks.

Prompts are our own words, and where a benchmark's judge is a model of its authors, our rubrics take its
place; `NOTES` says what cannot be compared with published figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.benchmarks import (
    characterbench,
    charactereval,
    incharacter,
    personagym,
    pingpong,
    socialbench,
    timechara,
)
from rolellm_agents.benchmarks.errors import BenchmarkError
from rolellm_agents.datasets.keys import role_key
from rolellm_agents.evaluation.suite.tasks import (
    AgreesWith,
    Contains,
    GradedBy,
    OneOf,
    RatedAs,
    SimulatedUser,
    SuiteTask,
    in_one_turn,
)
from rolellm_agents.judging import ConversationTurn
from rolellm_agents.persona import Persona, id_of, list_personas
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.text.language import Language


@dataclass(frozen=True)
class PublishedBenchmark:
    """A benchmark that the suite can run."""

    name: str
    """As in `--data NAME=PATH`."""
    title: str
    read: Callable[[Path, Language], list[SuiteTask]]
    """Reads the published files; of benchmarks in two languages, those of one."""
    note: str
    """What cannot be compared with published figures."""


def socialbench_tasks(path: Path, language: Language) -> list[SuiteTask]:
    """The questions of SocialBench in one language."""
    return [
        _socialbench_task(one)
        for one in socialbench.read_socialbench(path)
        if one.language == language and (one.options or one.is_memory)
    ]


def _socialbench_task(item: socialbench.SocialBenchItem) -> SuiteTask:
    key = f"socialbench/{item.category}/{item.language}/{item.number}"
    persona = _persona(item.name, _socialbench_profile(item), item.language) if item.name else None
    if item.is_memory:
        # The last turn is the user's; its question is about the conversation before.
        text = in_one_turn(item.language, item.dialogue, "")
        expected: OneOf | Contains = Contains(item.right)
    else:
        question = item.instruction or _role_question(item)
        text = in_one_turn(item.language, item.dialogue, question)
        expected = OneOf(options=item.options, right=item.right)
    return SuiteTask(
        key=key,
        benchmark="socialbench",
        category=item.category,
        language=item.language,
        persona=persona,
        turns=(ConversationTurn("user", text),),
        expected=expected,
    )


def _socialbench_profile(item: socialbench.SocialBenchItem) -> str:
    own = item.profiles.get(item.name) or next(iter(item.profiles.values()), item.name)
    others = [text for name, text in item.profiles.items() if name != item.name and text != own]
    return "\n\n".join([own, *others]) if item.is_group else own


def _role_question(item: socialbench.SocialBenchItem) -> str:
    return load_prompt("suite-own-line", item.language).fill(name=item.name) if item.name else ""


def timechara_tasks(path: Path, _language: Language) -> list[SuiteTask]:
    """The questions of TimeChara, which are English, to characters at a moment of their story."""
    return [
        SuiteTask(
            key=f"timechara/{one.data_type}/{one.number}",
            benchmark="timechara",
            category=one.data_type,
            language="en",
            persona=_persona(
                one.character,
                load_prompt("suite-series", "en").fill(name=one.character, series=one.series),
                "en",
                moment=one.moment,
            ),
            turns=(ConversationTurn("user", one.question),),
            expected=AgreesWith(one.facts),
        )
        for one in timechara.read_timechara(path)
        if one.facts
    ]


_CHARACTERBENCH_RUBRICS: Final[Mapping[str, str]] = {
    "memory_consistency": "consistency",
    "fact_accuracy": "knowledge",
    "boundary_consistency": "boundary",
    "attribute_consistency_bot": "knowledge",
    "attribute_consistency_human": "knowledge",
    "behavior_consistency_bot": "voice",
    "behavior_consistency_human": "voice",
    "emotion_self_regulation": "voice",
    "empathetic_responsiveness": "engagement",
    "morality_stability": "safety",
    "morality_robustness": "safety",
    "morality": "safety",
    "human_likeness": "engagement",
    "engagement": "engagement",
}
"""The rubric that grades each dimension of CharacterBench."""


def characterbench_tasks(path: Path, language: Language) -> list[SuiteTask]:
    """The conversations of CharacterBench; dimensions without a rubric are left out."""
    return [
        SuiteTask(
            key=f"characterbench/{one.dimension}/{language}/{number}",
            benchmark="characterbench",
            category=one.dimension,
            language=language,
            persona=_persona(one.name, one.profile, language),
            turns=tuple(ConversationTurn(*turn) for turn in one.turns),
            expected=GradedBy((_CHARACTERBENCH_RUBRICS[one.dimension],)),
        )
        for number, one in enumerate(characterbench.read_characterbench(path, language), 1)
        if one.dimension in _CHARACTERBENCH_RUBRICS
    ]


_CHARACTEREVAL_RUBRICS: Final[Mapping[str, str]] = {
    "Fluency": "engagement",
    "Coherency": "consistency",
    "Consistency": "consistency",
    "Accuracy": "knowledge",
    "Hallucination": "boundary",
    "Exposure": "knowledge",
    "Behavior": "voice",
    "Utterance": "voice",
    "Humanlikeness": "engagement",
    "Communication_skills": "engagement",
    "Diversity": "engagement",
    "Empathy": "engagement",
}
"""The rubric that grades each metric of CharacterEval."""


def charactereval_tasks(path: Path, _language: Language) -> list[SuiteTask]:
    """The dialogues of CharacterEval, which are Chinese: a task for each dialogue and rubric."""
    rubrics = {name.casefold().replace("-", "_"): rubric for name, rubric in _CHARACTEREVAL_RUBRICS.items()}
    return [
        SuiteTask(
            key=f"charactereval/{one.id}/{rubric}",
            benchmark="charactereval",
            category=rubric,
            language="zh",
            persona=_persona(one.role, one.profile, "zh"),
            turns=(ConversationTurn("user", in_one_turn("zh", one.dialogue, "")),),
            expected=GradedBy((rubric,)),
        )
        for one in charactereval.read_charactereval(path)
        for rubric in dict.fromkeys(
            rubrics[metric.casefold()] for metric in one.metrics if metric.casefold() in rubrics
        )
    ]


_PERSONAGYM_RUBRICS: Final[Mapping[str, str]] = {
    "Expected Action": "knowledge",
    "Toxicity": "safety",
    "Linguistic Habits": "voice",
    "Persona Consistency": "knowledge",
    "Action Justification": "knowledge",
}
"""The rubric that grades each task of PersonaGym."""


def personagym_tasks(path: Path, _language: Language) -> list[SuiteTask]:
    """The questions of PersonaGym, which are English."""
    return [
        SuiteTask(
            key=f"personagym/{one.persona}/{one.task}/{one.number}",
            benchmark="personagym",
            category=one.task,
            language="en",
            persona=_persona(one.persona[:1].lower() + one.persona[1:], one.persona, "en"),
            turns=(ConversationTurn("user", one.question),),
            expected=GradedBy((_PERSONAGYM_RUBRICS[one.task],)),
        )
        for one in personagym.read_personagym(path)
    ]


def pingpong_tasks(path: Path, language: Language) -> list[SuiteTask]:
    """The conversations of PingPong: a model speaks as the user in each situation."""
    return [
        SuiteTask(
            key=f"pingpong/{language}/{one.character}/{one.number}",
            benchmark="pingpong",
            category=one.kind,
            language=language,
            persona=_persona(one.character, one.profile, language),
            turns=(),
            expected=GradedBy(("voice", "engagement")),
            user=SimulatedUser(one.situation, one.rounds),
        )
        for one in pingpong.read_pingpong(path, language)
    ]


def incharacter_tasks(path: Path, language: Language) -> list[SuiteTask]:
    """The questions of InCharacter to the characters that are in the library, by their names.

    Raises:
        BenchmarkError: no character is in the library.
    """
    cast = {
        role_key(found.persona.name): found.persona
        for found in list_personas().found
        if found.persona.language == language
    }
    items = [one for one in incharacter.read_incharacter(path) if one.language == language]
    tasks = [
        SuiteTask(
            key=f"incharacter/{one.code}/{one.questionnaire}/{one.number}",
            benchmark="incharacter",
            category=one.questionnaire,
            language=language,
            persona=persona,
            turns=(ConversationTurn("user", one.question),),
            expected=RatedAs(
                unit=f"{one.code}/{one.questionnaire}/{one.dimension}",
                statement=one.statement,
                low=one.low,
                high=one.high,
                is_reversed=one.is_reversed,
                target=one.target,
            ),
        )
        for one in items
        if (persona := _named_persona(one.names, cast))
    ]
    if not tasks:
        names = ", ".join(dict.fromkeys(one.names[0] for one in items))
        raise BenchmarkError(
            f"No character of {incharacter.TITLE} is in your library in {language} ({names}); add personas "
            "with these names."
        )
    return tasks


def _named_persona(names: Sequence[str], cast: Mapping[str, Persona]) -> Persona | None:
    return next((cast[key] for name in names if (key := role_key(name)) in cast), None)


def _persona(name: str, description: str, language: Language, *, moment: str = "") -> Persona:
    return Persona(
        id=id_of(name) or "role",
        name=name.strip(),
        description=description.strip() or name,
        language=language,
        moment=moment,
    )


BENCHMARKS: Final[Mapping[str, PublishedBenchmark]] = {
    one.name: one
    for one in (
        PublishedBenchmark(
            "socialbench",
            socialbench.TITLE,
            socialbench_tasks,
            "Prompts are our own; an answer without a letter counts as wrong (published: left out).",
        ),
        PublishedBenchmark(
            "timechara",
            timechara.TITLE,
            timechara_tasks,
            "The judge and its prompt are others than the published ones (GPT-4).",
        ),
        PublishedBenchmark(
            "characterbench",
            characterbench.TITLE,
            characterbench_tasks,
            "Our rubrics grade from 1 to 5; the published scores are those of CharacterJudge.",
        ),
        PublishedBenchmark(
            "charactereval",
            charactereval.TITLE,
            charactereval_tasks,
            "Our rubrics grade from 1 to 5; the published scores are those of CharacterRM.",
        ),
        PublishedBenchmark(
            "personagym",
            personagym.TITLE,
            personagym_tasks,
            "Our rubrics grade from 1 to 5, without the published examples of each grade.",
        ),
        PublishedBenchmark(
            "incharacter",
            incharacter.TITLE,
            incharacter_tasks,
            "Only characters of your library, with its descriptions; each answer is rated by itself; "
            "without 16Personalities.",
        ),
        PublishedBenchmark(
            "pingpong",
            pingpong.TITLE,
            pingpong_tasks,
            "The user is another model than the published one, and the last answer is graded from 1 to 5 "
            "(published: every answer, from 1 to 10, its fluency too).",
        ),
    )
}
"""The benchmarks by name."""
