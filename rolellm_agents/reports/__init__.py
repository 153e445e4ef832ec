"""Reports of runs as one self-contained HTML page and as Markdown.

`content` defines the parts of a report. `rolebench`, `judged` and `interviewed` build chapters from runs.
`page` and `markdown_page` render a report; plots are static SVG inside the page.
"""

from rolellm_agents.reports.content import Report
from rolellm_agents.reports.making import report_of
from rolellm_agents.reports.writing import write_report

__all__ = ["Report", "report_of", "write_report"]
