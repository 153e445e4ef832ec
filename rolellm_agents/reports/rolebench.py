"""The chapter of a run of `rolellm eval rolebench`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rolellm_agents.evaluation.columns import MAIN, PAPER
from rolellm_agents.evaluation.paper_table import HEADS
from rolellm_agents.reports import rolebench_plots as plots
from rolellm_agents.reports.content import Block, Chapter, Fold, ListBlock, Section, TableBlock, TextBlock
from rolellm_agents.reports.number_format import (
    MISSING,
    cell,
    counted,
    distinct,
    short,
    system_name,
    unscored,
    with_bounds,
)
from rolellm_agents.reports.provenance import made
from rolellm_agents.reports.reading import ReadRun
from rolellm_agents.reports.reply_samples import replies_by_role

Rows = Sequence[Mapping[str, Any]]

_NO_FIGURE: Final = frozenset({"model", "strategy", "kind", "judged"})
_MEANINGS: Final = (
    "F1 is ROUGE-L with the best reference, as the library rouge_score has it without stemming: the score "
    "to compare by. The paper's measure is ROUGE-L recall, which longer replies raise, so words stand "
    "beside it.",
    "Intervals are 95 % bootstrap intervals that draw whole roles. Of one role alone there are none.",
)


def rolebench_chapter(run: ReadRun, samples: int) -> Chapter:
    """Build the RoleBench chapter; malformed results raise `KeyError`, `TypeError` or a similar error."""
    results = run.results
    rows: Rows = results["rows"]
    systems = distinct(map(system_name, rows))
    kinds = distinct(row["kind"] for row in rows)
    sections = [
        Section("The result", [*_result(results, rows, systems, kinds)]),
        *_differences(rows, systems, kinds),
        Section("Length against score", [*plots.length(run.lines, systems)]),
        Section("By role", [*plots.by_role(run.lines, systems, kinds)]),
        *_judges(run, rows, systems),
        Section("Questions known from training", [*_overlap(results, rows)]),
        Section(
            "Every figure",
            [Fold(kind_name(kind), [_every_figure(_of_kind(rows, kind))]) for kind in kinds],
        ),
        Section("Replies side by side", replies_by_role(run.lines, systems, samples)),
        made(run, notes=_throughput(results["throughput"])),
    ]
    asked = ", ".join(
        f"{max(row['n'] + row['missing'] for row in _of_kind(rows, kind)):,} {kind_name(kind).lower()}"
        for kind in kinds
    )
    lead = f"{counted(len(systems), 'system')} on the same questions of RoleBench: {asked}."
    return Chapter(f"RoleBench: {run.name}", lead, sections)


def kind_name(kind: str) -> str:
    """The display name of a kind of question."""
    return f"{kind.replace('_', '-').capitalize()} questions"


def _of_kind(rows: Rows, kind: str) -> Rows:
    return [row for row in rows if row["kind"] == kind]


def _result(
    results: Mapping[str, Any], rows: Rows, systems: Sequence[str], kinds: Sequence[str]
) -> Iterator[Block]:
    yield ListBlock([*_warnings(results)])
    for kind in kinds:
        yield _main_table(_of_kind(rows, kind), kind_name(kind))
    yield plots.by_kind(rows, systems, kinds)
    yield ListBlock(_MEANINGS)
    yield _paper_table(results["paper_table"])


def _warnings(results: Mapping[str, Any]) -> Iterator[str]:
    """Warnings that readers need before the figures."""
    if not results["complete"]:
        yield "The run is not complete: figures are of what there is."
    if results["failed"]:
        yield f"{counted(results['failed'], 'answer')} could not be made and count for nothing."
    if results["made_from"]:
        yield str(results["made_from"])
    yield from map(str, results["notes"])
    for key, what in (
        ("without_profile", "Left out, since nobody has a profile of them"),
        ("from_profiles", "Played by the data's own profile"),
    ):
        if results[key]:
            yield f"{what}: {', '.join(results[key])}."
    if results["withheld"]:
        counts = ", ".join(f"{name} {number}" for name, number in results["withheld"].items())
        yield f"Passages withheld from personas, since they give answers away: {counts}."


def _main_table(rows: Rows, caption: str) -> TableBlock:
    heads = ("System", "F1", "Less first", "Paper (recall)", "Words", "In role", "n", "Missing", "Roles")
    return TableBlock(heads, [_main_row(row) for row in rows], caption=caption)


def _main_row(row: Mapping[str, Any]) -> list[str]:
    return [
        system_name(row),
        with_bounds(row[MAIN], row["ci95"]),
        short(row.get(f"{MAIN}_less_first"), "+"),
        with_bounds(row[PAPER], row[f"{PAPER}_ci95"]),
        cell("words", row["words"]),
        cell("in_role", row["in_role"]),
        *(str(row[name]) for name in ("n", "missing", "roles")),
    ]


def _paper_table(rows: Rows) -> TableBlock:
    cells = [
        (
            row["model"],
            row["strategy"],
            *(_paper_figure(row[name]) for name in ("raw", "cus", "spe", "avg")),
            MISSING if row.get("win") is None else f"{row['win']:.1%}",
        )
        for row in rows
    ]
    caption = (
        "The layout of the paper: ROUGE-L recall, and the share of answers that a judge preferred to "
        "RoleGPT's. RAW needs plain answers (--raw). Rows with a table's number are printed in the paper."
    )
    return TableBlock(HEADS, cells, words=2, caption=caption)


def _paper_figure(value: float | None) -> str:
    return MISSING if value is None else f"{value:.4f}"


def _differences(rows: Rows, systems: Sequence[str], kinds: Sequence[str]) -> Iterator[Section]:
    if plot := plots.differences(rows, systems, kinds):
        words = TextBlock(
            f"By how much each system scores higher than the first, {systems[0]}, on the questions that "
            "both answered. p is how often chance would do as much, dealing with whole roles; few roles "
            "never show a difference."
        )
        yield Section(f"Differences to {systems[0]}", [words, plot])


def _judges(run: ReadRun, rows: Rows, systems: Sequence[str]) -> Iterator[Section]:
    judged = [(row, one) for row in rows for one in row["judged"]]
    if not judged:
        return
    table = TableBlock(
        (
            *("System", "Questions", "Judge", "Measure", "Mean", "n", "Not scored"),
            *("At equal length", "First place preferred", "Both orders agree"),
        ),
        [_judged_row(row, one) for row, one in judged],
        words=4,
        caption="What judges said. Replies without a verdict count for nothing, never for zero.",
    )
    yield Section(
        "Judges",
        [table, plots.judged(judged, systems), *plots.agreement(run.lines, distinct(_measures(judged)))],
    )


def _measures(judged: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Iterator[str]:
    return (plots.measure_name(one["judge"], one["measure"]) for _, one in judged)


def _judged_row(row: Mapping[str, Any], one: Mapping[str, Any]) -> list[str]:
    position = one["position"] or {}
    return [
        system_name(row),
        row["kind"].replace("_", "-"),
        one["judge"],
        one["measure"],
        with_bounds(one["mean"], one["ci95"]),
        str(one["n"]),
        unscored(one["unscored"]),
        with_bounds(one["at_equal_length"], one["at_equal_length_ci95"]),
        short(position.get("first_preferred")),
        short(position.get("consistent")),
    ]


def _overlap(results: Mapping[str, Any], rows: Rows) -> Iterator[Block]:
    if not results["training_rows"]:
        yield TextBlock(
            "There are no training rows next to the test, so it is unknown which questions are new."
        )
        return
    overlap = results["overlap"]
    yield TextBlock(
        f"{counted(len(overlap), 'question')} of the test; there are {results['training_rows']:,} training "
        "rows. Scores of new questions alone:"
    )
    yield TableBlock(
        ("System", "Questions", "F1, all", "F1, new", "Paper, new", "n", "n new"),
        [_clean_row(row) for row in rows],
        words=2,
        caption="All questions, and those that training does not know.",
    )
    if overlap:
        cells = [
            (one["role"], one["kind"].replace("_", "-"), one["question"], one["why"]) for one in overlap
        ]
        heads = ("Role", "Kind", "Question", "Why")
        yield Fold(counted(len(overlap), "known question"), [TableBlock(heads, cells, words=4)])


def _clean_row(row: Mapping[str, Any]) -> list[str]:
    return [
        system_name(row),
        row["kind"].replace("_", "-"),
        with_bounds(row[MAIN], row["ci95"]),
        with_bounds(row[f"{MAIN}_clean"], row[f"{MAIN}_clean_ci95"]),
        with_bounds(row[f"{PAPER}_clean"], row[f"{PAPER}_clean_ci95"]),
        str(row["n"]),
        cell("n_clean", row["n_clean"]),
    ]


def _every_figure(rows: Rows) -> TableBlock:
    """A row for each figure, a column for each system."""
    names = distinct(name for row in rows for name in row if name not in _NO_FIGURE)
    return TableBlock(
        ("Figure", *map(system_name, rows)),
        [(_figure_name(name), *(cell(name, row.get(name)) for row in rows)) for name in names],
        caption="Names are those of results.json.",
    )


def _figure_name(name: str) -> str:
    return f"{MAIN}_ci95" if name == "ci95" else name


def _throughput(throughputs: Rows) -> Iterator[str]:
    for one in throughputs:
        yield (
            f"{one['model']}: {one['answers']:,} answers in {one['seconds']:,.1f} s, "
            f"{one['answers_per_second']} a second, {one['at_once']} at once."
        )
