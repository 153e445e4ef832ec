"""A small data set in RoleBench's layout, and who is in it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from langchain_core.messages import BaseMessage

from helpers.samples import sample
from helpers.user_files import write_persona
from rolellm_agents.datasets import Kind, Part, Sample, Split
from rolellm_agents.datasets.writing import writing_layout

ADA, BEN = "Ada", "Ben"
SPECIFIC = {
    ADA: {"Who keeps the bees, Ada?": "I keep the bees.", "How many hives have you?": "Three hives."},
    BEN: {"Who keeps the mill, Ben?": "I keep the mill.", "Does your mill turn?": "It turns in the wind."},
}
GENERAL = {
    ADA: {"Name a colour.": "Yellow, as honey is."},
    BEN: {"Name a number.": "Seven, says the mill."},
}
_PERSONA = """\
id: {id}
name: {name}
description: {name} keeps what {name} keeps.
catchphrases: ["Mind the step"]
demonstrations:
  - {{user: "What do you do on Sundays?", reply: "{name} rests on Sundays, mostly."}}
  - {{user: "Do you like the rain?", reply: "{name} likes it well enough."}}
"""


def write_cast(*names: str) -> None:
    """Personas of the user's, one for each name."""
    for name in names:
        write_persona(_PERSONA.format(id=name.lower(), name=name), f"{name.lower()}.yaml")


def samples_of(
    asked: Mapping[str, Mapping[str, str]], kind: Kind = "role_specific", types: tuple[str, ...] = ()
) -> list[Sample]:
    """A sample for each question of each role."""
    return [
        sample(role, question, answer, kind=kind, types=types)
        for role, answers in asked.items()
        for question, answer in answers.items()
    ]


def write_data(
    folder: Path,
    test: Iterable[Sample],
    train: Iterable[Sample] = (),
    baseline: Iterable[Sample] = (),
    split: Split = "instruction-generalization",
) -> Path:
    """The files of a split."""
    parts: Sequence[tuple[Part, Iterable[Sample]]] = (
        ("test", test),
        ("train", train),
        ("rolegpt_baseline", baseline),
    )
    with writing_layout(folder) as put:
        for part, samples in parts:
            for one in samples:
                put(one, split, part)
    return folder


def write_small_data(folder: Path) -> Path:
    """Two roles, of each two questions of its own and a general one; training knows one of Ada's.

    RoleGPT's answers are there for Ada's questions alone, and they are the references.
    """
    return write_data(
        folder,
        test=[*samples_of(SPECIFIC, types=("script_based",)), *samples_of(GENERAL, "general")],
        train=[
            sample(ADA, "How many hives have you?", "Three.", types=("script_based",)),
            sample(BEN, "Which way to the sea from here?", "Down.", types=("script_based",)),
        ],
        baseline=samples_of({ADA: SPECIFIC[ADA]}, types=("script_agnostic",)),
    )


def right_answer(messages: Sequence[BaseMessage]) -> str:
    """What the data set has for the question that a prompt ends with."""
    asked = messages[-1].text
    return next(
        answer
        for kind in (SPECIFIC, GENERAL)
        for answers in kind.values()
        for question, answer in answers.items()
        if asked.endswith(question)
    )
