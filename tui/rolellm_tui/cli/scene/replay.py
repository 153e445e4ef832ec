"""`rolellm scene replay`: replay a recorded scene, from its recorded answers or with models."""

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
from rolellm_tui.cli.scene.options import maker_with, without_replay_fields
from rolellm_tui.cli.scene.trust import TrustOption, record_with_models_that_count
from rolellm_tui.output import complain, print_json, print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.scene.run_file import RunLine
    from rolellm_graphs.scene.replay import Replay


def replay(
    file: Annotated[Path, typer.Argument(help="A run file of “scene run --out”.")],
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Call the recorded models with their seeds instead of using recorded answers."
        ),
    ] = False,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
    trust_file_models: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Replay a recorded scene and report the first difference.

    By default the recorded answers are used, and no model is needed. --live calls the recorded models;
    --model calls another model and prints both versions side by side. Exits with 1 on a difference, unless
    --model is given.

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
    if live and not model:
        record = record_with_models_that_count(record, trust=trust_file_models)
    if model or live:
        ensemble = live_ensemble(record, model, maker_with(base_url, max_tokens, temperature))
    else:
        ensemble = TapedEnsemble(record)
    result = asyncio.run(play_again(record, ensemble))
    if as_json:
        print_json(
            {
                "lines": len(result.recorded),
                "same": result.first_difference is None,
                "first_difference": result.first_difference,
                "recorded": [without_replay_fields(line) for line in result.recorded],
                "played": [without_replay_fields(line) for line in result.played],
            }
        )
    elif model:
        _print_both(result, model)
    else:
        _print_difference(result)
    if model is None and result.first_difference is not None:
        raise typer.Exit(1)


def _print_difference(result: "Replay") -> None:
    place = result.first_difference
    if place is None:
        print_text(f"Identical: {len(result.recorded)} lines.")
        return
    print_text(f"The first {place} lines are identical, then:")
    for what, lines in (("recorded", result.recorded), ("now", result.played)):
        print_text(f"  {what}: {_shown(lines[place]) if place < len(lines) else '(end)'}")


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
    return _shown(lines[place]) if place < len(lines) else ""


def _shown(line: "RunLine") -> str:
    return f"{line['name']} ({line['kind']}): {line['text']}"
