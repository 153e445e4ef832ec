"""Render a report as one self-contained HTML page."""

from importlib.resources import files
from typing import Any

from rolellm_agents.files.pictures import ADVICE, colour_sheet
from rolellm_agents.reports.content import Report
from rolellm_agents.text import plain


def page_of(report: Report) -> str:
    """Render the page: no scripts, no external resources, all text escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=finalize,
    )
    template = environment.get_template("report.html.jinja")
    style = colour_sheet() + (files(__package__) / "templates" / "report.css").read_text(encoding="utf-8")
    return template.render(report=report, style=style, advice=ADVICE).strip() + "\n"
