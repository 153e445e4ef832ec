"""`rolellm bench train`: compares the speed of training with TRL's."""

from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_table, print_text


def train(
    steps: Annotated[
        int, typer.Option("--steps", min=1, help="Measured steps per trainer, after one warm-up step.")
    ] = 3,
    as_json: JsonOption = False,
) -> None:
    """Compare the training throughput with TRL's SFTTrainer (takes minutes).

    Both train on the same rows. Needs the extra “train” and TRL (“pip install trl”).

    \b
    Examples:
      rolellm bench train
      rolellm bench train --steps 6 --json
    """
    from rolellm_speed.train import measure_training

    measured = measure_training(steps, lambda text: typer.echo(text, err=True))
    if as_json:
        print_json(measured)
        return
    ours, theirs = measured["ours"], measured["trl"]
    print_table(
        ("WHAT", "OURS", "TRL"),
        ((name.replace("_", " "), f"{ours[name]:,}", f"{theirs[name]:,}") for name in ours),
    )
    print_text(f"\nOurs learns {measured['ratio_rows_per_second']} times as many rows a second.")
