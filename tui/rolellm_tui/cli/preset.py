"""`rolellm preset`: list, show, check, import and save sampler presets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import BaseUrlOption, JsonOption, ModelOption
from rolellm_tui.output import complain, print_json, print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolellm_agents.models.presets.files import FoundPreset
    from rolellm_agents.models.presets.importing import AddedPreset

PresetArgument = Annotated[str, typer.Argument(help="Name of a preset, or a file.")]

app = typer.Typer(
    name="preset",
    help="List, show, check, import and save sampler presets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List your presets. The one that the settings name has a star.

    \b
    Examples:
      rolellm preset list
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.presets.files import list_presets

    found, notes = list_presets()
    if as_json:
        print_json([_as_json(one) for one in found])
    else:
        chosen = load_settings().preset
        print_table(
            ("", "NAME", "VALUES", "ABOUT"),
            (
                (
                    "*" if chosen in (one.id, one.preset.name) else "",
                    one.id,
                    listed_values(one.preset.active),
                    one.preset.about,
                )
                for one in found
            ),
        )
    for note in notes:
        complain(note)


@app.command("show")
def show(preset: PresetArgument, as_json: JsonOption = False) -> None:
    """Print a preset's file.

    \b
    Examples:
      rolellm preset show storyteller
      rolellm preset show storyteller --json
    """
    from rolellm_agents.errors import SettingsError
    from rolellm_agents.files.yaml import read_text
    from rolellm_agents.models.presets.files import find_preset

    found = find_preset(preset)
    if as_json:
        print_json(_as_json(found))
    else:
        print_text(read_text(found.path, SettingsError), end="")


@app.command("check")
def check(
    presets: Annotated[list[str], typer.Argument(help="Names of presets, or files.")],
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
) -> None:
    """Check presets: values out of range, values without effect, and what a model does not take.

    \b
    Examples:
      rolellm preset check storyteller --model openai:gpt-4o-mini
      rolellm preset check *.yaml
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.errors import SettingsError
    from rolellm_agents.models.presets.files import find_preset
    from rolellm_agents.models.presets.findings import preset_findings
    from rolellm_agents.models.presets.using import samplers_of

    name = model or load_settings().model
    taken = samplers_of(name, base_url)
    is_wrong = False
    for reference in presets:
        try:
            told = [one.sentence for one in preset_findings(find_preset(reference).preset, taken, name)]
        except SettingsError as error:
            told, is_wrong = [str(error)], True
        for sentence in told or ["valid"]:
            print_text(f"{reference}: {sentence}")
    if is_wrong:
        raise typer.Exit(2)


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(help="A preset's file, or a folder of SillyTavern's presets.")],
    force: Annotated[bool, typer.Option("--force", help="Replace presets of the same name.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Import SillyTavern's presets for text and chat completion, or a preset that somebody shared.

    The command says which values came over, and which have no counterpart.

    \b
    Examples:
      rolellm preset import "Midnight Enigma.json"
      rolellm preset import ~/SillyTavern/data/default-user/TextGen\\ Settings
      rolellm preset import storyteller.yaml
    """
    from rolellm_agents.errors import SettingsError
    from rolellm_agents.models.presets.importing import preset_files

    place = source.expanduser()
    files = preset_files(place) if place.is_dir() else [place]
    if not files:
        raise SettingsError(f"There is no preset in {source}; name a preset, or a folder of presets.")
    added = add_presets(files, force=force)
    if as_json:
        print_json([{**_as_json(one.found), "notes": list(one.notes)} for one in added])
    else:
        for one in added:
            tell_added(one)


def add_presets(files: list[Path], *, force: bool) -> "list[AddedPreset]":
    """Add presets to the user's own.

    Raises:
        SettingsError: a file is no preset, or cannot be written.
    """
    from rolellm_agents.models.presets.importing import add_preset

    return [add_preset(file, force=force) for file in files]


def tell_added(added: "AddedPreset") -> None:
    """Print what came over of a preset, and what did not."""
    preset = added.found.preset
    print_text(f"{added.found.id}: {preset.name} (preset)\n  {added.found.path}")
    print_text(f"  {listed_values(preset.values) or 'It sets no value.'}")
    for note in added.notes:
        print_text(f"  {note}")


@app.command("save")
def save(
    name: Annotated[str, typer.Argument(help="Name of the new preset.")],
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a preset of the same name.")] = False,
) -> None:
    """Save the sampling values that are in use now as a preset.

    \b
    Examples:
      rolellm preset save storyteller
      rolellm preset save storyteller --model llamacpp:smollm2
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.presets.importing import keep_preset
    from rolellm_agents.models.presets.using import present_preset

    kept = keep_preset(present_preset(load_settings(), name, model=model, base_url=base_url), force=force)
    print_text(str(kept.path))


def listed_values(values: "Mapping[str, object]") -> str:
    """Sampling values in one line."""
    return ", ".join(f"{name} {_shown(value)}" for name, value in values.items())


def _shown(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(repr, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _as_json(found: "FoundPreset") -> dict[str, object]:
    return {
        "id": found.id,
        "name": found.preset.name,
        "about": found.preset.about,
        "path": str(found.path),
        "values": found.preset.values,
    }
