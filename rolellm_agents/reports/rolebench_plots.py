"""The plots of `rolellm eval rolebench`, each with a table of the plotted figures."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, Final

from rolellm_agents.evaluation.columns import MAIN, PAPER
from rolellm_agents.metrics import Interval, correlated, mean_interval
from rolellm_agents.metrics.correlation import spearman
from rolellm_agents.reports.content import Block, Panel, Plot, TableBlock, TextBlock
from rolellm_agents.reports.number_format import bounds, distinct, short, system_name, with_bounds
from rolellm_agents.reports.plots import Dot, PlotRow, Point, dot_plot, scatter

Lines = Sequence[Mapping[str, Any]]

SHOWN: Final[Mapping[str, str]] = {MAIN: "ROUGE-L F1", PAPER: "The paper's recall"}
_ROLES_IN_A_PANEL: Final = 25
_PARTS: Final = 5
"""Number of parts whose means the trend line of a scatter plot connects."""
_RESAMPLES: Final = 1_000


def by_kind(rows: Lines, systems: Sequence[str], kinds: Sequence[str]) -> Plot:
    """Plot each system's scores on each kind of question."""
    panels = []
    for name, title in SHOWN.items():
        lines = [
            PlotRow(
                _kind(kind),
                [
                    Dot(systems.index(system_name(row)), row[name], row[_ci(name)])
                    for row in rows
                    if row["kind"] == kind and row[name] is not None
                ],
            )
            for kind in kinds
        ]
        alt = f"{title} of each system on each kind of question, with intervals."
        panels.append(dot_plot(lines, systems, title=title, axis=title, alt=alt))
    cells = [
        (system_name(row), _kind(row["kind"]), *(with_bounds(row[n], row[_ci(n)]) for n in SHOWN))
        for row in rows
    ]
    table = TableBlock(("System", "Questions", *SHOWN.values()), cells, words=2)
    return Plot(name="by-kind", panels=panels, table=table)


def differences(rows: Lines, systems: Sequence[str], kinds: Sequence[str]) -> Plot | None:
    """Plot each system's differences to the first; None when there is nothing to compare."""
    compared = [row for row in rows if row.get(f"{MAIN}_less_first") is not None]
    if not compared:
        return None
    panels = []
    for kind in kinds:
        own = [row for row in compared if row["kind"] == kind]
        lines = [PlotRow(SHOWN[name], [_less_first(row, name, systems) for row in own]) for name in SHOWN]
        if own:
            alt = f"Differences to {systems[0]} on {_kind(kind)} questions; 0 is no difference."
            panels.append(
                dot_plot(lines, systems, title=f"{_kind(kind)} questions", axis="difference", alt=alt)
            )
    cells = [
        (system_name(row), _kind(row["kind"]), SHOWN[name], *_difference_cells(row, name))
        for row in compared
        for name in SHOWN
    ]
    heads = ("System", "Questions", "Score", "Difference", "95 % interval", "p")
    return Plot(name="differences", panels=panels, table=TableBlock(heads, cells, words=3))


def length(lines: Lines, systems: Sequence[str]) -> Iterator[Block]:
    """Plot both scores against the number of words, which shows that recall rewards length."""
    if not lines:
        yield TextBlock("There are no replies.")
        return
    cells = _cells(lines)
    highest = max(fmean(one[name] for one in held) for held in cells.values() for name in SHOWN)
    panels = [_length_panel(name, title, lines, cells, systems, highest) for name, title in SHOWN.items()]
    rows = []
    for system in [*systems, "all systems"]:
        own = [one for one in lines if system in (system_name(one), "all systems")]
        if own:
            rows.append(_length_row(system, own))
    heads = ("System", "Words", *(f"Rank correlation of words and {SHOWN[name]}" for name in SHOWN), "n")
    yield TextBlock(
        "Each mark is a system's mean over one role's questions; the line goes through the means of all "
        "replies, from the shortest fifth to the longest. Where it rises, longer replies score higher."
    )
    yield Plot(name="length", panels=panels, table=TableBlock(heads, rows))


def by_role(lines: Lines, systems: Sequence[str], kinds: Sequence[str]) -> Iterator[Block]:
    """Plot each system's mean for each role, with the roles sorted by mean."""
    for kind in kinds:
        own = [one for one in lines if one["kind"] == kind]
        if own:
            yield _by_role(own, systems, kind)


def judged(
    judgements: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], systems: Sequence[str]
) -> Plot:
    """Plot each measure's means, in a panel for each judge because their scales differ."""
    panels = []
    for judge in distinct(one["judge"] for _, one in judgements):
        own = [(row, one) for row, one in judgements if one["judge"] == judge and one["mean"] is not None]
        by_line: dict[str, list[Dot]] = defaultdict(list)
        for row, one in own:
            dot = Dot(systems.index(system_name(row)), one["mean"], one["ci95"])
            by_line[f"{one['measure']}\n{_kind(row['kind']).lower()}"].append(dot)
        if by_line:
            alt = f"What the judge {judge} said of each system, with intervals."
            drawn = [PlotRow(label, dots) for label, dots in by_line.items()]
            panels.append(dot_plot(drawn, systems, title=f"Judge: {judge}", axis="mean verdict", alt=alt))
    cells = [
        (
            system_name(row),
            measure_name(one["judge"], one["measure"]),
            _kind(row["kind"]),
            *_mean_cells(one),
        )
        for row, one in judgements
    ]
    heads = ("System", "Measure", "Questions", "Mean", "95 % interval", "n")
    return Plot(name="judges", panels=panels, table=TableBlock(heads, cells, words=3))


def agreement(lines: Lines, measures: Sequence[str]) -> Iterator[Block]:
    """Plot the correlations of judges with each other, with F1 and with length."""
    compared = [*measures, SHOWN[MAIN], "words"]
    drawn, cells = [], []
    for one, other in combinations(compared, 2):
        if one not in measures:
            continue
        pairs = [(pair, line["role"]) for line in lines if (pair := _pair(line, one, other)) is not None]
        found = correlated(spearman, [pair for pair, _ in pairs], [role for _, role in pairs])
        if found.value is None:
            continue
        ci95 = None if found.low is None or found.high is None else (found.low, found.high)
        drawn.append(PlotRow(f"{one}\nand {other}", [Dot(0, found.value, ci95)]))
        cells.append((one, other, short(found.value, "+"), bounds(ci95, "+"), str(found.n)))
    if not drawn:
        yield TextBlock(
            "Judges cannot be compared: too few replies have verdicts, or all verdicts are the same."
        )
        return
    alt = "Rank correlations of each judge's verdicts with other judges', with F1 and with length."
    yield TextBlock(
        "Whether judges order replies alike: Spearman's rank correlation over all replies, 1 for one order "
        "and 0 for none. A judge that goes with the words looks at length."
    )
    heads = ("Measure", "Beside", "Correlation", "95 % interval", "n")
    yield Plot(
        name="agreement",
        panels=[
            dot_plot(drawn, (), title="Agreement", axis="rank correlation", alt=alt, include=(-1.0, 1.0))
        ],
        table=TableBlock(heads, cells, words=2),
    )


def measure_name(judge: str, measure: str) -> str:
    """The display name of a judge's measure, shortened when both have the same name."""
    return judge if judge == measure else f"{judge}: {measure}"


def _length_panel(
    name: str,
    title: str,
    lines: Lines,
    cells: "Mapping[tuple[str, str], Lines]",
    systems: Sequence[str],
    highest: float,
) -> Panel:
    points = [
        Point(
            fmean(one["words"] for one in held),
            fmean(one[name] for one in held),
            systems.index(system),
        )
        for (system, _), held in cells.items()
    ]
    ordered = sorted(lines, key=lambda one: one["words"])
    size = max(1, -(-len(ordered) // _PARTS))
    parts = [ordered[begin : begin + size] for begin in range(0, len(ordered), size)]
    course = [(fmean(one["words"] for one in part), fmean(one[name] for one in part)) for part in parts]
    alt = (
        f"{title} against the words of replies; the mean goes from {short(course[0][1])} for the shortest "
        f"fifth of all replies to {short(course[-1][1])} for the longest."
    )
    return scatter(points, course, systems, title=title, axes=("words", title), alt=alt, highest=highest)


def _length_row(system: str, lines: Lines) -> list[str]:
    correlations = []
    for name in SHOWN:
        found = correlated(
            spearman, [(one["words"], one[name]) for one in lines], [one["role"] for one in lines]
        )
        ci95 = None if found.low is None or found.high is None else (found.low, found.high)
        shown = short(None, "+") if found.value is None else with_bounds(found.value, ci95, "+")
        correlations.append(shown)
    return [system, f"{fmean(one['words'] for one in lines):.1f}", *correlations, str(len(lines))]


def _by_role(lines: Lines, systems: Sequence[str], kind: str) -> Plot:
    cells = _cells(lines)
    means = {cell: _interval(held) for cell, held in cells.items()}
    by_role: dict[str, list[tuple[int, Interval]]] = defaultdict(list)
    for (system, role), found in means.items():
        by_role[role].append((systems.index(system), found))
    # Sorted by the score of the first system that answered the role, the best on top.
    roles = sorted(by_role, key=lambda role: (-min(by_role[role])[1].mean, role))
    drawn = [
        PlotRow(role, [Dot(place, one.mean, _ends(one)) for place, one in sorted(by_role[role])])
        for role in roles
    ]
    ends = [end for one in means.values() for end in (one.mean, *(_ends(one) or ()))]
    panels = [
        dot_plot(
            drawn[begin : begin + _ROLES_IN_A_PANEL],
            systems,
            title=f"{_kind(kind)} questions" + _part(begin, len(drawn)),
            axis=SHOWN[MAIN],
            alt=f"{SHOWN[MAIN]} by role on {_kind(kind).lower()} questions, the first system's best above.",
            include=(0.0, max(ends)),
        )
        for begin in range(0, len(drawn), _ROLES_IN_A_PANEL)
    ]
    rows = [
        (
            role,
            systems[place],
            short(one.mean),
            bounds(_ends(one)),
            _words(cells[systems[place], role]),
            str(one.n),
        )
        for role in roles
        for place, one in sorted(by_role[role])
    ]
    heads = ("Role", "System", SHOWN[MAIN], "95 % interval", "Words", "n")
    return Plot(
        name=f"by-role-{kind.replace('_', '-')}",
        panels=panels,
        table=TableBlock(heads, rows, words=2),
        note="Here intervals draw questions and hold for the role; a role that was asked once has none.",
    )


def _cells(lines: Lines) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    cells: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for one in lines:
        cells[system_name(one), one["role"]].append(one)
    return cells


def _interval(lines: Lines) -> Interval:
    questions = [str(one["number"]) for one in lines]
    return mean_interval([one[MAIN] for one in lines], questions, resamples=_RESAMPLES)


def _ends(one: Interval) -> tuple[float, float] | None:
    return None if one.low is None or one.high is None else (one.low, one.high)


def _words(lines: Lines) -> str:
    return f"{fmean(one['words'] for one in lines):.1f}"


def _part(begin: int, size: int) -> str:
    if size <= _ROLES_IN_A_PANEL:
        return ""
    return f", roles {begin + 1} to {min(begin + _ROLES_IN_A_PANEL, size)}"


def _pair(line: Mapping[str, Any], one: str, other: str) -> tuple[float, float] | None:
    known = _values(line)
    return (known[one], known[other]) if one in known and other in known else None


def _values(line: Mapping[str, Any]) -> dict[str, float]:
    verdicts: Iterable[tuple[str, Mapping[str, Any]]] = (
        (judge, one) for judge, held in line["verdicts"].items() for one in held
    )
    values = {measure_name(judge, one["measure"]): one["value"] for judge, one in verdicts}
    return {name: value for name, value in values.items() if value is not None} | {
        SHOWN[MAIN]: line[MAIN],
        "words": line["words"],
    }


def _less_first(row: Mapping[str, Any], name: str, systems: Sequence[str]) -> Dot:
    mean, ci95 = row[f"{name}_less_first"], row[f"{name}_less_first_ci95"]
    return Dot(systems.index(system_name(row)), mean, ci95)


def _mean_cells(one: Mapping[str, Any]) -> tuple[str, str, str]:
    return short(one["mean"]), bounds(one["ci95"]), str(one["n"])


def _difference_cells(row: Mapping[str, Any], name: str) -> tuple[str, str, str]:
    mean, ci95 = row[f"{name}_less_first"], row[f"{name}_less_first_ci95"]
    return short(mean, "+"), bounds(ci95, "+"), short(row[f"{name}_less_first_p"])


def _ci(name: str) -> str:
    return "ci95" if name == MAIN else f"{name}_ci95"


def _kind(kind: str) -> str:
    return kind.replace("_", "-").capitalize()
