"""Styled text of scene lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.content import Content

from rolellm_agents.cards.values import integer, mapping
from rolellm_agents.scene import NARRATOR, LoadedScene
from rolellm_agents.scene.message_kinds import SAY, MessageKind, kind_of
from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import Message
from rolellm_tui.widgets.chat.prose import prose
from rolellm_tui.widgets.common.drawn_lines import MUTED

_QUIET = f"italic {MUTED}"
_LONGEST_NAME = 40

COLOURS = ("primary", "success", "accent", "error", "secondary", "warning")
"""Theme colours in the order of the cast; they repeat after six seats."""


def colours_of(scene: LoadedScene) -> dict[str, str]:
    """Each seat's colour, as one of `COLOURS`."""
    return {seat: COLOURS[index % len(COLOURS)] for index, seat in enumerate(scene.seats)}


def ink(colours: dict[str, str], seat: str) -> str:
    """The style of a seat's name; muted for the narrator and unknown seats."""
    return MUTED if seat == NARRATOR or seat not in colours else f"$text-{colours[seat]}"


@dataclass(frozen=True)
class SeatStyles:
    """Names and colours of seats."""

    names: Mapping[str, str]
    colours: dict[str, str]
    turn_kinds: Sequence[MessageKind] = ()
    """Of the scene."""

    def name(self, seat: str) -> str:
        """The display name."""
        return one_line(self.names.get(seat, seat), _LONGEST_NAME)

    def content(self, seat: str) -> Content:
        """The name in its colour."""
        return Content.styled(self.name(seat), f"bold {ink(self.colours, seat)}")


def speakers_of(scene: LoadedScene) -> SeatStyles:
    """The styles of a scene."""
    return SeatStyles(scene.names, colours_of(scene), scene.scene.turn_kinds)


def line_content(message: Message, text: str, speakers: SeatStyles, swipes: str = "") -> Content:
    """Render a line.

    Args:
        message: the message of the line.
        text: the text so far.
        speakers: the names and colours of the seats.
        swipes: the position among several swipes.
    """
    notes = [note for note in (swipes, message.ending) if note]
    end = Content.styled(f"  {'  '.join(notes)}", MUTED) if notes else Content("")
    match message.kind:
        case "narrate":
            return Content.assemble(prose(text).stylize_before(_QUIET), end)
        case "join":
            return Content.assemble(("→ ", MUTED), Content.styled(plain(text), MUTED), end)
        case "leave":
            return Content.assemble(("← ", MUTED), Content.styled(plain(text), MUTED), end)
        case "act":
            content = prose(text).stylize_before("italic")
            return Content.assemble(_actor(message, text, speakers), content, end)
    head = Content.assemble(speakers.content(message.speaker), (_turn_kind(message, speakers), _QUIET), end)
    content = prose(text)
    if message.kind == "think":
        content = content.stylize_before(_QUIET)
    return Content.assemble(head, "\n", content)


def _actor(message: Message, text: str, speakers: SeatStyles) -> Content:
    """The name, inline for actions and on a line of its own otherwise."""
    begins = text.strip()[:1]
    inline = not begins or begins.islower() or "\u3400" <= begins <= "\u9fff"
    return Content.assemble(speakers.content(message.speaker), " " if inline else "\n")


def _turn_kind(message: Message, speakers: SeatStyles) -> str:
    """The note after the name, except for plain speech."""
    if message.kind == SAY.name:
        return ""
    addressees = [speakers.name(seat) for seat in message.audience if seat != message.speaker]
    return f"  {plain(kind_of(message.kind, speakers.turn_kinds).labelled(joined(addressees), 'en'))}"


def joined(names: Sequence[str]) -> str:
    """Names joined with commas and “and”."""
    *first, last = names or ("nobody",)
    return f"{', '.join(first)} and {last}" if first else last


def tokens_of(message: Message | None) -> str:
    """Format the tokens read and written for a line, and the share of cached tokens among those read."""
    usage: Mapping[str, object] = (message.usage if message else None) or {}
    read, written = integer(usage.get("input_tokens")), integer(usage.get("output_tokens"))
    if read <= 0:
        return ""
    reused = integer(mapping(usage.get("input_token_details")).get("cache_read"))
    share = f", {reused / read:.0%} reused".replace("%", " %") if reused > 0 else ""
    return f"{read:,} + {written:,} tokens{share}"
