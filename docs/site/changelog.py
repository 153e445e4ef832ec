"""MkDocs hook: CHANGELOG.md as a page, with links as they must be inside the site."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the page."""
    text = CHANGELOG.read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "changelog.md", content=text))
