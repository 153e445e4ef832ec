"""The chapter of a run of `rolellm judge`: replies, pairs or scenes with their verdicts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rolellm_agents.judging.json_form import verdict_to_json
from rolellm_agents.judging.pooling import agreement, members_of
from rolellm_agents.judging.position import position_bias
from rolellm_agents.judging.recorded import RecordedItem, RecordedVerdicts
from rolellm_agents.judging.summary import MeasureSummary, summarize
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.reports.content import (
    Block,
    Chapter,
    DialogueBlock,
    Fold,
    ListBlock,
    Plot,
    QuestionBlock,
    ReplyBlock,
    Section,
    TableBlock,
    TextBlock,
)
from rolellm_agents.reports.number_format import MISSING, bounds, counted, short, unscored
from rolellm_agents.reports.plots import Dot, PlotRow, dot_plot
from rolellm_agents.reports.provenance import made
from rolellm_agents.reports.reading import ReadRun
from rolellm_agents.reports.reply_samples import verdict_block

_SYSTEMS: Final = ("A", "B")


def verdict_chapter(run: ReadRun, _samples: int) -> Chapter:
    """Build the chapter with all verdicts; a judge's run is small enough to show completely."""
    recorded = run.verdicts
    if recorded is None:
        raise ValueError("verdicts")
    judge = run.config.get("judge", "judge")
    lead = f"The judge {judge} on {counted(len(recorded.items), recorded.judging.removesuffix('s'))}"
    if recorded.judging == "replies":
        lead = f"The judge {judge} on {counted(len(recorded.items), 'reply')}"
    models = ", ".join(map(str, run.config.get("models", ())))
    summaries = _summaries(recorded)
    return Chapter(
        f"Verdicts: {run.name}",
        f"{lead}, asked of {models}." if models else f"{lead}.",
        [
            Section("The result", [*_result(recorded, summaries)]),
            Section("What was judged", [*_SHOWN[recorded.judging](recorded)]),
            made(run),
        ],
    )


def _result(recorded: RecordedVerdicts, summaries: Sequence[MeasureSummary]) -> Iterator[Block]:
    cells = [
        (
            one.measure,
            short(one.mean),
            bounds(one.ci95),
            f"by {one.clustered_by}" if one.ci95 else MISSING,
            str(one.n),
            unscored({str(status): number for status, number in one.unscored.items()}),
        )
        for one in summaries
    ]
    heads = ("Measure", "Mean", "95 % interval", "Drawn", "n", "Not scored")
    table = TableBlock(heads, cells, caption="Verdicts without a value count for nothing, never for zero.")
    drawn = [
        PlotRow(one.measure, [Dot(0, one.mean, one.ci95)]) for one in summaries if one.mean is not None
    ]
    if drawn:
        alt = "The mean of each measure, with its interval."
        panel = dot_plot(drawn, (), title="Means", axis="mean verdict", alt=alt)
        yield Plot(name="verdicts", panels=[panel], table=table)
    else:
        yield table
    yield ListBlock([*_notes(recorded)])


def _notes(recorded: RecordedVerdicts) -> Iterator[str]:
    members = members_of(recorded.verdicts)
    if len(members) > len(recorded.verdicts):
        for measure, alpha in agreement(members).items():
            yield f"Agreement of the panel on {measure} (Krippendorff's alpha): {short(alpha)}."
    bias = position_bias(members)
    if bias.n:
        yield (
            f"Position: what stood first was preferred in {short(bias.first_preferred)}, and both orders "
            f"agreed in {short(bias.consistent)} of {counted(bias.n, 'pair')}."
        )


def _of_replies(recorded: RecordedVerdicts) -> Iterator[Block]:
    for name, items in _by_persona(recorded).items():
        asked = [
            QuestionBlock(
                question=item.about["question"],
                replies=[_reply(item.about["name"], item.about["reply"], item.verdicts)],
            )
            for item in items
        ]
        yield Fold(f"{name} ({len(items)})", asked)


def _pairs(recorded: RecordedVerdicts) -> Iterator[Block]:
    yield TextBlock("A value of 1 means that A is better, 0 that B is, .5 a tie.")
    for name, items in _by_persona(recorded).items():
        asked = [
            QuestionBlock(
                question=item.about["question"],
                replies=[
                    _reply("A", item.about["first"], item.verdicts),
                    _reply("B", item.about["second"], ()),
                ],
                marks=[_better(one.value) for one in item.verdicts],
            )
            for item in items
        ]
        yield Fold(f"{name} ({len(items)})", asked)


def _scenes(recorded: RecordedVerdicts) -> Iterator[Block]:
    for item in recorded.items:
        flaws: dict[int, list[str]] = defaultdict(list)
        for one in members_of(item.verdicts):
            for flaw in one.details.get("flaws", ()):
                flaws[flaw["line"]].append(f"{one.measure}, severity {flaw['severity']}: {flaw['what']}")
        lines = [
            ReplyBlock(by=speaker or MISSING, text=text, marks=flaws.get(number, ()))
            for number, (speaker, text) in enumerate(item.about["lines"], 1)
        ]
        scores = TableBlock(
            ("Dimension", "Score of 100", "Flaws", "The worst"),
            [_score_cells(one) for one in item.verdicts],
            caption=f"{item.about['title']}: each dimension's score.",
        )
        yield Fold(f"{item.about['title']} ({len(lines)} lines)", [scores, DialogueBlock(lines)])


_SHOWN: Final = {"replies": _of_replies, "pairs": _pairs, "scenes": _scenes}


def _score_cells(one: Verdict) -> tuple[str, str, str, str]:
    flaws = one.details.get("flaws")
    score = one.status if one.value is None else f"{one.value:.1f}"
    return one.measure, score, MISSING if flaws is None else str(len(flaws)), one.reason


def _reply(by: str, text: str, verdicts: Sequence[Verdict]) -> ReplyBlock:
    blocks = [verdict_block(one.measure, verdict_to_json(one)) for one in verdicts]
    return ReplyBlock(by=by, text=text or MISSING, verdicts=blocks)


def _better(value: float | None) -> str:
    if value is None:
        return "no verdict"
    return "a tie" if value == 0.5 else f"{_SYSTEMS[value < 0.5]} is better"


def _by_persona(recorded: RecordedVerdicts) -> Mapping[str, list[RecordedItem]]:
    found: dict[str, list[RecordedItem]] = defaultdict(list)
    for item in recorded.items:
        found[str(item.about["name"])].append(item)
    return found


def _summaries(recorded: RecordedVerdicts) -> list[MeasureSummary]:
    personas: dict[str, Any] = {
        str(item.about["key"]): str(item.about.get("persona", item.about["key"])) for item in recorded.items
    }
    return summarize(recorded.verdicts, personas)
