"""Write a report: the page, the Markdown file, and the pictures of the Markdown file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.pictures import svg_file
from rolellm_agents.reports.content import Report
from rolellm_agents.reports.errors import ReportError
from rolellm_agents.reports.markdown_page import markdown_of, picture_name, plots_of
from rolellm_agents.reports.page import page_of

NAME: Final = "report.html"
_PAGES: Final = (".html", ".htm")


class ReportFiles(NamedTuple):
    """The files of a report."""

    page: Path
    markdown: Path
    pictures: list[Path]


def write_report(report: Report, to: Path) -> ReportFiles:
    """Write a report as a page and as Markdown.

    `to` is a file, which ends in .html, or a folder.

    Raises:
        ReportError: a file cannot be written.
    """
    page = to if to.suffix.lower() in _PAGES else to / NAME
    markdown = page.with_suffix(".md")
    folder = page.with_name(f"{page.stem}-pictures")
    pictures = dict(_pictures(report))
    for name, svg in pictures.items():
        write_atomically(folder / name, svg, ReportError)
    write_atomically(markdown, markdown_of(report, folder.name), ReportError)
    write_atomically(page, page_of(report), ReportError)
    return ReportFiles(page, markdown, [folder / name for name in pictures])


def _pictures(report: Report) -> Iterator[tuple[str, str]]:
    for number, chapter in enumerate(report.chapters, 1):
        for plot in plots_of(chapter):
            for place, panel in enumerate(plot.panels, 1):
                if panel.svg:
                    yield picture_name(number, plot, place), svg_file(panel.svg)
