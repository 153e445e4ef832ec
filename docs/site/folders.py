"""MkDocs hook: the pages of a folder go into the navigation by themselves, after those listed there."""

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

FOLDERS = {"Add your own": "extending", "Design": "design"}


def on_config(config: MkDocsConfig) -> None:
    """Append each folder's unlisted pages to its section; a section without pages is left out."""
    nav: list[Any] = config.nav or []
    for section, folder in FOLDERS.items():
        entry = next(entry for entry in nav if section in entry)
        listed = {page if isinstance(page, str) else next(iter(page.values())) for page in entry[section]}
        found = sorted((Path(config.docs_dir) / folder).glob("*.md"), key=lambda page: page.name)
        entry[section] += [
            f"{folder}/{page.name}" for page in found if f"{folder}/{page.name}" not in listed
        ]
    config.nav = [entry for entry in nav if list(entry.values()) != [[]]]
