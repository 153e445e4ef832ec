"""`rolellm train`: tune a model on personas, as a run that can be resumed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption, RowPersonaOption, cast_with
from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_train.recipe import Recipe
    from rolellm_train.training.tuning import TrainingResult


def train(
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", "-r", help="Recipe id, or a YAML file.", metavar="NAME"),
    ] = None,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            help="A folder of RoleBench, a generator's run, or a JSONL file of samples. For preferences: "
            "transcript.db, or a run of rejection sampling, of judging pairs, or of an evaluation. "
            "Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run. Default: a folder among your own runs."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", help="Base model. Default: the recipe's.", metavar="SPEC"),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Continue an adapter instead of a new one: a run, an adapter's folder or GGUF file, or a "
            "bundled model (llamacpp:rolesmol).",
            metavar="RUN",
        ),
    ] = None,
    persona: RowPersonaOption = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="Maximum number of rows or pairs, sampled at random."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed. Default: the recipe's.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change a field of the recipe, such as rank=32. Repeatable.",
            metavar="FIELD=VALUE",
        ),
    ] = None,
    recipes: Annotated[bool, typer.Option("--recipes", help="List the recipes and exit.")] = False,
    fields: Annotated[
        bool,
        typer.Option("--fields", help="List the fields that the recipe's objective uses, and exit."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Tune a model to play personas: role-conditioned instruction tuning (RoCIT).

    The recipes dpo, simpo and orpo learn from preferred answers instead: the swipes of your conversations,
    or a judge's verdicts on pairs. The recipe grpo samples answers and learns from their rewards (TRL).

    A recipe trains a LoRA adapter. With `--set tuning=qlora`, the base model is loaded in 4 bits to save
    memory; with `--set tuning=full`, all of its weights are trained. `rolellm export` converts the result
    to GGUF. The same command resumes a stopped run from its last checkpoint. For several GPUs, use
    `accelerate launch $(which rolellm) train …`.

    \b
    Examples:
      rolellm train --recipes
      rolellm train --recipe dpo --fields
      rolellm train --recipe smoke
      rolellm train --recipe smollm2 --data RoleBench --out runs/rolesmol
      rolellm train --recipe gemma-zh --data RoleBench --out runs/rolegemma
      rolellm train --recipe smollm2 --data runs/ci --set general=0 --persona ./holmes.yaml
      rolellm train --recipe dpo --data runs/judged --from runs/rolesmol
      rolellm train --recipe smollm2 --data RoleBench --from llamacpp:rolesmol
      rolellm train --recipe grpo --data RoleBench --from runs/rolesmol --limit 400
      rolellm train --recipe smollm2 --data RoleBench --set rank=32 --set learning_rate=4e-4
      rolellm train --recipe smollm2 --data RoleBench --set 'report_to=[tensorboard]'
    """
    from rolellm_train.recipe import bundled_recipes, load_recipe, recorded_recipe, with_settings
    from rolellm_train.training.processes import is_first
    from rolellm_train.training.start import continued_recipe
    from rolellm_train.training.waiting import choose_wait_policy

    if recipes or recipe is None:
        _show_recipes([load_recipe(name) for name in bundled_recipes()], as_json=as_json)
        return
    if fields:
        _show_fields(with_settings(load_recipe(recipe), settings or ()), as_json=as_json)
        return
    choose_wait_policy()
    overrides = {"base": base, "limit": limit, "seed": seed}
    changes = {name: value for name, value in overrides.items() if value is not None}
    chosen = with_settings(load_recipe(recipe).model_copy(update=changes), settings or ())
    if start is not None:
        chosen = continued_recipe(start, chosen)
    cast = cast_with(persona)
    sources = data or _default_data(chosen.objective)
    named = [*(str(source.resolve()) for source in sources), *(persona or ())]
    folder = out or _default_folder(recorded_recipe(chosen), named)
    tune = _trainer(chosen.objective)
    if not is_first():
        tune(chosen, sources, cast, folder)
        return
    complain(f"The run is kept in {folder}.")
    if chosen.objective == "dpo":
        complain("Computing the reference model's log probabilities first.")

    with counted_progress("Training") as progress:

        def on_step(step: int, steps: int, figures: Mapping[str, float]) -> None:
            progress(step, steps)

        tuned = tune(chosen, sources, cast, folder, on_step=on_step)
    result = {tuned.weights.name: str(tuned.weights), "run": str(folder), **tuned.figures}
    if as_json:
        print_json(result)
        return
    print_table(
        ("WHAT", "FIGURE"), ((name.replace("_", " "), _shown(value)) for name, value in result.items())
    )
    if unknown := tuned.figures["unknown_roles"]:
        complain(
            f"Left out, because their personas are not in the library: {', '.join(unknown)}. "
            "--persona names a persona's file."
        )
    print_text(f"\nConvert to GGUF:  rolellm export {folder}")


def _trainer(objective: str) -> "Callable[..., TrainingResult]":
    if objective == "rocit":
        from rolellm_train.training.rocit import train as tune

        return tune
    if objective == "grpo":
        from rolellm_train.training.reinforcement import train as tune_by_rewards

        return tune_by_rewards
    from rolellm_train.training.preference_tuning import train as tune_by_preferences

    return tune_by_preferences


def _default_data(objective: str) -> list[Path]:
    """The data when none is named: for preferences, the user's conversations."""
    from rolellm_agents.config.paths import user_paths
    from rolellm_train.objectives import PREFERENCES

    transcript = user_paths().transcript
    return [transcript] if objective in PREFERENCES and transcript.is_file() else []


def _show_recipes(found: list[Any], *, as_json: bool) -> None:
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    else:
        print_table(("RECIPE", "BASE", "ABOUT"), ((one.id, one.base, one.about) for one in found))


def _show_fields(recipe: "Recipe", *, as_json: bool) -> None:
    from rolellm_train.objectives import uses

    meanings = {name: field.description or "" for name, field in type(recipe).model_fields.items()}
    used = [
        {"field": name, "value": value, "about": " ".join(meanings[name].split())}
        for name, value in recipe.model_dump(mode="json").items()
        if uses(recipe.objective, name)
    ]
    if as_json:
        print_json(used)
        return
    described = ("id", "about", "cites")
    rows = (
        (one["field"], json.dumps(one["value"], ensure_ascii=False), one["about"])
        for one in used
        if one["field"] not in described
    )
    print_table(("FIELD", "VALUE", "ABOUT"), rows)


def _default_folder(recipe: Mapping[str, Any], named: list[str]) -> Path:
    import hashlib

    from rolellm_agents.config.paths import user_paths

    compact = json.dumps(recipe, ensure_ascii=False, separators=(",", ":"))
    settings = "\n".join([compact, *named])
    return user_paths().runs / f"train-{hashlib.sha256(settings.encode()).hexdigest()[:8]}"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {count:,}" for name, count in value.items()) or "none"
    return f"{value:,}" if isinstance(value, int | float) else str(value)
