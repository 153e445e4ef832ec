"""Tasks: what a system is asked in a benchmark, and what is expected of its answer."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.judging import ConversationTurn
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.description import description_of
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.text.language import Language


@dataclass(frozen=True, kw_only=True)
class OneOf:
    """The answer is one or several options."""

    options: Mapping[str, str]
    """Texts by letter."""
    right: tuple[str, ...]
    """The letters of the right options."""


@dataclass(frozen=True)
class Contains:
    """The answer contains words; the score is their share."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class AgreesWith:
    """A judge finds that the answer agrees with all facts."""

    facts: tuple[str, ...]


@dataclass(frozen=True)
class GradedBy:
    """A judge grades the answer by bundled rubrics, from 1 to 5; the score is their mean."""

    rubrics: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RatedAs:
    """A judge rates how far the answer shows that a statement is true of the persona.

    Several questions are one unit, such as a dimension of a persona's personality. Its score is 1 if the
    mean rating is on the right side of the scale, and 0 otherwise.
    """

    unit: str
    """The same for all questions of a unit."""
    statement: str
    low: int
    high: int
    is_reversed: bool
    """Whether a high rating speaks for a low value."""
    target: Literal["H", "L"]
    """The right side."""

    def value(self, rating: float) -> float:
        """The value of a rating, from `low` to `high`."""
        return self.low + self.high - rating if self.is_reversed else rating

    def is_right(self, mean: float) -> bool:
        """Whether the mean value of a unit is on the right side of the scale."""
        middle = (self.low + self.high) / 2
        return mean > middle if self.target == "H" else mean < middle


Expected = OneOf | Contains | AgreesWith | GradedBy | RatedAs


@dataclass(frozen=True)
class SimulatedUser:
    """A model speaks as the user before the answer that counts."""

    situation: str
    """What the user does."""
    rounds: int
    """Number of turns of the user; the persona answers each, and its last answer is the task's."""


@dataclass(frozen=True, kw_only=True)
class SuiteTask:
    """One question of a benchmark."""

    key: str
    """Unique among all tasks."""
    benchmark: str
    category: str
    language: Language
    persona: Persona | None
    """The role to play; None if the question is put to the model itself."""
    turns: tuple[ConversationTurn, ...]
    """The conversation; the answer is to its last turn. Empty before a simulated user has spoken."""
    expected: Expected
    user: SimulatedUser | None = None
    """Continues the conversation; None if the answer follows at once."""

    @property
    def cluster(self) -> str:
        """The persona's name, or the key, for intervals."""
        return self.persona.name if self.persona else self.key

    @property
    def needs_judge(self) -> bool:
        """Whether another model must judge the answer, or speak as the user."""
        return self.user is not None or isinstance(self.expected, AgreesWith | GradedBy | RatedAs)


def task_messages(task: SuiteTask, strategy: str, *, with_options: bool = True) -> list[BaseMessage]:
    """The messages of a task.

    Args:
        task: the task.
        strategy: the strategy of the persona; not used without a persona.
        with_options: whether to list the options of `OneOf`, and to ask for a letter.

    Raises:
        SettingsError: there is no such strategy.
    """
    history: list[BaseMessage] = [
        HumanMessage(turn.text) if turn.speaker == "user" else AIMessage(turn.text)
        for turn in task.turns[:-1]
    ]
    line = task.turns[-1].text
    if isinstance(task.expected, OneOf) and with_options:
        options = "\n".join(f"{letter}. {text}" for letter, text in task.expected.options.items())
        line = load_prompt("suite-options", task.language).fill(question=line, options=options)
    if task.persona is None:
        return [*history, HumanMessage(line)]
    prompting = Prompting(task.persona, strategy, user=DEFAULT_USER)
    recalled = prompting.look_up(history, line, {}, seed=0).recalled
    return prompting.compose(history, recalled, line)


def user_prompt(task: SuiteTask, user: SimulatedUser) -> str:
    """The prompt for the next turn of a simulated user."""
    persona = task.persona
    name = persona.name if persona else ""
    you = load_prompt("suite-you", task.language).text
    spoken = ((name if turn.speaker == "persona" else you, turn.text) for turn in task.turns)
    lines = in_one_turn(task.language, spoken, "") or "–"
    return load_prompt("suite-user", task.language).fill(
        name=name,
        about=description_of(persona) if persona else "",
        situation=user.situation,
        lines=lines,
    )


def draw_tasks(tasks: Sequence[SuiteTask], limit: int | None, *, seed: int) -> list[SuiteTask]:
    """Draw at most `limit` tasks of each category at random, in their original order; None takes all."""
    if limit is None:
        return list(tasks)
    by_category: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, task in enumerate(tasks):
        by_category[task.benchmark, task.category].append(place)
    random = Random(seed)  # noqa: S311 (a sample, no secret)
    drawn = [
        place
        for places in by_category.values()
        for place in (places if len(places) <= limit else random.sample(places, limit))
    ]
    return [tasks[place] for place in sorted(drawn)]


def in_one_turn(language: Language, dialogue: Iterable[tuple[str, str]], question: str) -> str:
    """A conversation of several speakers and a question about it, as one message."""
    colon = "：" if language == "zh" else ": "
    lines = "\n".join(f"{speaker}{colon}{text}" for speaker, text in dialogue)
    return f"{lines}\n\n{question}".strip()
