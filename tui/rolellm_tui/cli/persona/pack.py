"""`rolellm persona pack`: list, show, install and remove packs of personas and scenes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, print_json, print_table, print_text
from rolellm_tui.widgets.common.formatting import counted

if TYPE_CHECKING:
    from rolellm_agents.persona.packs import Pack

app = typer.Typer(
    name="pack",
    help="List, show, install and remove packs of personas and scenes.",
    epilog=(
        "\b\nA pack is a folder or a zip file:\n"
        "  pack.yaml          name, version, licence, description\n"
        "  personas/*.yaml\n"
        "  scenes/*.yaml"
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the installed packs and the bundled one.

    \b
    Examples:
      rolellm persona pack list
      rolellm persona pack list --json
    """
    from rolellm_agents.persona.packs import bundled_pack, installed_packs

    packs, complaints = installed_packs()
    if as_json:
        print_json([_as_json(pack) for pack in (*packs, bundled_pack())])
    else:
        print_table(
            ("NAME", "VERSION", "LICENCE", "PERSONAS", "SCENES", "PATH"),
            (
                (
                    pack.manifest.name,
                    pack.manifest.version,
                    pack.manifest.licence,
                    str(len(pack.personas)),
                    str(len(pack.scenes)),
                    str(pack.folder),
                )
                for pack in (*packs, bundled_pack())
            ),
        )
    for complaint in complaints.values():
        complain(complaint)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Name of the pack, as in “pack list”.")],
    as_json: JsonOption = False,
) -> None:
    """Show a pack, and the models and files that its personas and scenes name.

    Models that a pack names are used only after you agree.

    \b
    Examples:
      rolellm persona pack show shakespeare
      rolellm persona pack show shakespeare --json
    """
    from rolellm_agents.persona.packs import pack_named

    pack = pack_named(name)
    if as_json:
        print_json({**_as_json(pack), "names": _names(pack)})
        return
    manifest = pack.manifest
    print_text(f"{manifest.name} {manifest.version}. Licence: {manifest.licence}\n{pack.folder}")
    if manifest.description:
        print_text(manifest.description)
    print_text(f"Personas: {', '.join(path.stem for path in pack.personas) or 'none'}")
    print_text(f"Scenes: {', '.join(path.stem for path in pack.scenes) or 'none'}")
    _print_names(pack)


@app.command("install")
def install(
    source: Annotated[Path, typer.Argument(help="The pack: a folder or a zip file.")],
    as_json: JsonOption = False,
) -> None:
    """Install a pack. It replaces an installed pack of the same name.

    \b
    Examples:
      rolellm persona pack install shakespeare.zip
      rolellm persona pack install ./my-pack
    """
    from rolellm_agents.persona import list_personas
    from rolellm_agents.persona.pack_installation import install_pack

    pack, replaced = install_pack(source.expanduser())
    if as_json:
        print_json({**_as_json(pack), "names": _names(pack)})
    else:
        before = f" (replaced {replaced.manifest.version})" if replaced else ""
        size = f"{counted(len(pack.personas), 'persona')}, {counted(len(pack.scenes), 'scene')}"
        manifest = pack.manifest
        print_text(f"{manifest.name} {manifest.version}{before}: {size}. Licence: {manifest.licence}")
        _print_names(pack)
    for note in list_personas().notes:
        if str(pack.folder) in note:
            complain(note)


@app.command("remove")
def remove(name: Annotated[str, typer.Argument(help="Name of the pack, as in “pack list”.")]) -> None:
    """Remove an installed pack. Conversations with its personas are kept.

    \b
    Example:
      rolellm persona pack remove shakespeare
    """
    from rolellm_agents.persona.pack_installation import remove_pack

    pack = remove_pack(name)
    print_text(f"{pack.manifest.name} {pack.manifest.version} was removed.")


def _as_json(pack: "Pack") -> dict[str, Any]:
    return {
        **pack.manifest.model_dump(),
        "personas": [path.stem for path in pack.personas],
        "scenes": [path.stem for path in pack.scenes],
        "path": str(pack.folder),
    }


def _names(pack: "Pack") -> list[dict[str, str]]:
    from dataclasses import asdict

    from rolellm_agents.scene.pack_contents import named_in_pack

    return [asdict(one) for one in named_in_pack(pack)]


def _print_names(pack: "Pack") -> None:
    for one in _names(pack):
        print_text(f"  {one['file']}, {one['place']}: {one['named']} {one['reach']}.")
