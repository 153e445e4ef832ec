"""`rolellm train`: tune a model on characters, as a run that goes on where it was stopped."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_train.training.tuning import TrainingResult


def train(
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", "-r", help="A recipe's id, or a YAML file of your own.", metavar="NAME"),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            help="A folder of RoleBench, or of a generator's run; for dpo a judge's run or transcript.db. "
            "Several may be given.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run's folder; one of your own otherwise.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", help="Another base than the recipe's.", metavar="SPEC"),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Learn the adapter of this run on, instead of a new one.", metavar="RUN"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Rows at most, drawn; for trying out.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Of all that is drawn.")] = None,
    recipes: Annotated[bool, typer.Option("--recipes", help="Show the recipes, and do nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Tune a model to speak as somebody: role-conditioned instruction tuning, by LoRA.

    The recipe dpo learns from preferred answers instead: the swipes of your conversations, or a judge's
    verdicts on pairs.

    What comes out is a small adapter over the base; `rolellm export` makes a GGUF of it. Stopped and
    started again with the same options, it goes on from the last checkpoint. Several GPUs learn together
    under `accelerate launch $(which rolellm) train …`.

    \b
    Examples:
      rolellm train --recipes
      rolellm train --recipe smoke
      rolellm train --recipe smollm2 --data RoleBench --out runs/rolesmol
      rolellm train --recipe gemma-zh --data RoleBench --out runs/rolegemma
      rolellm train --recipe dpo --data runs/judged --from runs/rolesmol
    """
    from rolellm_agents.persona import list_personas
    from rolellm_train.recipe import bundled_recipes, load_recipe
    from rolellm_train.training.processes import is_first
    from rolellm_train.training.start import going_on_from

    if recipes or recipe is None:
        _show_recipes([load_recipe(name) for name in bundled_recipes()], as_json=as_json)
        return
    given = {"base": base, "limit": limit, "seed": seed}
    changes = {name: value for name, value in given.items() if value is not None}
    chosen = load_recipe(recipe).model_copy(update=changes)
    if start is not None:
        chosen = going_on_from(start, chosen)
    cast = [found.persona for found in list_personas().found]
    learned_from = data or _usual_data(chosen.objective)
    folder = out or _usual_folder(chosen.model_dump_json(), learned_from)
    tune = _trainer(chosen.objective)
    if not is_first():
        tune(chosen, learned_from, cast, folder)
        return
    complain(f"The run is kept in {folder}.")
    if chosen.objective == "dpo":
        complain("What the model says of the answers as it is now is computed first.")

    with counted_progress("Training") as progress:

        def tell(step: int, steps: int, figures: Mapping[str, float]) -> None:
            progress(step, steps)

        tuned = tune(chosen, learned_from, cast, folder, tell=tell)
    result = {"adapter": str(tuned.adapter), "run": str(folder), **tuned.figures}
    if as_json:
        print_json(result)
        return
    print_table(
        ("WHAT", "FIGURE"), ((name.replace("_", " "), _told(value)) for name, value in result.items())
    )
    if unknown := tuned.figures["unknown_roles"]:
        complain(f"Left out for want of a persona: {', '.join(unknown)}.")
    print_text(f"\nrolellm export {folder} makes a GGUF of it.")


def _trainer(objective: str) -> "Callable[..., TrainingResult]":
    if objective == "dpo":
        from rolellm_train.training.dpo import train as tune_by_preferences

        return tune_by_preferences
    from rolellm_train.training.rocit import train as tune

    return tune


def _usual_data(objective: str) -> list[Path]:
    """What is learned from when nothing is named: of preferences, the person's own conversations."""
    from rolellm_agents.config.paths import user_paths

    transcript = user_paths().transcript
    return [transcript] if objective == "dpo" and transcript.is_file() else []


def _show_recipes(found: list[Any], *, as_json: bool) -> None:
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    else:
        print_table(("RECIPE", "BASE", "ABOUT"), ((one.id, one.base, one.about) for one in found))


def _usual_folder(recipe: str, data: list[Path]) -> Path:
    import hashlib

    from rolellm_agents.config.paths import user_paths

    told = "\n".join([recipe, *(str(folder.resolve()) for folder in data)])
    return user_paths().runs / f"train-{hashlib.sha256(told.encode()).hexdigest()[:8]}"


def _told(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {count:,}" for name, count in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
