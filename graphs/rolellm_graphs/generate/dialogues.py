"""Multi-turn dialogues, which RoleLLM lacks: a scene of a character and an interviewer with separate views.

The interviewer starts with a general instruction and then reacts to the answers, so that the character has
to stay consistent over several turns.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from langchain_core.language_models import BaseChatModel

from rolellm_agents.datasets.row_personas import PERSONA, VERSION, persona_fields
from rolellm_agents.generation.attributes import Attributes, Drawn, shown
from rolellm_agents.generation.instructions import Instruction
from rolellm_agents.generation.samples import SampleRow
from rolellm_agents.generation.trimming import cleaned
from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.prompts import load_prompt
from rolellm_agents.reply_checks.labels import Label, answer_labels, repeats_earlier
from rolellm_agents.runs.budget import Tokens
from rolellm_agents.runs.items import FinishedItems
from rolellm_agents.runs.seeds import digest_of, seed_of
from rolellm_agents.scene import LoadedScene, Scene, SceneLine, Seat
from rolellm_agents.scene.message_kinds import ACT, SAY
from rolellm_agents.scene.scene import Director, OpeningLine, Stop
from rolellm_agents.scene.turns import turns as turns_of
from rolellm_agents.scene.view import render_own_line
from rolellm_agents.text.language import Language
from rolellm_graphs.generate.run import GenerationOutcome, GenerationPlan, run_plan
from rolellm_graphs.runs.items import Generation, RunCallbacks, RunLimits
from rolellm_graphs.runs.model_calls import BudgetSpentError
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.graph import staged_scene_graph
from rolellm_graphs.scene.state import SceneContext, SceneInput

TURNS: Final = 4
"""Answers of the character in a dialogue."""
EACH: Final = 5
"""Dialogues of each character."""
_INTERVIEWER = "interviewer"
_PROMPTS = ("scene", "scene-about", "scene-goals", "interviewer-about", "interviewer-goal", "system")
_READ, _WRITTEN = 700, 90
"""Approximate tokens of one turn."""
_STEPS_PER_TURN = 12


@dataclass(frozen=True, kw_only=True)
class DialoguesRequest:
    """The settings of a run of dialogues."""

    personas: tuple[Persona, ...]
    instructions: tuple[Instruction, ...]
    """The first questions of the dialogues."""
    interviewer: Persona | None = None
    """The interviewer; an unnamed visitor when None."""
    attributes: Attributes | None = None
    """Attributes of the unnamed visitors; one value of each is drawn for each dialogue."""
    each: int = EACH
    turns: int = TURNS
    seed: int = 0


async def dialogues(
    request: DialoguesRequest,
    model: BaseChatModel,
    *,
    model_name: str,
    folder: Path,
    limits: RunLimits | None = None,
    callbacks: RunCallbacks | None = None,
) -> GenerationOutcome:
    """Generate the missing dialogues of a run.

    The model plays both. A stopped run resumes in its folder.

    Raises:
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: the model cannot be loaded.
    """
    plan = GenerationPlan(
        config=_config(request, model_name, model),
        item_keys=lambda: (key for key, _, _ in _planned(request)),
        work=partial(_hold_all, request, model, model_name),
        rows=lambda finished: _rows(request, finished),
        parts=("samples", "left_out"),
    )
    return await run_plan(plan, model, folder, limits or RunLimits(), callbacks or RunCallbacks())


def dialogues_guess(request: DialoguesRequest) -> tuple[Callable[[], Iterator[str]], Tokens]:
    """The keys of all dialogues, and the estimated tokens of one dialogue."""
    calls = 2 * request.turns - 1
    return lambda: (key for key, _, _ in _planned(request)), Tokens(calls * _READ, calls * _WRITTEN)


def _planned(request: DialoguesRequest) -> Iterator[tuple[str, Persona, Instruction]]:
    """Each dialogue's key, character and first question; questions rotate among those in its language."""
    for persona in {one.id: one for one in request.personas}.values():
        asked = [one for one in request.instructions if one.language == persona.language]
        for number in range(request.each if asked else 0):
            # Each character starts with a different instruction.
            start = seed_of(request.seed, persona.id) % len(asked)
            instruction = asked[(start + number) % len(asked)]
            yield f"{persona.id}/{instruction.id}/{number}", persona, instruction


async def _hold_all(
    request: DialoguesRequest, model: BaseChatModel, model_name: str, generation: Generation
) -> None:
    async def hold(work: tuple[int, tuple[str, Persona, Instruction]]) -> None:
        number, (key, persona, instruction) = work
        seed = seed_of(request.seed, key)

        async def make() -> dict[str, Any]:
            return await _dialogue(
                request,
                persona,
                instruction,
                model,
                model_name,
                attributes=_drawn(request, persona, key),
                seed=seed,
                generation=generation,
            )

        await generation.item(number, key, make)

    await generation.work_through(enumerate(_planned(request)), hold)


async def _dialogue(
    request: DialoguesRequest,
    persona: Persona,
    instruction: Instruction,
    model: BaseChatModel,
    model_name: str,
    *,
    attributes: Drawn | None,
    seed: int,
    generation: Generation,
) -> dict[str, Any]:
    calls = 2 * request.turns - 1
    expected, used = Tokens(calls * _READ, calls * _WRITTEN), Tokens()
    if not generation.budget.reserve(expected):
        raise BudgetSpentError
    loaded = interview(
        persona,
        instruction.text,
        turns=request.turns,
        interviewer=request.interviewer,
        attributes=attributes,
    )
    graph = staged_scene_graph(Ensemble(loaded, model=model))
    began = time.perf_counter()
    try:
        result = await graph.ainvoke(
            SceneInput(lines=[]),
            {"recursion_limit": calls * _STEPS_PER_TURN},
            context=SceneContext(seed=seed),
        )
        lines: list[SceneLine] = result["lines"]
        used = _tokens_of(lines)
    finally:
        generation.budget.settle(expected, used)
    return {
        "role": persona.name,
        **persona_fields(persona),
        "language": persona.language,
        "interviewer": request.interviewer.id if request.interviewer else None,
        **({"attributes": dict(attributes)} if attributes else {}),
        "messages": _messages(loaded, persona, lines),
        "labels": _labels(persona, lines),
        "model": model_name,
        "prompts": _prompt_names(persona.language),
        "seed": seed,
        "tokens": {"read": used.read, "written": used.written},
        "seconds": round(time.perf_counter() - began, 3),
    }


def _drawn(request: DialoguesRequest, persona: Persona, key: str) -> Drawn | None:
    if request.attributes is None:
        return None
    return request.attributes.draw(persona.language, key, seed=request.seed)


def interview(
    persona: Persona,
    opening: str,
    *,
    turns: int,
    interviewer: Persona | None = None,
    attributes: Drawn | None = None,
) -> LoadedScene:
    """The scene in which an interviewer talks to a character.

    The character gives `turns` answers. Without an interviewer, an unnamed visitor asks, whom the
    attributes describe if there are any.
    """
    language = persona.language
    name = interviewer.name if interviewer else load_prompt("interviewer-name", language).text
    about = "" if interviewer else _about(attributes, language)
    asks = Seat(
        id=_INTERVIEWER,
        name=name,
        persona=interviewer.id if interviewer else None,
        about=about,
        goals=(load_prompt("interviewer-goal", language).fill(name=persona.name),),
    )
    scene = Scene(
        id=f"interview-{digest_of(persona.id + opening)}",
        title=persona.name,
        language=language,
        setting=load_prompt("interviewer-setting", language).text,
        cast=(asks, Seat(id=persona.id, persona=persona.id, name=persona.name)),
        opening=(OpeningLine(speaker=_INTERVIEWER, text=opening),),
        director=Director(kind="round-robin"),
        turn_kinds=(SAY, ACT),
        stop=Stop(turns=2 * turns - 1, silent=2 * turns),
    )
    who = interviewer or Persona(id=_INTERVIEWER, name=name, language=language, description=about)
    return LoadedScene(
        scene=scene,
        personas={_INTERVIEWER: with_macros(who, persona.name), persona.id: with_macros(persona, name)},
    )


def _about(attributes: Drawn | None, language: Language) -> str:
    usual = load_prompt("interviewer-about", language).text
    return f"{usual} {shown(attributes)}" if attributes else usual


def _messages(loaded: LoadedScene, persona: Persona, lines: Sequence[SceneLine]) -> list[dict[str, str]]:
    """Chat messages for training, in which the character is the assistant."""
    return [
        {
            "role": "assistant" if line["speaker"] == persona.id else "user",
            "content": cleaned(render_own_line(loaded, line), persona)
            if line["speaker"] == persona.id
            else render_own_line(loaded, line),
        }
        for line in lines
    ]


def _labels(persona: Persona, lines: Sequence[SceneLine]) -> list[str]:
    """Labels of the answers and of repeated lines; `faulty-turn` where a guard found a fault."""
    found: dict[str, None] = {}
    earlier: dict[str, list[str]] = {}
    asked = ""
    for line in lines:
        if line["speaker"] == persona.id:
            answer = cleaned(line["text"], persona)
            labels: Sequence[Label] = answer_labels(answer, persona, question=asked, templates=[])
            found |= dict.fromkeys(labels)
        said = earlier.setdefault(line["speaker"], [])
        if repeats_earlier(line["text"], said):
            found["repetitive"] = None
        said.append(line["text"])
        if line["made_by"].get("fault"):
            found["faulty-turn"] = None
        asked = line["text"]
    return list(found)


def _tokens_of(lines: Sequence[SceneLine]) -> Tokens:
    used = Tokens()
    for line in turns_of(lines):
        usage = line["made_by"].get("usage") or {}
        used += Tokens(int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0))
    return used


def _rows(request: DialoguesRequest, finished: FinishedItems) -> Iterator[SampleRow]:
    for number, _ in enumerate(_planned(request)):
        item = finished.get(number)
        if item is None:
            continue
        kept = ("role", PERSONA, VERSION, "language", "interviewer", "attributes", "messages", "labels")
        sample = {key: item[key] for key in kept if key in item}
        yield SampleRow("left_out" if item["labels"] else "samples", sample)


def _prompt_names(language: Language) -> list[str]:
    return [load_prompt(name, language).name for name in _PROMPTS]


def _config(request: DialoguesRequest, model_name: str, model: BaseChatModel) -> Mapping[str, Any]:
    instructions = "\n".join(f"{one.id} {one.text}" for one in request.instructions)
    return {
        "generator": "dialogues",
        "personas": {persona.id: digest_of(persona.model_dump_json()) for persona in request.personas},
        "interviewer": request.interviewer.id if request.interviewer else None,
        # Earlier versions had none, and their runs can be resumed.
        **({"attributes": digest_of(request.attributes.model_dump_json())} if request.attributes else {}),
        "instructions": digest_of(instructions),
        "turns": request.turns,
        "seed": request.seed,
        "model": model_name,
        "sampling": describe_sampling(model),
        "prompts": sorted(
            {name for persona in request.personas for name in _prompt_names(persona.language)}
        ),
    }
