"""`rolellm persona`: list, show, check and build personas, and exchange them as cards and packs."""

from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.persona import pack
from rolellm_tui.cli.persona.build import build
from rolellm_tui.cli.persona.card import diff, export, import_, lint, lore
from rolellm_tui.cli.persona.check import check
from rolellm_tui.output import complain, print_json, print_table, print_text

app = typer.Typer(
    name="persona",
    help="List, show, check, build, import and export personas.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("check")(check)
app.command("build")(build)
app.command("import")(import_)
app.command("export")(export)
app.command("lore")(lore)
app.command("lint")(lint)
app.command("diff")(diff)
app.add_typer(pack.app)


@app.command("list")
def list_(
    language: Annotated[
        str | None, typer.Option("--language", help="Only this language: en or zh.")
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="Only this category, for example thinker.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List all personas: the bundled ones and those in your folder.

    \b
    Examples:
      rolellm persona list --language zh
      rolellm persona list --json
    """
    from rolellm_agents.persona import filter_personas, list_personas

    cast = list_personas()
    found = list(filter_personas(cast.found, language=language, category=category))
    if as_json:
        print_json(
            [
                {
                    "id": one.persona.id,
                    "name": one.persona.name,
                    "language": one.persona.language,
                    "category": one.persona.category,
                    "tags": list(one.persona.tags),
                    "source": one.persona.source.model_dump() if one.persona.source else None,
                    "demonstrations": len(one.persona.demonstrations),
                    "origin": one.origin,
                    "path": str(one.path),
                }
                for one in found
            ]
        )
    else:
        print_table(
            ("ID", "NAME", "LANGUAGE", "CATEGORY", "FROM"),
            (
                (
                    one.persona.id,
                    one.persona.name,
                    one.persona.language,
                    one.persona.category,
                    f"{one.persona.source.work}, {one.persona.source.year}" if one.persona.source else "",
                )
                for one in found
            ),
        )
    for note in cast.notes:
        complain(note)


@app.command("show")
def show(
    persona: Annotated[str, typer.Argument(help="Persona id, name or file.")],
    as_json: JsonOption = False,
) -> None:
    """Show a persona.

    \b
    Examples:
      rolellm persona show hal-9000
      rolellm persona show ./my-persona.yaml --json
    """
    from rolellm_agents.persona import find_persona

    found = find_persona(persona)
    one = found.persona
    if as_json:
        print_json({**one.model_dump(mode="json"), "path": str(found.path)})
        return
    source = f" · {one.source.work}, {one.source.year}" if one.source else ""
    print_text(f"{one.name}  ({one.id} · {one.language} · {one.category}{source})")
    print_text(f"{found.path}\n\n{one.description}\n")
    if one.moment:
        print_text(f"At this moment: {one.moment}\n")
    if one.catchphrases:
        print_text("Catchphrases: " + " · ".join(one.catchphrases) + "\n")
    if one.greeting:
        print_text(f"Greeting: {one.greeting}\n")
    for pair in one.demonstrations:
        print_text(f"  You: {pair.user}\n  {one.name}: {pair.reply}\n")
    for piece in one.knowledge:
        print_text(f"  [{piece.title}] {piece.text}\n")
