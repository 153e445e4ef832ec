"""Pictures recognised by their heads, as Pillow recognises them."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from rolellm_agents.files.picture_head import PictureHead, picture_head

FORMATS = {"png": "PNG", "jpg": "JPEG", "webp": "WEBP", "gif": "GIF"}


def picture(form: str, width: int, height: int, **options: object) -> bytes:
    out = BytesIO()
    mode = "RGBA" if options.pop("alpha", False) else "RGB"
    Image.new(mode, (width, height), (200, 20, 20)).save(out, FORMATS[form], **options)
    return out.getvalue()


@pytest.mark.parametrize("size", [(1, 1), (40, 60), (300, 2), (1, 5000)])
@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("png", {}),
        ("jpg", {}),
        ("jpg", {"progressive": True, "exif": b"Exif\0\0" + b"x" * 3000, "comment": b"\xff\xc0" * 40}),
        ("webp", {}),
        ("webp", {"lossless": True}),
        ("webp", {"alpha": True, "exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0"}),
        ("gif", {}),
    ],
)
def test_format_and_size_are_those_of_the_picture(
    form: str, options: dict[str, object], size: tuple[int, int]
) -> None:
    assert picture_head(picture(form, *size, **options)) == PictureHead(form, *size)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no picture",
        b"\x89PNG\r\n\x1a\n",
        b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x0dIDAT" + b"\1" * 20,
        picture("png", 4, 4)[:20],
        b"\xff\xd8\xff\xe0 a jpeg that ends",
        b"\xff\xd8\xff\xda\xff\xc0" + b"\1" * 20,
        picture("gif", 4, 4)[:8],
        b"GIF89a\0\0\0\0",
        b"RIFF\0\0\0\0WEBPVP8 ",
        b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8,
        b"RIFF\0\0\0\0WEBPXXXX" + b"\1" * 30,
        b"RIFF\0\0\0\0AVI " + b"\1" * 30,
        b"root:x:0:0:root:/root:/bin/bash\n",
    ],
)
def test_what_is_no_picture_has_no_head(content: bytes) -> None:
    assert picture_head(content) is None


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_a_damaged_picture_has_a_head_or_none(form: str, data: st.DataObject) -> None:
    whole = bytearray(picture(form, 8, 12))
    for place in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=6)):
        whole[place] = data.draw(st.integers(0, 255))
    head = picture_head(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
    assert head is None or min(head.width, head.height) > 0
