"""Context-Instruct's prompts for one character, and the items that are stored of the model's answers."""

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets.row_personas import persona_fields
from rolellm_agents.generation.attributes import Drawn, shown
from rolellm_agents.generation.guiding import guided_form
from rolellm_agents.generation.passes import Kind, Pass
from rolellm_agents.generation.questions import GeneratedQuestion, question_form, read_questions
from rolellm_agents.generation.segments import SourceLine, SourceSegment
from rolellm_agents.generation.trimming import cleaned, prompts_of, trim_to_last_sentence
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.description import description_of
from rolellm_agents.prompting.prompts import Prompt, load_prompt, load_prompts
from rolellm_agents.recall.recalled import RecalledItem, RecalledPassage
from rolellm_agents.reply_checks.labels import Label, answer_labels, question_labels
from rolellm_agents.text import one_line

ATTRIBUTES: Final = "visitor-attributes"
"""The prompt that describes a visitor by drawn attributes."""
VOICE: Final = "few-shot-dialogue"
"""The strategy with which the character answers."""
_NAMES: Final[Mapping[Kind, str]] = {
    "script_based": "script",
    "script_agnostic": "agnostic",
    "boundary": "boundary",
}
"""Part of the prompt ids of each kind of question."""
_EXAMPLE_NAME: Final = {"en": "Ada", "zh": "阿达"}
_BEFORE, _AFTER = 4, 3
"""Lines before and after the evidence of a question, which are recalled with it."""
_KEPT_UNREAD = 2_000
"""Maximum characters that are stored of an answer without questions."""


def context_prompts(persona: Persona) -> list[Prompt]:
    """All prompts that Context-Instruct uses for a persona."""
    names = [f"questions-{name}" for name in _NAMES.values()]
    names += [f"questions-example-{name}" for name in _NAMES.values()]
    names += ["questions-task", "recalled", "boundary-recalled"]
    return [*(load_prompt(name, persona.language) for name in names), *prompts_of(VOICE, persona.language)]


class ContextPrompts:
    """Builds the prompts for one character and reads the answers."""

    def __init__(self, persona: Persona, *, guided: bool) -> None:
        """Prepare the prompts.

        Args:
            persona: a persona whose macros are filled.
            guided: constrain how questions begin and what they name, which helps the smallest models.
        """
        self.persona = persona
        self._guided = guided
        self._prompting = Prompting(persona, VOICE, user=DEFAULT_USER)
        self._templates = [
            prompt.text.replace("{name}", persona.name) for prompt in context_prompts(persona)
        ]

    def asking(self, asked: Pass, count: int, attributes: Drawn | None = None) -> list[BaseMessage]:
        """The messages that request `count` questions: an example with its answer, and the request.

        Args:
            asked: the pass.
            count: the number of questions.
            attributes: those of the visitor who asks, if any.
        """
        name, lines = self.persona.name, asked.segment.lines
        of_kind = _NAMES[asked.kind]
        instruction = self._prompt(f"questions-{of_kind}").fill(
            name=name, profile=description_of(self.persona)
        )
        if attributes:
            instruction += "\n\n" + self._prompt(ATTRIBUTES).fill(attributes=shown(attributes))
        theme, example, answer = self._prompt(f"questions-example-{of_kind}").fill().split("\n\n")
        task = self._prompt("questions-task")
        other = task.fill(name=_EXAMPLE_NAME[self.persona.language], lines=example, count="2", theme=theme)
        own = task.fill(
            name=name,
            lines="\n".join(f"{number}. {line.shown}" for number, line in enumerate(lines, 1)),
            count=str(count),
            theme=asked.theme or self._prompt("themes-script").text,
        )
        return [SystemMessage(instruction), HumanMessage(other), AIMessage(answer), HumanMessage(own)]

    def form(self, asked: Pass, count: int) -> dict[str, Any]:
        """The JSON Schema of the answer to `asking`."""
        if self._guided:
            return guided_form(asked, self.persona, count)
        return question_form(count, len(asked.segment.lines))

    def questions_of(
        self, asked: Pass, words: str, count: int, attributes: Drawn | None = None
    ) -> dict[str, Any]:
        """The item to store for a model's answer: its questions, or its text if there are none."""
        questions = read_questions(words, most=count, lines=len(asked.segment.lines))
        kept: dict[str, Any] = {
            "role": self.persona.name,
            **persona_fields(self.persona),
            "language": self.persona.language,
            "kind": asked.kind,
            "segment": f"{asked.segment.source} {asked.segment.number}",
            "theme": asked.theme,
            **({"attributes": dict(attributes)} if attributes else {}),
            "questions": [
                {"text": one.text, "confidence": one.confidence, "reason": one.reason, "line": one.line}
                for one in questions
            ],
        }
        return kept if questions else {**kept, "unread": one_line(words, _KEPT_UNREAD)}

    def prepare(self) -> None:
        """Read the prompts' files and build the index, which may take a moment."""
        load_prompts(self.persona.language)
        self._prompting.look_up([], self.persona.name, {}, seed=0)

    def answering(self, asked: Pass, question: GeneratedQuestion, seed: int) -> list[BaseMessage]:
        """The messages that request the character's answer to a question."""
        found = self._prompting.look_up([], question.text, {}, seed=seed)
        evidence = _evidence(asked, question)
        recalled: list[RecalledItem] = [
            # A demonstration that contains the evidence would only be repeated.
            item
            for item in found.recalled
            if evidence is None
            or item["kind"] != "demonstration"
            or evidence.text not in self.persona.demonstrations[item["index"]].reply
        ]
        return self._prompting.compose([], [*recalled, *self._reminder(asked, question)], question.text)

    def answer_of(
        self,
        asked: Pass,
        question: GeneratedQuestion,
        words: str,
        *,
        unfinished: bool,
        attributes: Drawn | None = None,
    ) -> dict[str, Any]:
        """The item to store for the answer to one question, with labels for its faults."""
        persona = self.persona
        answer = trim_to_last_sentence(cleaned(words, persona), at_limit=unfinished)
        evidence = _evidence(asked, question)
        segment = asked.segment.text if asked.kind == "script_based" else None
        labels: list[Label] = ["boundary"] if asked.kind == "boundary" else []
        labels += question_labels(
            question.text,
            persona,
            is_unsure=question.confidence == "low",
            segment=segment,
            templates=self._templates,
        )
        labels += [answer.label] if answer.label else []
        labels += answer_labels(answer.text, persona, question=question.text, templates=self._templates)
        return {
            "role": persona.name,
            **persona_fields(persona),
            "language": persona.language,
            "kind": asked.kind,
            "segment": f"{asked.segment.source} {asked.segment.number}",
            "theme": asked.theme,
            **({"attributes": dict(attributes)} if attributes else {}),
            "question": question.text,
            "confidence": question.confidence,
            "reason": question.reason,
            "evidence": None if evidence is None else {"quote": evidence.text, "place": evidence.place},
            "passage": _around(asked.segment, question.line) if asked.kind == "script_based" else "",
            "answer": answer.text,
            "taken": answer.taken,
            "labels": list(dict.fromkeys(labels)),
        }

    def asking_prompts(self, asked: Pass, *, with_attributes: bool = False) -> list[str]:
        """The names of the prompts of `asking`."""
        of_kind = _NAMES[asked.kind]
        names = [f"questions-{of_kind}", f"questions-example-{of_kind}", "questions-task"]
        names += [ATTRIBUTES] if with_attributes else []
        return [self._prompt(name).name for name in names]

    def answering_prompts(self, asked: Pass) -> list[str]:
        """The names of the prompts of `answering`."""
        used = prompts_of(VOICE, self.persona.language)
        if asked.kind != "script_agnostic":
            used.append(self._prompt("recalled"))
        if asked.kind == "boundary":
            used.append(self._prompt("boundary-recalled"))
        return [prompt.name for prompt in used]

    def _prompt(self, name: str) -> Prompt:
        return load_prompt(name, self.persona.language)

    def _reminder(self, asked: Pass, question: GeneratedQuestion) -> list[RecalledPassage]:
        """The passage to recall: the lines around the evidence, or a note that the answer is unknown."""
        match asked.kind:
            case "script_based":
                text = _around(asked.segment, question.line)
            case "boundary":
                text = self._prompt("boundary-recalled").fill(name=self.persona.name)
            case "script_agnostic":
                return []
        return [
            RecalledPassage(
                kind="passage", of="knowledge", text=text, source=asked.kind, score=1.0, why="asked"
            )
        ]


def _evidence(asked: Pass, question: GeneratedQuestion) -> SourceLine | None:
    return asked.segment.lines[question.line - 1] if question.line else None


def _around(segment: SourceSegment, line: int | None) -> str:
    """A line with the lines around it; the complete segment if the line is unknown."""
    first, last = (max(0, line - 1 - _BEFORE), line + _AFTER) if line else (0, len(segment.lines))
    return "\n".join(one.shown for one in segment.lines[first:last])
