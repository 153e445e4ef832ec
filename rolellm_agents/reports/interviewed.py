"""The chapter of a run of `rolellm eval drift`: how personas change over the turns."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rolellm_agents.evaluation.drift.marks import MARKS
from rolellm_agents.reply_checks.detections import DETECTIONS
from rolellm_agents.reports.content import (
    Block,
    Chapter,
    DialogueBlock,
    Fold,
    ListBlock,
    Plot,
    ReplyBlock,
    Section,
    TableBlock,
    TextBlock,
)
from rolellm_agents.reports.number_format import (
    MISSING,
    bounds,
    counted,
    distinct,
    short,
    system_name,
    unscored,
    with_bounds,
)
from rolellm_agents.reports.plots import Dot, PlotRow, TurnMean, dot_plot, turn_plot
from rolellm_agents.reports.provenance import made
from rolellm_agents.reports.reading import ReadRun
from rolellm_agents.reports.reply_samples import verdict_block

Systems = Sequence[Mapping[str, Any]]

_DETECTED: Final = {name.replace("-", "_"): meaning for name, meaning in DETECTIONS.items()}
_ONCE: Final = ("remembers", "same_as_before")
"""Marks of the closing questions. They are plotted only if the questions were asked several times."""


def drift_chapter(run: ReadRun, samples: int) -> Chapter:
    """Build the chapter; malformed results raise `KeyError`, `TypeError` or a similar error."""
    results = run.results
    systems: Systems = results["systems"]
    measures = _measures(systems)
    sections = [
        Section("By turn", [*_by_turn(results, systems, measures)]),
        Section("From one turn to the next", [*_slopes(systems, measures)]),
        Section("What is remembered", [*_once(systems)]),
        Section("Interviews", [*_talks(run.lines, samples)]),
        made(run),
    ]
    lead = "; ".join(
        f"{system_name(one)}: {counted(one['interviews'], 'interview')} with "
        f"{counted(one['personas'], 'persona')}"
        for one in systems
    )
    return Chapter(f"Interviews: {run.name}", f"{lead}.", sections)


def _measures(systems: Systems) -> list[str]:
    """The measures, judges' first; detections that never occurred are left out."""
    turns = [one for system in systems for one in system["turns"]]
    known = distinct(one["measure"] for one in turns)
    found = {one["measure"] for one in turns if one["mean"]}
    of_judges = [one for one in known if one not in MARKS and one not in _DETECTED]
    own = [one for one in MARKS if one in known]
    return [*of_judges, *own, *(one for one in known if one in _DETECTED and one in found)]


def _name(measure: str) -> str:
    if measure == "likelihood":
        return "likelihood gain of the persona, nats a token"
    return MARKS.get(measure) or (f"share that {_DETECTED[measure]}" if measure in _DETECTED else measure)


def _by_turn(results: Mapping[str, Any], systems: Systems, measures: Sequence[str]) -> Iterator[Block]:
    notes = [] if results["complete"] else ["The run is not complete: figures are of what there is."]
    if results["failed"]:
        notes.append(f"{counted(results['failed'], 'interview')} broke off and count for nothing.")
    notes += results["notes"]
    notes += [
        f"{system_name(one)}: verdicts without a value count for nothing: {unscored(one['unscored'])}."
        for one in systems
        if one["unscored"]
    ]
    yield ListBlock([str(note) for note in notes])
    panels, rows = [], []
    names = [*map(system_name, systems)]
    for measure in measures:
        by_system = [
            [
                TurnMean(one["turn"], one["mean"], one["ci95"])
                for one in system["turns"]
                if one["measure"] == measure
            ]
            for system in systems
        ]
        rows += [
            (_name(measure), system_name(system), str(at.turn), short(at.mean), bounds(at.ci95))
            for system, held in zip(systems, by_system, strict=True)
            for at in held
        ]
        if measure not in _ONCE or max(map(len, by_system), default=0) > 1:
            name = _name(measure)
            alt = f"{name.capitalize()} at each turn."
            panels.append(turn_plot(by_system, names, title=name.capitalize(), alt=alt))
    table = TableBlock(("Measure", "System", "Turn", "Mean", "95 % interval"), rows, words=2)
    yield Plot(name="turns", panels=panels, table=table)


def _slopes(systems: Systems, measures: Sequence[str]) -> Iterator[Block]:
    yield TextBlock(
        "The change of each measure from one turn to the next, fitted to each interview over the turns "
        "whose questions change places, and averaged. An interval that holds 0 shows no drift."
    )
    drawn: dict[str, list[Dot]] = defaultdict(list)
    cells = []
    names = [*map(system_name, systems)]
    for number, system in enumerate(systems):
        by_measure = {one["measure"]: one for one in system["slopes"]}
        for measure in measures:
            if (one := by_measure.get(measure)) is None:
                continue
            if measure != "words":
                drawn[measure].append(Dot(number, one["mean"], one["ci95"]))
            cells.append(
                (
                    _name(measure),
                    system_name(system),
                    short(one["mean"], "+"),
                    bounds(one["ci95"], "+"),
                    str(one["n"]),
                )
            )
    table = TableBlock(("Measure", "System", "Slope a turn", "95 % interval", "Interviews"), cells, words=2)
    if not drawn:
        yield table
        return
    lines = [PlotRow(measure.replace("_", " "), dots) for measure, dots in drawn.items()]
    alt = "The slope of each measure a turn, with intervals; 0 is no drift."
    yield Plot(
        name="slopes",
        panels=[dot_plot(lines, names, title="Drift", axis="change a turn", alt=alt)],
        table=table,
        note="Words are in the table alone: their scale is another.",
    )


def _once(systems: Systems) -> Iterator[Block]:
    cells = [
        (
            system_name(system),
            _name(one["measure"]),
            str(one["turn"]),
            with_bounds(one["mean"], one["ci95"]),
            str(one["n"]),
        )
        for system in systems
        for one in system["turns"]
        if one["measure"] in _ONCE
    ]
    if not cells:
        yield TextBlock("Nothing was asked again.")
        return
    caption = "The visitor's name and place, told at first; and the same question, asked again at the end."
    yield TableBlock(("System", "Measure", "Turn", "Mean", "n"), cells, words=2, caption=caption)


def _talks(lines: Sequence[Mapping[str, Any]], samples: int) -> Iterator[Block]:
    by_system: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        by_system[system_name(line), line["name"]].append(line)
    yield TextBlock(f"The first {samples} of each system and persona; all stand in the run's folder.")
    for (system, name), held in by_system.items():
        talks = [
            Fold(
                f"Interview {line['nth'] + 1}",
                [DialogueBlock([_reply(name, turn) for turn in line["turns"]])],
            )
            for line in held[:samples]
        ]
        yield Fold(f"{name} · {system} ({len(talks)} of {len(held)})", talks)


def _reply(name: str, turn: Mapping[str, Any]) -> ReplyBlock:
    marks = turn["marks"]
    shown = [f"{marks['words']:.0f} words"]
    shown += [
        f"{measure.replace('_', ' ')} {short(marks[measure])}"
        for measure in ("style_distance", "repeats_earlier", *_ONCE)
        if measure in marks
    ]
    shown += [what for measure, what in _DETECTED.items() if marks.get(measure)]
    return ReplyBlock(
        by=name,
        heading=turn["question"],
        text=turn["reply"] or MISSING,
        marks=shown,
        verdicts=[verdict_block(one["measure"], one) for one in turn["verdicts"]],
    )
