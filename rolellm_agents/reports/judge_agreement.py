"""The report of `rolellm judge check --labels`: how far to trust which judge."""

from collections.abc import Iterator, Sequence
from typing import Final

from rolellm_agents.judging.checking import ALL, JudgeCheck
from rolellm_agents.judging.human_labels import HumanLabel
from rolellm_agents.judging.judge_comparison import JudgeAgreement, judge_agreements, measure_name
from rolellm_agents.judging.label_agreement import Agreement
from rolellm_agents.metrics.correlation import Correlated
from rolellm_agents.reports.content import (
    Block,
    Chapter,
    ListBlock,
    Plot,
    Report,
    Section,
    TableBlock,
    TextBlock,
)
from rolellm_agents.reports.number_format import MISSING, counted, short, with_bounds
from rolellm_agents.reports.plots import Dot, PlotRow, dot_plot

_USE: Final = (
    "strong (the lower end of the interval is above .6): decide by this judge.",
    "moderate (above .3): compare systems over many replies with it, but do not rank single replies.",
    "weak (above 0): take its values as a hint and let people read a sample.",
    "none shown: do not use it for this aspect; chance explains its agreement.",
    "unknown: there are too few labels, or only one persona, for an interval.",
)
_METHOD: Final = (
    "Correlations are between the judge's values and the mean of the people's scores. Preferences count "
    "how often the judge prefers the reply that most people prefer; ties of people are left out.",
    "Intervals are 95 % bootstrap intervals over personas.",
    "Alpha is Krippendorff's alpha of the judge with the people, after isotonic regression translated its "
    "values to their scale. No value is translated by a curve that was fitted to the same persona. The "
    "alpha of people among each other shows how much agreement is possible.",
    "The best of many judges is partly the luckiest. Before you rely on a small lead, check the judge on "
    "other labels.",
)


def agreement_report(judges: Sequence[JudgeCheck], labels: Sequence[HumanLabel], source: str) -> Report:
    """Build the report.

    Args:
        judges: the checked judges, with those of the file of labels.
        labels: the human labels; at least one.
        source: the name of the file of labels.
    """
    title = f"Judges and people: {source}"
    groups = judge_agreements(judges)
    sections = [
        Section("Which judge for which aspect", [*_best(groups)]),
        Section("How far to trust a judge", [ListBlock(_USE)]),
        Section("All judges", [_plot(group, number) for number, group in enumerate(groups, 1)]),
        Section("Values on the people's scale", [*_scales(groups)]),
        Section("Planted faults", [*_faults(judges)]),
        Section("How this was measured", [ListBlock(_METHOD)]),
    ]
    return Report(title, [Chapter(title, _lead(labels), [one for one in sections if one.blocks])])


def _lead(labels: Sequence[HumanLabel]) -> str:
    people = {name for label in labels for name in label.by_person}
    aspects = {label.aspect for label in labels}
    replies = {(label.persona, label.turns, label.reply, label.other) for label in labels}
    parts = [
        counted(len(labels), "label"),
        f"of {counted(len(replies), 'reply')}",
        f"by {counted(len({label.persona for label in labels}), 'persona')}",
        f"from {counted(len(people), 'annotator')}",
    ]
    named = f", on {', '.join(sorted(aspects))}" if aspects != {""} else ""
    return f"{' '.join(parts)}{named}."


def _best(groups: Sequence[Sequence[JudgeAgreement]]) -> Iterator[Block]:
    heads = ("Aspect", "Judge", "Model", "Agreement", "Alpha of people", "Trust")
    yield TableBlock(heads, [_best_row(group[0]) for group in groups], words=3)


def _best_row(best: JudgeAgreement) -> tuple[str, ...]:
    found = best.agreement
    shown = found.strength != "none shown"
    return (
        found.name,
        best.name if shown else "no judge",
        best.judge.model if shown else MISSING,
        _main_value(found) if shown else MISSING,
        short(found.people_alpha),
        found.strength,
    )


def _table(group: Sequence[JudgeAgreement]) -> TableBlock:
    first = group[0].agreement
    main = "Agreement" if first.what == "preferences" else "Spearman"
    alpha = first.people_alpha
    among = "" if alpha is None else f" Alpha of people among each other: {short(alpha)}."
    return TableBlock(
        ("Judge", "Model", "n", main, "Pearson", "Alpha", "Trust"),
        [_row(one) for one in group],
        words=2,
        caption=f"{first.name}.{among}",
    )


def _row(one: JudgeAgreement) -> tuple[str, ...]:
    found = one.agreement
    return (
        one.name,
        one.judge.model,
        str(found.n),
        _main_value(found),
        _value(found.correlations.get("pearson")),
        _value(found.alpha),
        found.strength,
    )


def _plot(group: Sequence[JudgeAgreement], number: int) -> Plot:
    first = group[0].agreement
    axis = "agreement above chance" if first.what == "preferences" else "Spearman's correlation"
    alt = f"The agreement of each judge with people on {first.name}."
    dots = [*_dots(group)]
    panels = [dot_plot(dots, (), title=first.name, axis=axis, alt=alt)] if dots else []
    return Plot(name=f"agreement-{number}", panels=panels, table=_table(group))


def _dots(group: Sequence[JudgeAgreement]) -> Iterator[PlotRow]:
    for one in group:
        found = one.agreement
        if found.agreement is not None and found.agreement.value is not None:
            mean, ci95 = 2 * found.agreement.value - 1, found.agreement.ci95
            bounds = None if ci95 is None else [2 * end - 1 for end in ci95]
        elif found.correlations and (value := found.correlations["spearman"].value) is not None:
            mean, bounds = value, _bounds(found.correlations["spearman"])
        else:
            continue
        yield PlotRow(f"{one.name}\n{one.judge.model}", [Dot(0, mean, bounds)])


def _scales(groups: Sequence[Sequence[JudgeAgreement]]) -> Iterator[Block]:
    rows = [
        (
            one.agreement.name,
            one.name,
            one.judge.model,
            f"{scale.error:.2f}",
            f"{scale.mean_error:.2f}",
            _curve(scale.curve.knots),
        )
        for group in groups
        for one in group
        if (scale := one.agreement.scale) is not None
    ]
    if not rows:
        return
    yield TextBlock(
        "Isotonic regression translates a judge's values to the people's scale. The error is the mean "
        "distance from the people's score for personas that the curve was not fitted to. A judge whose "
        "error is not below that of the mean score says nothing about single replies."
    )
    heads = ("Aspect", "Judge", "Model", "Error", "Error of the mean", "Lowest to highest value")
    yield TableBlock(heads, rows, words=3)


def _curve(knots: Sequence[tuple[float, float]]) -> str:
    (x0, y0), (x1, y1) = knots[0], knots[-1]
    return f"{x0:.2f} → {y0:.2f}, {x1:.2f} → {y1:.2f}"


def _faults(judges: Sequence[JudgeCheck]) -> Iterator[Block]:
    checked = [(judge, one) for judge in judges for one in judge.measures if one.detected]
    if not checked or not any(one.detected[ALL].n for _, one in checked):
        return
    kinds = [*checked[0][1].detected]
    rows = [
        (measure_name(judge, one), judge.model, *(short(one.detected[kind].value) for kind in kinds))
        for judge, one in checked
    ]
    caption = "How often the clean reply scored higher than the same reply with a fault."
    yield TableBlock(("Judge", "Model", *kinds), rows, words=2, caption=caption)


def _main_value(found: Agreement) -> str:
    if found.agreement is not None:
        return with_bounds(found.agreement.value, found.agreement.ci95)
    return _value(found.correlations.get("spearman"))


def _value(found: Correlated | None) -> str:
    return MISSING if found is None else with_bounds(found.value, _bounds(found))


def _bounds(found: Correlated) -> list[float] | None:
    return None if found.low is None or found.high is None else [found.low, found.high]
