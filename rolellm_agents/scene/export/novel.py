"""Write a scene as a page of a novel: one self-contained HTML file for screens and for paper."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

from rolellm_agents.scene.export.parts import STRESSED, THOUGHT, UNSTRESSED, UNTHOUGHT, clean
from rolellm_agents.scene.export.people import cast_of, name_of
from rolellm_agents.scene.export.prose import ProseParagraph, paragraphs_of
from rolellm_agents.scene.export.signs import printed
from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.loading import LoadedScene
from rolellm_agents.text.language import Language

_MARKS = {
    STRESSED: "<em>",
    UNSTRESSED: "</em>",
    THOUGHT: '<em class="thought">',
    UNTHOUGHT: "</em>",
    "\n": '<br><span class="verse"></span>',
}
_BETWEEN: dict[Language, str] = {"en": " · ", "zh": "　"}
_LANGUAGE: dict[Language, str] = {"en": "en", "zh": "zh-Hans"}


def write_novel(loaded: LoadedScene, lines: Sequence[SceneLine]) -> str:
    """Write a page that tells the scene as a story, from templates and without a model.

    The page is deterministic. Texts are escaped, and its content security policy forbids scripts and
    external resources.

    The lines are all lines, or those that one seat witnessed (`as_seen_by`).
    """
    scene = loaded.scene
    names = [name_of(loaded, seat.id) for seat in cast_of(loaded, lines)]
    page = Template(files(__package__).joinpath("novel.html").read_text(encoding="utf-8"))
    return page.substitute(
        language=_LANGUAGE[scene.language],
        title=_html(scene.title),
        setting=_html(scene.setting),
        time=_html(scene.time),
        story="\n".join(map(_paragraph, paragraphs_of(loaded, lines))),
        cast=_BETWEEN[scene.language].join(f"<span>{_html(name)}</span>" for name in names),
    )


def _paragraph(paragraph: ProseParagraph) -> str:
    section = "<hr>\n" if paragraph.begins_section else ""
    html = escape(paragraph.text, quote=False)
    for sign, mark in _MARKS.items():
        html = html.replace(sign, mark)
    return f"{section}<p>{html}</p>"


def _html(text: str) -> str:
    return escape(printed(clean(text)))
