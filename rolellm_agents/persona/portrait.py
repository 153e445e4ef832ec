"""The portrait of a persona, which may come from an unknown source."""

from pathlib import Path

from rolellm_agents.errors import PersonaError
from rolellm_agents.files.contained import read_contained
from rolellm_agents.files.picture_head import picture_head
from rolellm_agents.persona.data import Persona
from rolellm_agents.text import one_line

PORTRAIT_BYTES = 64 * 2**20
"""The most bytes of a picture file."""
PORTRAIT_PIXELS = 89_000_000
"""The most pixels of a picture."""
NO_PICTURE = "is damaged, or not a PNG, JPEG, WebP or GIF picture; use another"
"""The fault of a content that is not a picture."""


def read_portrait(persona: Persona, folder: Path) -> bytes | None:
    """The portrait's bytes; None for a persona without one.

    `folder` is the folder of the persona's file, which the portrait must be in.

    Raises:
        PersonaError: the portrait is not in the folder, or is not a picture of a known format and size.
    """
    if persona.portrait is None:
        return None
    what = f"The portrait {one_line(persona.portrait, 80)}"
    content = read_contained(folder, persona.portrait, what, PersonaError, most_bytes=PORTRAIT_BYTES)
    if fault := portrait_fault(content):
        raise PersonaError(f"{what} {fault}.")
    return content


def portrait_fault(content: bytes) -> str | None:
    """Why a content cannot be a portrait, as the end of a sentence; None when it can.

    Only the head of the picture is read, so the picture may still be damaged.
    """
    head = picture_head(content)
    if head is None:
        return NO_PICTURE
    if len(content) > PORTRAIT_BYTES:
        return f"is larger than {PORTRAIT_BYTES // 2**20} MiB; save it smaller"
    if head.width * head.height > PORTRAIT_PIXELS:
        return f"has more than {PORTRAIT_PIXELS // 10**6} million pixels; save it smaller"
    return None
