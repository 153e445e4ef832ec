"""Compares our training with TRL's `SFTTrainer`, with the same rows and adapter (`rolellm bench train`).

Each runs in a separate process, one after the other, so that they do not share memory or threads. The
compared figure is rows per second, because ours computes fewer tokens for the same rows. Tokens per second
are reported both for computed tokens and for the tokens of the rows.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from rolellm_agents.persona import list_personas
from rolellm_agents.text import one_line
from rolellm_train.data.material import encoded
from rolellm_train.data.rows import TrainingRow, cast_rows
from rolellm_train.errors import TrainingError
from rolellm_train.recipe import Recipe

OnMessage = Callable[[str], None]
_PEOPLE: Final = 24
"""Number of English characters whose demonstrations are the training data."""
_RANK: Final = 16
_WARM_UP: Final = 1
"""Number of first steps that are not measured."""


def measure_training(steps: int, on_message: OnMessage = lambda _: None) -> dict[str, Any]:
    """Measure rows and tokens per second of both, the share of real tokens, memory, and the ratio.

    Args:
        steps: number of measured steps, after one warm-up step.
        on_message: called with a description of each step.

    Raises:
        TrainingError: TRL is not installed, or a training fails.
    """
    figures: dict[str, Any] = {}
    for name in ("ours", "trl"):
        on_message(f"{name} …")
        figures[name] = _in_a_process(name, steps)
    figures["ratio_rows_per_second"] = round(
        figures["ours"]["rows_per_second"] / figures["trl"]["rows_per_second"], 2
    )
    return figures


def _in_a_process(name: str, steps: int) -> dict[str, Any]:
    code = f"from rolellm_speed.train import main; main({name!r}, {steps})"
    done = subprocess.run(  # our own code
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        hint = "; “pip install trl” installs it" if "trl" in last[0] else ""
        raise TrainingError(f"{name} could not be measured ({one_line(last[0], 160)}){hint}.")
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main(name: str, steps: int) -> None:
    """Measure one of the two trainers, and print its figures as a line of JSON."""
    measured = {"ours": _ours, "trl": _trl}[name](_recipe(), _rows(), steps)
    print(json.dumps(measured))  # for the process that started this one


def _recipe() -> Recipe:
    return Recipe(
        id="bench",
        about="",
        base="llamacpp:smollm2",
        rank=_RANK,
        alpha=2 * _RANK,
        pack=2048,
        packs_per_step=1,
    )


def _rows() -> list[TrainingRow]:
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"]
    return [*cast_rows(cast[:_PEOPLE])]


def _ours(recipe: Recipe, rows: Sequence[TrainingRow], steps: int) -> dict[str, Any]:
    from rolellm_train.data.packing import pack
    from rolellm_train.training.adapter import trainable
    from rolellm_train.training.loading import open_base
    from rolellm_train.training.trainer import trainer_of

    base = open_base(recipe)
    short, _ = encoded(([row] for row in rows), base.encoder, recipe.longest)
    packs = pack(short, recipe.pack, seed=0)[: steps + _WARM_UP]
    if len(packs) < steps + _WARM_UP:
        raise TrainingError(f"There are rows for {len(packs) - _WARM_UP} steps only.")
    ends: list[float] = []
    with tempfile.TemporaryDirectory(prefix="rolellm-bench-") as place:
        quiet = recipe.model_copy(update={"epochs": 1, "evaluations": 0})
        trainer = trainer_of(
            trainable(base.model, recipe),
            quiet,
            packs,
            [],
            folder=Path(place),
            on_step=lambda step, _steps, figures: (
                ends.append(time.perf_counter()) if "loss" in figures else None
            ),
        )
        trainer.get_train_dataloader = lambda: _in_order(trainer)
        trainer.train()
    counted = packs[_WARM_UP:]
    return _figures(
        seconds=ends[-1] - ends[0],
        rows=sum(len(tree.rows) for one in counted for tree in one.trees),
        computed=sum(map(len, counted)),
        real=sum(map(len, counted)),
        of_rows=sum(len(row.ids) for one in counted for tree in one.trees for row in tree.rows),
    )


def _in_order(trainer: Any) -> Any:
    from torch.utils.data import DataLoader

    return trainer.accelerator.prepare(
        DataLoader[Any](trainer.train_dataset, batch_size=1, collate_fn=trainer.data_collator)
    )


def _trl(recipe: Recipe, rows: Sequence[TrainingRow], steps: int) -> dict[str, Any]:
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import SFTConfig, SFTTrainer

    from rolellm_agents.models.llamacpp.template import turns_of
    from rolellm_train.base.unpacking import unquantized
    from rolellm_train.data.rows import Prompts
    from rolellm_train.training.loading import base_source
    from rolellm_train.training.trainer import computes_bf16

    source, how = base_source(recipe.base)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, **how)
    unquantized(model)
    tokenizer = AutoTokenizer.from_pretrained(source, **how)
    prompts = Prompts()
    examples = [
        {"prompt": turns_of(prompts.of(row)), "completion": [{"role": "assistant", "content": row.answer}]}
        for row in rows
    ]
    ends: list[float] = []
    counts: list[tuple[int, int, int]] = []

    class _Timing(TrainerCallback):  # type: ignore[misc]  # transformers is not typed here
        def on_step_end(self, *_: Any, **__: Any) -> None:
            ends.append(time.perf_counter())

    class _Counting(SFTTrainer):  # type: ignore[misc]
        def training_step(self, model: Any, inputs: Any, *more: Any, **named: Any) -> Any:
            mask = inputs["attention_mask"]
            counts.append((mask.shape[0], mask.numel(), int(mask.sum())))
            return super().training_step(model, inputs, *more, **named)

    with tempfile.TemporaryDirectory(prefix="rolellm-bench-") as place:
        # TRL's defaults, except for settings that CPUs need, and without files and progress bars.
        arguments = SFTConfig(
            output_dir=place,
            max_steps=steps + _WARM_UP,
            bf16=computes_bf16(),
            use_cpu=not torch.cuda.is_available(),
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = _Counting(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_list(examples),
            processing_class=tokenizer,
            peft_config=LoraConfig(r=recipe.rank, lora_alpha=recipe.alpha, target_modules="all-linear"),
            callbacks=[_Timing()],
        )
        trainer.train()
    counted = counts[_WARM_UP * len(counts) // len(ends) :]
    return _figures(
        seconds=ends[-1] - ends[0],
        rows=sum(rows for rows, _, _ in counted),
        computed=sum(computed for _, computed, _ in counted),
        real=sum(real for _, _, real in counted),
        of_rows=sum(real for _, _, real in counted),
    )


def _figures(*, seconds: float, rows: int, computed: int, real: int, of_rows: int) -> dict[str, Any]:
    import resource

    return {
        "rows_per_second": round(rows / seconds, 3),
        "tokens_of_rows_per_second": round(of_rows / seconds, 1),
        "computed_tokens_per_second": round(computed / seconds, 1),
        "real_token_share": round(real / computed, 4),
        "rows": rows,
        "seconds": round(seconds, 2),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
