"""`rolellm persona pack`: list, install and remove packs of personas and scenes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.persona.packs import Pack

app = typer.Typer(
    name="pack",
    help="List, install and remove packs of personas and scenes.",
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
        print_json(_as_json(pack))
    else:
        before = f" (replaced {replaced.manifest.version})" if replaced else ""
        print_text(
            f"{pack.manifest.name} {pack.manifest.version}{before}: {len(pack.personas)} personas, "
            f"{len(pack.scenes)} scenes. Licence: {pack.manifest.licence}"
        )
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
