"""Pictures that matplotlib draws."""

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from rolellm_agents.files.pictures import LIGHT, colour_sheet, svg_file, svg_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(figure: "Figure") -> None:
    axes = figure.add_subplot(xlabel="孙悟空 <b> & $5 or $6")
    axes.plot([1, 2], [3, 4], color=LIGHT["s0"])


def test_the_same_figures_give_the_same_file() -> None:
    assert svg_picture(draw, 356, 200, "A line.") == svg_picture(draw, 356, 200, "A line.")


def test_text_is_text_and_markup_in_it_is_none() -> None:
    root = ET.fromstring(svg_file(svg_picture(draw, 356, 200, '"A" <line>')))  # noqa: S314  # our own text
    assert root.attrib["aria-label"] == '"A" <line>'
    assert "孙悟空 <b> & $5 or $6" in [element.text for element in root.iter()]


def test_colours_follow_the_screen() -> None:
    svg = svg_picture(draw, 356, 200, "A line.")
    assert "stroke: var(--s0)" in svg
    used = set(re.findall(r"var\(--(\w+)\)", svg))
    light, dark = (dict(re.findall(r"--(\w+): (#\w+)", part)) for part in colour_sheet().split("@media"))
    assert used <= light.keys() == dark.keys()
    assert all(light[name] != dark[name] for name in light)
    assert not set(light.values()) & set(re.findall(r"#\w{6}", svg))


def test_a_picture_has_no_date_and_no_name_of_a_group_that_another_picture_has() -> None:
    svg = svg_picture(draw, 356, 200, "A line.")
    assert "dc:date" not in svg
    other = svg_picture(lambda figure: draw(figure), 500, 300, "Another line.")
    names, others = (set(re.findall(r' id="([^"]+)"', text)) for text in (svg, other))
    assert not {name for name in names & others if not re.fullmatch(r"[mp][0-9a-f]{10}", name)}
