"""Runs as a page and as Markdown: one self-contained file for people, another for programs.

`content` is what a report is made of, `rolebench`, `judged` and `interviewed` make it of runs, `page` and
`markdown` write it; plots are static SVG that lies in the page.
"""

from rolellm_agents.reports.content import Report
from rolellm_agents.reports.making import report_of
from rolellm_agents.reports.writing import write_report

__all__ = ["Report", "report_of", "write_report"]
