"""MkDocs hook: one page for each package and room that has public names, from their docstrings."""

import ast
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
FOLDER = "reference/api"
INDEX = "reference/README.md"
PACKAGES = ("rolellm_agents", "graphs/rolellm_graphs", "train/rolellm_train")


def on_config(config: MkDocsConfig) -> None:
    """Put the pages into the navigation."""
    reference = next(entry["Reference"] for entry in config.nav or [] if "Reference" in entry)
    entry = next(entry for entry in reference if "API" in entry)
    entry["API"] = [{module: f"{FOLDER}/{module}.md"} for module in public_names()]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages to the site."""
    for module, names in public_names().items():
        members = "".join(f"        - {name}\n" for name in names)
        text = f"# {module}\n\n::: {module}\n    options:\n      show_root_heading: false\n"
        text += f"      show_root_toc_entry: false\n      members:\n{members}"
        files.append(File.generated(config, f"{FOLDER}/{module}.md", content=text))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Append links to the pages to the page about the reference, which exists without the site, too."""
    if page.file.src_uri != INDEX:
        return markdown
    links = "".join(f"- [`{module}`](api/{module}.md)\n" for module in public_names())
    return f"{markdown}\n## API\n\n{links}"


def public_names() -> dict[str, list[str]]:
    """The names in `__all__` of each module that has one, in the order of the packages."""
    found = {}
    for package in PACKAGES:
        root = ROOT / package
        for file in sorted(root.rglob("__init__.py"), key=lambda file: file.parent.parts):
            if names := sorted(listed(file)):
                found[".".join((root.name, *file.parent.relative_to(root).parts))] = names
    return found


def listed(file: Path) -> Iterator[str]:
    """The names in a file's `__all__`."""
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            yield from ast.literal_eval(statement.value)
