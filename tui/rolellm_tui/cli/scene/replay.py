"""`rolellm scene replay`: a recorded scene again, the same or by another model."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import (
    BaseUrlOption,
    JsonOption,
    MaxTokensOption,
    ModelOption,
    TemperatureOption,
)
from rolellm_tui.cli.scene.options import for_readers, model_maker
from rolellm_tui.output import complain, print_json, print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.scene.run_file import RunLine
    from rolellm_graphs.scene.replay import Replay


def replay(
    file: Annotated[Path, typer.Argument(help="What “scene run --out” wrote.")],
    live: Annotated[
        bool, typer.Option("--live", help="Let the models say it anew from the seeds, not from the tape.")
    ] = False,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a recorded scene again and say whether it came out the same.

    From the tape no model is needed. --live asks the recorded models again; --model lets another one play
    and shows both side by side. The exit code is 1 when a tape or a seed gave something else.

    \b
    Examples:
      rolellm scene replay dinner.jsonl
      rolellm scene replay dinner.jsonl --live
      rolellm scene replay dinner.jsonl --model openai:gpt-4o-mini
    """
    from functools import partial

    from rolellm_agents.scene import cast_scene
    from rolellm_agents.scene.run_file import read_run_file
    from rolellm_graphs.scene.replay import TapedEnsemble, live_ensemble
    from rolellm_graphs.scene.replay import replay as play_again

    record = read_run_file(file, partial(cast_scene, path=file))
    if record.note:
        complain(record.note)
    if model or live:
        ensemble = live_ensemble(record, model, model_maker(base_url, max_tokens, temperature))
    else:
        ensemble = TapedEnsemble(record)
    result = asyncio.run(play_again(record, ensemble))
    if as_json:
        print_json(
            {
                "lines": len(result.recorded),
                "same": result.first_difference is None,
                "first_difference": result.first_difference,
                "recorded": [for_readers(line) for line in result.recorded],
                "played": [for_readers(line) for line in result.played],
            }
        )
    elif model:
        _print_both(result, model)
    else:
        _print_verdict(result)
    if model is None and result.first_difference is not None:
        raise typer.Exit(1)


def _print_verdict(result: "Replay") -> None:
    place = result.first_difference
    if place is None:
        print_text(f"The same: {len(result.recorded)} lines.")
        return
    print_text(f"The first {place} lines are the same, then:")
    for what, lines in (("recorded", result.recorded), ("now", result.played)):
        print_text(f"  {what}: {_told(lines[place]) if place < len(lines) else 'nothing more'}")


def _print_both(result: "Replay", model: str) -> None:
    length = max(len(result.recorded), len(result.played))
    print_table(
        ("TURN", "RECORDED", model.upper()),
        (
            (str(_turn(result, place)), _at(result.recorded, place), _at(result.played, place))
            for place in range(length)
        ),
    )


def _turn(result: "Replay", place: int) -> int:
    lines = result.recorded if place < len(result.recorded) else result.played
    return lines[place]["turn"]


def _at(lines: "Sequence[RunLine]", place: int) -> str:
    return _told(lines[place]) if place < len(lines) else ""


def _told(line: "RunLine") -> str:
    return f"{line['name']} ({line['kind']}): {line['text']}"
