"""MkDocs hook: draw Mermaid's sequence diagrams as SVG, so that no script has to be loaded.

It knows what the pages use: `participant`, messages with solid and dotted arrows, and `loop`.
"""

import re
from html import escape

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

BLOCK = re.compile(r"^```mermaid\nsequenceDiagram\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PARTICIPANT = re.compile(r"participant (\w+)(?: as (.*))?")
MESSAGE = re.compile(r"(\w+)(--?)>>(\w+): (.*)")
LEFT, TOP, COLUMN, ROW = 80, 50, 170, 34
STYLE = (
    "<style>.seq text{font:12px sans-serif;fill:#1d2233}.seq path,.seq rect{stroke:#4051b5;fill:none}"
    ".seq .head{fill:#eef1fb}.seq .life{stroke:#9aa5d8}.seq .dotted{stroke-dasharray:5 4}</style>"
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto">'
    '<path d="M0 0L8 4L0 8z" style="fill:#4051b5;stroke:none"/></marker></defs>'
    '<rect width="100%" height="100%" style="fill:#fff;stroke:none"/>'
)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put a drawing in the place of each sequence diagram."""
    return BLOCK.sub(lambda found: sequence_diagram(found[1]), markdown)


def sequence_diagram(source: str) -> str:
    """The diagram as SVG inside an HTML block."""
    columns: dict[str, int] = {}
    heads, body = [], []
    y, loop_began = TOP + ROW, 0
    for line in filter(None, map(str.strip, source.splitlines())):
        if found := PARTICIPANT.match(line):
            columns[found[1]] = LEFT + COLUMN * len(columns)
            heads.append(head(columns[found[1]], found[2] or found[1]))
        elif found := MESSAGE.match(line):
            body.append(arrow(columns[found[1]], columns[found[3]], y, found[2] == "--", found[4]))
            y += ROW
        elif line.startswith("loop"):
            body.append(f'<text x="12" y="{y}">{escape(line)}</text>')
            loop_began = y - 18
            y += ROW
        elif line == "end":
            width = LEFT + COLUMN * len(columns) - 20
            body.append(
                f'<rect x="4" y="{loop_began}" width="{width}" height="{y - loop_began - 14}" rx="6"/>'
            )
            y += 10
    lives = [f'<path class="life" d="M{x} {TOP - 8}V{y}"/>' for x in columns.values()]
    size = f'viewBox="0 0 {LEFT + COLUMN * len(columns) + 60} {y + 10}"'
    drawing = "".join((STYLE, *lives, *heads, *body))
    return f'<div><svg class="seq" xmlns="http://www.w3.org/2000/svg" {size}>{drawing}</svg></div>'


def head(x: int, title: str) -> str:
    """A participant's box."""
    box = f'<rect class="head" x="{x - 76}" y="14" width="152" height="28" rx="5"/>'
    return f'{box}<text x="{x}" y="32" text-anchor="middle">{escape(title)}</text>'


def arrow(start: int, end: int, y: int, dotted: bool, text: str) -> str:
    """A message from one participant to another, or to itself."""
    line = f"M{start} {y}H{end}" if start != end else f"M{start} {y - 8}h28v14h-26"
    kind = ' class="dotted"' if dotted else ""
    if start == end:
        at, above, anchor = start + 36, y + 3, "start"
    else:
        at, above, anchor = (start + end) // 2, y - 6, "middle"
    label = f'<text x="{at}" y="{above}" text-anchor="{anchor}">{escape(text)}</text>'
    return f'<path{kind} d="{line}" marker-end="url(#tip)"/>{label}'
