"""MkDocs hook: refuse a page that would load anything from the network."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

LOADED = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^>]*>""")
LINKED = re.compile(r"""<link\b(?![^>]*rel=["']?canonical)[^>]*\bhref=["']?(?:https?:)?//[^>]*>""")


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Look through a finished page."""
    if found := LOADED.search(output) or LINKED.search(output):
        raise PluginError(f"{page.file.src_uri} loads from the network: {found[0]}")
    return output
