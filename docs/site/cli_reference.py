"""MkDocs hook: one page for each command of `rolellm`, made from its help when the site is built."""

import re
from collections.abc import Iterator
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from rolellm_tui.cli.main import app

FOLDER = "reference/cli"
INDEX = "reference/README.md"
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def on_config(config: MkDocsConfig) -> None:
    """Put the pages into the navigation."""
    reference = next(entry["Reference"] for entry in config.nav or [] if "Reference" in entry)
    entry = next(entry for entry in reference if "Command line" in entry)
    entry["Command line"] = [{f"rolellm {name}": f"{FOLDER}/{name}.md"} for name in sorted(COMMANDS)]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages to the site."""
    for name, command in COMMANDS.items():
        text = "\n\n".join(command_page(command, f"rolellm {name}", level=1))
        files.append(File.generated(config, f"{FOLDER}/{name}.md", content=text))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Append links to the pages to the page about the reference, which exists without the site, too."""
    if page.file.src_uri != INDEX:
        return markdown
    links = "".join(f"- [`rolellm {name}`](cli/{name}.md)\n" for name in sorted(COMMANDS))
    return f"{markdown}\n## Command line\n\n{links}"


def command_page(command: Any, path: str, level: int) -> Iterator[str]:
    """The Markdown paragraphs of a command, and of the commands below it."""
    context = command.make_context(path, [], resilient_parsing=True)
    yield f"{'#' * level} {path}"
    usage = " ".join(command.collect_usage_pieces(context))
    about, examples = help_parts(command)
    yield about
    yield f"```text\n{path} {usage}\n```"
    if examples:
        yield f"**Examples**\n\n```sh\n{examples}\n```"
    rows = [record for parameter in command.params if (record := help_record(parameter, context))]
    if rows:
        lines = (f"| {names} | {text} |" for names, text in rows)
        yield "\n".join(["| Option or argument | Meaning |", "| --- | --- |", *lines])
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from command_page(below, f"{path} {name}", level + 1)


def help_parts(command: Any) -> tuple[str, str]:
    """A command's help as Markdown, and the shell lines of its examples."""
    text = "\n\n".join(filter(None, (command.help, command.epilog))).replace("\f", "")
    about, _, examples = text.partition("\b\nExamples:\n")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    return about.replace("\b\n", "").strip(), "\n".join(lines)


def help_record(parameter: Any, context: Any) -> tuple[str, str] | None:
    """How an option or argument is written, and what it means; None where the help hides it."""
    record = parameter.get_help_record(context)
    if record is None or "--help" in record[0]:
        return None
    return f"`{cell(record[0])}`", escaped(cell(record[1]))


def cell(text: str) -> str:
    """Text for one cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def escaped(text: str) -> str:
    """Plain text whose signs Markdown and HTML leave alone."""
    return re.sub(r"([\\`*_\[\]])", r"\\\1", text.replace("<", "&lt;"))
