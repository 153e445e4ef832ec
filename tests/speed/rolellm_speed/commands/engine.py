"""`rolellm bench engine`: compares our engine with other front ends of llama.cpp."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, print_json, print_table, print_text

_NOT_COMPARED = "–"


class _Size(NamedTuple):
    """The size of the scene."""

    characters: int
    turns: int
    reply: int


_QUIET, _BUSY = _Size(4, 24, 32), _Size(2, 6, 16)
"""Default sizes; the second one, for `--busy`, is short enough to be played many times."""
_LIMIT = 120.0
_MOST_BUSY = 64
"""Background processes."""


def engine(
    characters: Annotated[
        int | None,
        typer.Option(
            "--characters", min=2, max=10, help="Number of characters. Default: 4, or 2 with --busy."
        ),
    ] = None,
    turns: Annotated[
        int | None, typer.Option("--turns", min=1, help="Number of lines. Default: 24, or 6 with --busy.")
    ] = None,
    reply: Annotated[
        int | None, typer.Option("--reply", min=2, help="Tokens per line. Default: 32, or 16 with --busy.")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Number of repetitions.")] = 1,
    busy: Annotated[
        str,
        typer.Option(
            "--busy",
            metavar="COUNTS",
            help="Comma-separated numbers of background processes, for example 0,1,2,4.",
        ),
    ] = "0",
    neighbour: Annotated[
        list[str] | None,
        typer.Option(
            "--neighbour",
            metavar="KIND",
            help="Kind of background process: spin (a busy loop), niced (the same at nice 19), "
            "training (torch) or engine (a second engine). Default: spin. Repeatable.",
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            "--limit", min=1, help="Time limit per measurement with --busy, in seconds. Default: 120."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare our engine with other llama.cpp front ends on a scene (takes minutes).

    Also measures how fast each generates one answer, and up to sixteen at once. Progress is printed on
    standard error.

    With --busy, each system generates an answer and a short scene while background processes run. Times
    are reported in seconds and as multiples of the fair time: the time without background processes,
    divided by the share of the machine that a fair scheduler leaves. Ratios are omitted if other programs
    used more than 10 % of the CPU.

    \b
    Examples:
      rolellm bench engine
      rolellm bench engine --turns 8 --rounds 3 --json
      rolellm bench engine --busy 0,1,2,4
      rolellm bench engine --busy 2 --neighbour niced --neighbour training --limit 60
    """
    counts = parse_counts(busy)
    usual = _BUSY if any(counts) else _QUIET
    size = _Size(characters or usual.characters, turns or usual.turns, reply or usual.reply)
    if any(counts):
        measured = _measure_busy(counts, neighbour or ["spin"], size, rounds, limit or _LIMIT)
    else:
        _refuse_without_busy(neighbour, limit)
        measured = _measure(size, rounds)
    for note in measured["notes"]:
        complain(note)
    if as_json:
        print_json(measured)
    elif "busy" in measured:
        _print_busy(measured)
    else:
        _print_engines(measured)


def parse_counts(text: str) -> list[int]:
    """Parse a list such as `0,1,2,4` into sorted numbers without duplicates.

    Raises:
        typer.BadParameter: the text is not such a list.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) <= _MOST_BUSY for part in parts):
        raise typer.BadParameter(
            f"Give whole numbers from 0 to {_MOST_BUSY} with commas between, such as 0,1,2,4.",
            param_hint="--busy",
        )
    return sorted({int(part) for part in parts})


def _refuse_without_busy(neighbour: list[str] | None, limit: float | None) -> None:
    for name, value in (("--neighbour", neighbour), ("--limit", limit)):
        if value is not None:
            raise typer.BadParameter("It goes with --busy, as in --busy 0,1,2,4.", param_hint=name)


def _progress(text: str) -> None:
    typer.echo(text, err=True)


def _measure(size: _Size, rounds: int) -> dict[str, Any]:
    from rolellm_speed.engine import measure_engine

    return measure_engine(
        characters=size.characters,
        turns=size.turns,
        reply=size.reply,
        rounds=rounds,
        progress=_progress,
    )


def _measure_busy(
    counts: list[int], neighbours: list[str], size: _Size, rounds: int, limit: float
) -> dict[str, Any]:
    from rolellm_speed.engine import measure_busy

    return measure_busy(
        counts=counts,
        neighbours=list(dict.fromkeys(neighbours)),
        characters=size.characters,
        turns=size.turns,
        reply=size.reply,
        rounds=rounds,
        limit=limit,
        progress=_progress,
    )


def _print_engines(measured: dict[str, Any]) -> None:
    """Print a table of all figures with a column for each engine, and a table of the ratios."""
    as_installed = measured["as_installed"]
    columns = dict(measured["engines"])
    if "ours" in as_installed:
        columns["ours as installed"] = as_installed["ours"]
    names = dict.fromkeys(name for figures in columns.values() for name in figures)
    rows = ((name, *(_cell(figures.get(name)) for figures in columns.values())) for name in names)
    print_table(("WHAT", *(column.upper() for column in columns)), rows)
    if measured["ratios"]:
        print_text("")
        _print_ratios(measured["ratios"], as_installed.get("ratios", {}))
    omitted = measured["ratios_omitted"]
    omitted_installed = as_installed.get("ratios_omitted", {})
    _print_notes(
        [
            *(f"{_NOT_COMPARED} {name}: {why}" for name, why in omitted.items()),
            *(f"{_NOT_COMPARED} {name} as installed: {why}" for name, why in omitted_installed.items()),
            *_load_notes(measured["load"]),
        ]
    )


def _print_ratios(ratios: Mapping[str, float | None], installed: Mapping[str, float | None]) -> None:
    print_table(
        ("OURS COMPARED", "SAME FILE", "AS INSTALLED"),
        (
            (name, _ratio(ratio), _ratio(installed[name]) if name in installed else "")
            for name, ratio in ratios.items()
        ),
    )


def _print_busy(measured: dict[str, Any]) -> None:
    """Print a row for each system and number of background processes."""
    limit = measured["workload"]["limit_s"]
    rows = measured["busy"]
    print_table(
        ("SYSTEM", "BESIDE", "FAIR SHARE", "ANSWER, S", "× FAIR TIME", "SCENE, S", "× FAIR TIME", "OTHERS"),
        (_busy_row(row, limit) for row in rows),
    )
    omitted = [
        f"{_NOT_COMPARED} {row['system']} beside {_beside(row)}, {what}: {row[what]['omitted']}"
        for row in rows
        for what in ("answer", "scene")
        if row[what]["omitted"]
    ]
    loads = [load for row in rows for what in ("answer", "scene") for load in row[what]["load"]]
    _print_notes([*omitted, *_load_notes(loads)])


def _busy_row(row: dict[str, Any], limit: float) -> list[str]:
    figures = [row["answer"], row["scene"]]
    told = []
    for figure in figures:
        told.append(f"> {limit:g} s" if figure["timed_out"] else _cell(figure["seconds"]))
        told.append(_ratio(figure["times_fair"]))
    loads = [load["during"]["others"] for figure in figures for load in figure["load"] if load["during"]]
    others = f"{max(loads) * 100:.0f} %" if loads else ""
    return [row["system"], _beside(row), _cell(row["fair_share"]), *told, others]


def _beside(row: dict[str, Any]) -> str:
    return f"{row['processes']} {row['neighbour']}" if row["neighbour"] else "nothing"


def _load_notes(loads: list[dict[str, Any]]) -> list[str]:
    """A sentence about the machine's load."""
    known = [load[when] for load in loads for when in ("before", "during") if load[when]]
    if not known:
        return []
    averages = [load["average"] for load in known]
    return [
        f"Other programs used at most {max(load['others'] for load in known) * 100:.0f} % of the "
        f"processors; load average {min(averages):g} to {max(averages):g}."
    ]


def _print_notes(notes: list[str]) -> None:
    if notes:
        print_text("")
        print_text("\n".join(notes))


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,g}"


def _ratio(value: float | None) -> str:
    return _NOT_COMPARED if value is None else f"{value:,g}"
