"""`rolellm persona import`, `export`, `lore`, `lint` and `diff`: character cards and lorebooks."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, print_json, print_text

if TYPE_CHECKING:
    from rolellm_agents.cards import Activation, Change, LoreEntry
    from rolellm_agents.persona.from_card.files import ImportedFile


class CardFormat(StrEnum):
    """Formats of a card."""

    json = "json"
    png = "png"
    charx = "charx"
    yaml = "yaml"


class CardVersion(StrEnum):
    """Versions of the card specification."""

    v2 = "v2"
    v3 = "v3"


_SUFFIX_FORMATS = {".json": "json", ".png": "png", ".apng": "png", ".charx": "charx", ".yaml": "yaml"}


def import_(
    source: Annotated[Path, typer.Argument(help="A card, a lorebook, or a folder of them.")],
    to: Annotated[
        Path | None, typer.Option("--to", help="Output folder. Default: your own personas.", metavar="DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Import character cards (V1, V2 and V3 in JSON, PNG, APNG and CharX) and lorebooks.

    Quick Reply sets of SillyTavern become commands in your commands.yaml, its sampler presets become yours.
    Also reads Voxta packages, Pygmalion, Agnai and CharacterGLM, and lorebooks without a character
    (SillyTavern's world info, Agnai, RisuAI, NovelAI). Imports are lossless and use no network.

    \b
    Examples:
      rolellm persona import seraphina.png
      rolellm persona import ~/SillyTavern/characters --to ./cast
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.errors import PersonaError
    from rolellm_agents.models.presets.importing import preset_files
    from rolellm_agents.persona.from_card.files import card_files
    from rolellm_tui.cli.preset import add_presets, tell_added
    from rolellm_tui.slash.quick_reply_sets import quick_reply_sets

    sets = quick_reply_sets(source.expanduser())
    presets = preset_files(source.expanduser())
    personas, lorebooks = (to, to / "lorebooks") if to else (user_paths().personas, user_paths().lorebooks)
    files = [file for file in card_files(source.expanduser()) if file not in (*sets, *presets)]
    if not files and not sets and not presets:
        raise PersonaError(f"There is no card in {source}; name a card, or a folder of cards.")
    imported, refused = _import_all(files, personas, lorebooks, force=force)
    commands = _import_sets(sets)
    added = add_presets(presets, force=force)
    if as_json:
        print_json(
            [
                *map(_imported_as_json, imported),
                *({"command": name} for name in commands),
                *({"preset": one.found.id, "notes": list(one.notes)} for one in added),
            ]
        )
    else:
        if sets:
            print_text(f"Imported {len(commands)} commands into {user_paths().commands_file}.")
        for one in imported:
            lore = f", {one.lore} lore entries" if one.lore else ""
            print_text(f"{one.id}: {one.name} ({one.kind}{lore})\n  {one.path}")
            for note in one.notes:
                print_text(f"  {note}")
        for preset in added:
            tell_added(preset)
    for sentence in refused:
        complain(sentence)
    if refused:
        raise typer.Exit(2)


def _import_sets(sets: list[Path]) -> list[str]:
    """Import Quick Reply sets as commands; the names of the commands. Tells what was left out."""
    from rolellm_tui.slash.quick_reply_sets import import_quick_replies

    names: list[str] = []
    for file in sets:
        replies = import_quick_replies(file)
        names += replies.names
        for sentence in replies.notes:
            complain(sentence)
    return names


def _import_all(
    files: list[Path], personas: Path, lorebooks: Path, *, force: bool
) -> "tuple[list[ImportedFile], list[str]]":
    """Import files, with progress if there are many. Invalid files are reported at the end."""
    from rich.console import Console
    from rich.progress import track

    from rolellm_agents.errors import PersonaError
    from rolellm_agents.persona.from_card.files import import_file

    imported: list[ImportedFile] = []
    refused: list[str] = []
    console = Console(stderr=True)
    few = len(files) < 20 or not console.is_terminal
    for file in track(files, "Importing", console=console, transient=True, disable=few):
        try:
            imported += import_file(file, personas, lorebooks, force=force)
        except PersonaError as error:
            refused.append(str(error))
    return imported, refused


def _imported_as_json(one: "ImportedFile") -> dict[str, Any]:
    return {
        "kind": one.kind,
        "id": one.id,
        "name": one.name,
        "path": str(one.path),
        "lore": one.lore,
        "notes": list(one.notes),
    }


def export(
    persona: Annotated[str, typer.Argument(help="Persona id, name or file, or a card.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Output file.")],
    format_: Annotated[
        CardFormat | None, typer.Option("--format", help="File format. Default: by the name of the file.")
    ] = None,
    spec: Annotated[
        CardVersion, typer.Option("--spec", help="Version of the card specification.")
    ] = CardVersion.v3,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Export a persona as a character card or as YAML.

    \b
    Examples:
      rolellm persona export sherlock-holmes --out holmes.png
      rolellm persona export seraphina --format charx --out seraphina.charx
      rolellm persona export seraphina --format json --spec v2 --out seraphina.json
    """
    from rolellm_agents.cards import lost_fields
    from rolellm_agents.errors import PersonaError
    from rolellm_agents.persona.from_card.files import export_persona, open_persona

    chosen = format_.value if format_ else _SUFFIX_FORMATS.get(out.suffix.lower())
    if chosen is None:
        raise PersonaError(
            f"The format of {out.name} is unknown; name it with --format json, png, charx or yaml."
        )
    if out.exists() and not force:
        raise PersonaError(f"{out} already exists; name another file, or overwrite it with --force.")
    with open_persona(persona) as found:
        card = export_persona(found, CardFormat(chosen).value, spec.value, out)
    print_text(str(out))
    if chosen not in ("yaml", "charx"):
        lost = lost_fields(card.document, spec.value)
        if lost:
            complain(f"Other programs ignore, in {spec.value}: {', '.join(lost)}. Our import restores it.")


def lore(
    persona: Annotated[str, typer.Argument(help="Persona id, name or file, a card, or a lorebook file.")],
    text: Annotated[
        list[str], typer.Option("--text", help="A line of the chat, oldest first. Repeatable.")
    ],
    all_: Annotated[
        bool, typer.Option("--all", help="Also show why the other entries were not activated.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show which lorebook entries a text activates, with their keys.

    \b
    Examples:
      rolellm persona lore seraphina --text "What is Eldoria?"
      rolellm persona lore eldoria.json --text "Tell me of the Shadowfangs" --all
    """
    activation = _activate(persona, text)
    if as_json:
        print_json(_lore_as_json(activation))
        return
    for fired in activation.fired:
        place = (
            f"at depth {fired.depth} as {fired.role}" if fired.position == "at_depth" else fired.position
        )
        print_text(f"{_title(fired.entry)}  ({place.replace('_', ' ')}, {fired.tokens} tokens)")
        print_text(f"  {_why(activation, fired.book, fired.entry.uid)}")
        print_text("\n".join(f"  | {line}" for line in fired.content.splitlines()))
    if not activation.fired:
        print_text("No entry fires.")
    if all_:
        for trace in activation.traces:
            if not trace.active:
                print_text(f"- {trace.name or trace.uid}: {trace.sentence()}")
    print_text(f"{activation.spent} of {activation.budget} tokens.")


def _title(entry: "LoreEntry") -> str:
    """An entry's name, or its first keys."""
    return entry.name or ", ".join(entry.keys[:3]) or entry.uid


def _why(activation: "Activation", book: str, uid: str) -> str:
    return next(
        (trace.sentence() for trace in activation.traces if (trace.book, trace.uid) == (book, uid)), ""
    )


def _lore_as_json(activation: "Activation") -> dict[str, Any]:
    return {
        "fired": [
            {
                "uid": fired.entry.uid,
                "name": fired.entry.name,
                "content": fired.content,
                "position": fired.position,
                "depth": fired.depth,
                "role": fired.role,
                "tokens": fired.tokens,
            }
            for fired in activation.fired
        ],
        "entries": [
            {
                "uid": trace.uid,
                "name": trace.name,
                "active": trace.active,
                "why": trace.why,
                "key": trace.key,
                "message": trace.message,
                "round": trace.round,
                "sentence": trace.sentence(),
            }
            for trace in activation.traces
        ],
        "budget": activation.budget,
        "spent": activation.spent,
    }


def _activate(persona: str, lines: list[str]) -> "Activation":
    from langchain_core.messages import HumanMessage

    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.errors import PersonaError
    from rolellm_agents.persona.from_card.files import open_persona
    from rolellm_agents.persona.user_persona import current_user_persona
    from rolellm_agents.recall import LoreRecall

    with open_persona(persona) as found:
        recall = LoreRecall(found.persona, user=current_user_persona(load_settings()).name)
    if not recall.entries:
        raise PersonaError(f"{found.persona.name} has no lorebook; name a persona or a file with one.")
    if recall.note:
        complain(recall.note)
    *before, last = lines
    return recall.activate([HumanMessage(line) for line in before], last, {})


def lint(
    card: Annotated[str, typer.Argument(help="A card, or a persona's id, name or file.")],
    as_json: JsonOption = False,
) -> None:
    """Check a card against the specification and list what other programs drop; count tokens by part.

    \b
    Examples:
      rolellm persona lint seraphina.png
      rolellm persona lint seraphina --json
    """
    from rolellm_agents.cards import lint as lint_card
    from rolellm_agents.cards import tokens_by_part
    from rolellm_agents.persona.from_card.files import read_card

    one = read_card(card)
    findings = lint_card(one)
    tokens = tokens_by_part(one, _count_tokens())
    if as_json:
        from dataclasses import asdict

        print_json({"findings": [asdict(finding) for finding in findings], "tokens": tokens})
    else:
        for finding in findings:
            print_text(f"{finding.level}: {finding.where}: {finding.message}  [{finding.rule}]")
        print_text(f"{len(findings) or 'Nothing'} found in {one.name}.")
        print_text("Tokens: " + ", ".join(f"{part} {count:,}" for part, count in tokens.items() if count))
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(2)


def diff(
    old: Annotated[str, typer.Argument(help="A card, or a persona's id, name or file.")],
    new: Annotated[str, typer.Argument(help="Another card or persona.")],
    as_json: JsonOption = False,
) -> None:
    """Show the differences between two cards, side by side. Exits with 1 if there are any.

    \b
    Examples:
      rolellm persona diff seraphina-v1.png seraphina-v2.png
    """
    from rolellm_agents.cards import diff as diff_cards
    from rolellm_agents.persona.from_card.files import read_card

    changes = diff_cards(read_card(old), read_card(new))
    if as_json:
        from dataclasses import asdict

        print_json([asdict(change) for change in changes])
    else:
        for change in changes:
            _print_change(change)
        print_text(f"{len(changes) or 'No'} differences." if len(changes) != 1 else "1 difference.")
    if changes:
        raise typer.Exit(1)


def _print_change(change: "Change") -> None:
    import shutil

    from rolellm_agents.cards.diff import side_by_side

    width = min(160, shutil.get_terminal_size((120, 24)).columns)
    print_text(f"{change.where}: {change.kind}")
    for left, right in side_by_side(change, (width - 5) // 2):
        print_text(f"  {left:<{(width - 5) // 2}} | {right}")


def _count_tokens() -> Any:
    """Count tokens with the embedded model's tokenizer; other models' counts are similar."""
    from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
    from rolellm_agents.models.llamacpp.model import LlamaModel

    model = LlamaModel(embedded_gguf())
    return lambda words: len(model.tokenize(words, add_special=False))
