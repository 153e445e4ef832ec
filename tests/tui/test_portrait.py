"""Faces: pictures of strangers made safe to draw, and initials where there is none."""

import os
import struct
import sys
import warnings
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import pytest
from helpers.cards import chunk
from helpers.hypotheses import examples
from helpers.library_app import LibraryApp, card, on_card, read
from helpers.piloting import shown, until
from helpers.user_files import ADA, write_persona
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from rich.color import Color as RichColor
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Static

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import FoundPersona, find_persona
from rolellm_tui.widgets.library import portrait as portrait_module
from rolellm_tui.widgets.library.pictures import SIDE, decode, fitted, half_blocks, load_portrait
from rolellm_tui.widgets.library.portrait import Portrait, find_pixels, initials

_KNOWN = {
    "PNG": ("RGB", "L", "P", "1"),
    "JPEG": ("RGB", "L", "CMYK"),
    "WEBP": ("RGB",),
    "GIF": ("RGB", "L", "P", "1"),
}
"""The modes in which a kind of file keeps its pixels."""
RED, BLUE = (200, 20, 20), (20, 20, 200)


def picture(width: int = 40, height: int = 60, form: str = "PNG", mode: str = "RGB") -> bytes:
    """A picture whose left half is red and whose right half is blue."""
    image = Image.new("RGB", (width, height), RED)
    image.paste(BLUE, (width // 2, 0, width, height))
    out = BytesIO()
    image.convert(mode).save(out, form)
    return out.getvalue()


def huge(width: int, height: int) -> bytes:
    """The head of a picture with so many pixels, and nothing behind it."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(b"\0" * 100))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body + chunk(b"IEND", b"")


def ada(content: bytes | None = None, name: str = "ada.png") -> FoundPersona:
    """Ada, whose portrait is this."""
    path = write_persona(f"{ADA}portrait: {name}\n")
    if content is not None:
        (path.parent / name).write_bytes(content)
    return find_persona("ada")


# Reading a picture


@pytest.mark.parametrize(
    ("form", "mode"),
    [(form, mode) for form in ("PNG", "JPEG", "WEBP", "GIF") for mode in _KNOWN[form]],
)
def test_a_picture_of_any_kind_becomes_small_pixels(form: str, mode: str) -> None:
    image = load_portrait(ada(picture(form=form, mode=mode)))
    assert image is not None
    assert (image.size, image.mode) == ((40, 60), "RGBA")
    left, right = image.getpixel((5, 30)), image.getpixel((35, 30))
    assert isinstance(left, tuple)
    assert isinstance(right, tuple)
    if mode == "RGB":
        assert left[0] > 150 > 60 > left[2]
        assert right[2] > 150 > 60 > right[0]
    assert mode == "1" or left != right


def test_a_large_picture_is_made_small_in_its_shape() -> None:
    image = load_portrait(ada(picture(3000, 1500)))
    assert image is not None
    assert image.size == (SIDE, SIDE // 2)


def test_a_picture_that_lies_on_its_side_is_put_upright() -> None:
    image, out = Image.new("RGB", (40, 20)), BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(out, "JPEG", exif=exif)
    assert decode(out.getvalue(), "x.jpg").size == (20, 40)


def test_who_has_no_portrait_has_none() -> None:
    assert load_portrait(find_persona("shrek")) is None


def test_a_file_that_is_too_large_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ada(b"")
    with (found.path.parent / "ada.png").open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    monkeypatch.setattr(Path, "read_bytes", lambda *_: pytest.fail("it was read"))
    with pytest.raises(
        PersonaError, match=r"^The portrait ada\.png is larger than 64 MiB; save it smaller\.$"
    ):
        load_portrait(found)


@pytest.mark.parametrize("warned", ["error", "ignore"])
@pytest.mark.parametrize("size", [(20_000, 20_000), (12_000, 9_000)])
def test_a_picture_with_too_many_pixels_is_refused_before_it_is_decoded(
    size: tuple[int, int], warned: Literal["error", "ignore"]
) -> None:
    # Pillow itself only warns of the smaller one.
    with warnings.catch_warnings():
        warnings.simplefilter(warned)
        with pytest.raises(
            PersonaError, match=r"ada\.png has more than 89 million pixels; save it smaller"
        ):
            load_portrait(ada(huge(*size)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "damaged"),
        (b"no picture at all", "damaged"),
        (picture()[:-30], "damaged"),
        (picture(form="BMP"), "damaged"),
        (None, "No such file"),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_sentence(content: bytes | None, reason: str) -> None:
    with pytest.raises(PersonaError, match=reason) as raised:
        load_portrait(ada(content))
    assert "ada.png" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.skipif(os.name == "nt", reason="no such files")
@pytest.mark.parametrize("name", [".", "pipe"])
def test_what_is_no_file_is_not_read(name: str) -> None:
    found = ada(name=name)
    if name == "pipe":
        os.mkfifo(found.path.parent / name)
    with pytest.raises(PersonaError, match="is not a file"):
        load_portrait(found)


def test_a_name_that_no_file_can_have_is_told() -> None:
    found = find_persona("shrek")
    odd = FoundPersona(found.persona.model_copy(update={"portrait": "\0"}), found.path, found.origin)
    with pytest.raises(PersonaError, match="cannot be"):
        load_portrait(odd)


@given(st.sampled_from(["PNG", "JPEG", "WEBP", "GIF"]), st.data())
def test_a_damaged_picture_is_drawn_or_told_and_nothing_else(form: str, data: st.DataObject) -> None:
    whole = bytearray(picture(8, 12, form))
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=6)):
        whole[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    try:
        image = decode(bytes(whole[:cut]), "x")
    except PersonaError:
        return
    assert max(image.size) <= SIDE


# Drawing it


@examples(1.5)
@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 60), st.integers(1, 40))
def test_a_picture_fills_its_box_in_one_direction_and_keeps_its_shape(
    width: int, height: int, columns: int, rows: int
) -> None:
    wide, high = fitted(width, height, columns, rows)
    assert 1 <= wide <= columns
    assert 1 <= high <= rows
    assert wide == columns or high == rows
    # A cell is twice as high as it is wide; nothing is off by more than a rounded cell.
    scale = min(columns / width, 2 * rows / height)
    assert wide == 1 or abs(wide - width * scale) <= 0.5
    assert high == 1 or abs(high - height * scale / 2) <= 0.5


def test_half_blocks_show_two_pixels_in_a_cell() -> None:
    image = Image.new("RGBA", (2, 4))
    colours = [(10 * n, 20 * n, 30 * n, 255) for n in range(8)]
    image.putdata(colours)
    lines = half_blocks(image, 2, 2, (0, 0, 0))
    drawn = [
        [(segment.text, segment.style.color, segment.style.bgcolor) for segment in line if segment.style]
        for line in lines
    ]
    rgb = [RichColor.from_rgb(*colour[:3]) for colour in colours]
    assert drawn == [
        [("▀", rgb[0], rgb[2]), ("▀", rgb[1], rgb[3])],
        [("▀", rgb[4], rgb[6]), ("▀", rgb[5], rgb[7])],
    ]


def test_what_is_transparent_shows_what_is_behind() -> None:
    (line,) = half_blocks(Image.new("RGBA", (3, 3), (255, 255, 255, 0)), 1, 1, (1, 2, 3))
    (segment,) = line
    assert segment.style is not None
    assert segment.style.color == segment.style.bgcolor == RichColor.from_rgb(1, 2, 3)


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("Sherlock Holmes", "SH"),
        ("The Dude", "D"),
        ("Dr. Hannibal Lecter", "HL"),
        ("D_Artagnan", "DA"),
        ("HAL 9000", "H"),
        ("Queen Elizabeth I", "QE"),
        ("The", "T"),
        ("孙悟空", "悟空"),
        ("李白", "李白"),
        ("élan vital", "ÉV"),
        ("Żółw", "Ż"),
        ("9000", "?"),
        ("🦊", "?"),
    ],
)
def test_initials(name: str, letters: str) -> None:
    assert initials(name) == letters


# On the screen


class Face(App[None]):
    def __init__(self, pixels: Callable[[Image.Image], Widget] | None = None) -> None:
        super().__init__()
        self.portrait = Portrait(pixels)
        self.failed: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.portrait

    def on_portrait_failed(self, event: Portrait.Failed) -> None:
        self.failed.append(event.sentence)

    def picture(self) -> Widget | None:
        return self.portrait.query(".picture").first() if self.portrait.query(".picture") else None

    def initials(self) -> str | None:
        block = self.portrait.query_one(".initials", Static)
        return shown(block) if block.display else None

    def drawn(self) -> Widget:
        """The picture, once it has a size."""
        picture = self.picture()
        assert picture is not None
        return picture


async def test_who_has_no_portrait_is_shown_by_initials_in_a_colour_of_their_own() -> None:
    app = Face()
    async with app.run_test() as pilot:
        tints = set()
        for persona in ("sherlock-holmes", "shrek", "sun-wukong", "angel", "po", "thor", "jack", "seth"):
            app.portrait.found = find_persona(persona)
            await pilot.pause()
            (tint,) = (one for one in app.portrait.query_one(".initials").classes if one.startswith("tint"))
            tints.add(tint)
        assert len(tints) > 2
        app.portrait.found = find_persona("sherlock-holmes")
        await pilot.pause()
        assert app.initials() == "S H"
        assert app.picture() is None


@pytest.mark.core
async def test_a_portrait_is_drawn_in_half_blocks_in_its_shape() -> None:
    app = Face()
    async with app.run_test() as pilot:
        app.portrait.found = ada(picture(40, 60))
        assert app.initials() is not None
        await until(pilot, lambda: app.picture() and app.drawn().size.width)
        assert app.drawn().size == (13, 10)
        assert app.initials() is None
        line = list(app.drawn().render_line(3))
        assert {segment.text for segment in line} == {"▀"}
        assert line[0].style is not None
        assert line[0].style.color == RichColor.from_rgb(*RED)
        app.portrait.box = (10, 8)
        await until(pilot, lambda: app.picture() and app.drawn().size.width == 10)


async def test_the_next_one_has_their_own_face() -> None:
    app = Face()
    async with app.run_test() as pilot:
        app.portrait.found = ada(picture())
        await until(pilot, lambda: app.initials() is None)
        app.portrait.found = find_persona("shrek")
        await until(pilot, lambda: app.initials() == "S")
        await until(pilot, lambda: app.picture() is None)
        # Who is passed over quickly is not drawn late over the next one.
        app.portrait.found = find_persona("ada")
        app.portrait.found = find_persona("angel")
        await pilot.pause(0.3)
        assert (app.initials(), app.picture()) == ("A", None)


async def test_real_pixels_are_used_where_the_terminal_has_them() -> None:
    given: list[Image.Image] = []

    def pixels(image: Image.Image) -> Widget:
        given.append(image)
        return Static("pixels")

    app = Face(pixels)
    async with app.run_test() as pilot:
        app.portrait.found = ada(picture(40, 60))
        await until(pilot, lambda: app.picture() and app.drawn().size.width)
        assert given[0].size == (40, 60)
        assert app.drawn().size.width == 13
        assert app.drawn().size.height <= 10


async def test_a_damaged_picture_leaves_the_initials_and_is_told() -> None:
    app = Face()
    async with app.run_test() as pilot:
        app.portrait.found = ada(b"no picture")
        await until(pilot, lambda: app.failed)
        assert app.initials() == "A"
        assert app.failed == [
            "The portrait ada.png is damaged, or not a PNG, JPEG, WebP or GIF picture; use another."
        ]


async def test_the_library_notes_a_damaged_picture_on_the_card_and_only_there() -> None:
    ada(b"no picture")
    async with LibraryApp().run_test(size=(120, 40)) as pilot:
        await read(pilot)
        await pilot.press(*"cartographer")
        await until(pilot, lambda: on_card(pilot) == "ada" and "damaged" in card(pilot, "note"))
        await pilot.press("escape")
        await until(pilot, lambda: on_card(pilot) == "abraham-lincoln")
        assert card(pilot, "note") == ""


# What the terminal can do


class Tty:
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_nothing_is_asked() -> None:
    ada(picture())
    assert find_pixels() is None


def test_without_a_picture_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    write_persona()
    monkeypatch.setattr(sys, "__stdin__", Tty())
    monkeypatch.setattr(sys, "__stdout__", Tty())
    monkeypatch.setitem(sys.modules, "textual_image.renderable", None)
    assert find_pixels() is None


def test_a_picture_of_ones_own_or_of_a_pack_is_a_reason_to_ask() -> None:
    assert not portrait_module._any_pictures()
    folder = user_paths().packs / "mine" / "personas"
    folder.mkdir(parents=True)
    assert not portrait_module._any_pictures()
    (folder / "face.webp").write_bytes(b"")
    assert portrait_module._any_pictures()
    (folder / "face.webp").unlink()
    ada(picture(), "ada.jpg")
    assert portrait_module._any_pictures()


def test_a_terminal_that_only_claims_to_draw_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    ada(picture())
    monkeypatch.setattr(sys, "__stdin__", Tty())
    monkeypatch.setattr(sys, "__stdout__", Tty())
    monkeypatch.setitem(sys.modules, "textual_image.renderable", None)
    with pytest.raises(ImportError):
        find_pixels()
    monkeypatch.setenv("TERM_PROGRAM", "WarpTerminal")
    assert find_pixels() is None


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_card_with_a_portrait_looks_as_it_did(size: tuple[int, int], snap_compare: SnapCompare) -> None:
    ada(picture())

    async def look(pilot: Pilot[Any]) -> None:
        await read(pilot)
        await pilot.press(*"cartographer")
        await until(pilot, lambda: on_card(pilot) == "ada")
        await pilot.press("f3")
        await until(pilot, lambda: pilot.app.screen.query(".picture"))
        await until(pilot, lambda: pilot.app.screen.query(".picture").first().size.width)

    assert snap_compare(LibraryApp(), run_before=look, terminal_size=size)


def test_the_path_of_a_portrait_is_beside_its_persona(tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.yaml"
    path.write_text(f"{ADA}portrait: faces/ada.png\n")
    (tmp_path / "faces").mkdir()
    (tmp_path / "faces" / "ada.png").write_bytes(picture())
    assert load_portrait(find_persona(path)) is not None
