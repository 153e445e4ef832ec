"""A character card: its JSON as it was read, its picture, its files, and what they mean.

The JSON is the truth and is never tidied up: whatever a program put there comes out again. The properties
read it as V1, V2 and V3 say, with the defaults that the specifications give.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rolellm_agents.cards.lore.lorebook import Lorebook, read_lorebook
from rolellm_agents.cards.values import Json, items, mapping, maybe_integer, text, texts, texts_as_they_are

Spec = Literal["v1", "v2", "v3"]
"""The formats that a card may be in: Tavern's first, `chara_card_v2`, `chara_card_v3`."""
DEFAULT_URI = "ccdefault:"
EMBEDDED = "embeded://"
"""V3 spells it with one d."""
LEGACY = "__asset:"


@dataclass(frozen=True)
class Asset:
    """A picture or other file that belongs to a card."""

    type: str
    """`icon`, `background`, `emotion`, `user_icon`, or an application's own, beginning with `x_`."""
    uri: str
    name: str
    ext: str


DEFAULT_ASSETS = (Asset("icon", DEFAULT_URI, "main", "png"),)
"""What a card without a list of assets has."""


@dataclass(frozen=True)
class Card:
    """A character card of any version."""

    document: Mapping[str, Json]
    """The JSON as it was read."""
    image: bytes | None = field(default=None, repr=False)
    """The portrait as a file: for a card that came in a PNG, that PNG."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """What came in the same archive, by path; or as legacy assets of a PNG."""
    notes: tuple[str, ...] = ()
    """What was odd when it was read, a sentence each."""

    @property
    def spec(self) -> Spec:
        """By what it says of itself; a card with `data` that says nothing good counts as V2."""
        said = text(self.document.get("spec"))
        if said == "chara_card_v3":
            return "v3"
        return "v2" if said == "chara_card_v2" or "data" in self.document else "v1"

    @property
    def data(self) -> Mapping[str, Json]:
        """The fields of the character, wherever they stand."""
        return mapping(self.document.get("data")) if self.spec != "v1" else self.document

    @property
    def name(self) -> str:
        """The character's name."""
        return text(self.data.get("name"))

    @property
    def called(self) -> str:
        """What `{{char}}` stands for: the nickname, if there is one."""
        return text(self.data.get("nickname")) or self.name

    @property
    def description(self) -> str:
        """Who they are."""
        return text(self.data.get("description"))

    @property
    def personality(self) -> str:
        """A summary of their character."""
        return text(self.data.get("personality"))

    @property
    def scenario(self) -> str:
        """Where and when they are met."""
        return text(self.data.get("scenario"))

    @property
    def examples(self) -> str:
        """Example dialogues, as one text."""
        return text(self.data.get("mes_example"))

    @property
    def greetings(self) -> tuple[str, ...]:
        """What they may say first: `first_mes`, then the alternates; at least one, which may be empty."""
        return (text(self.data.get("first_mes")), *texts_as_they_are(self.data.get("alternate_greetings")))

    @property
    def group_greetings(self) -> tuple[str, ...]:
        """Further greetings, for chats of several characters alone."""
        return texts_as_they_are(self.data.get("group_only_greetings"))

    @property
    def system_prompt(self) -> str:
        """What stands in the place of a program's own instruction; may hold `{{original}}`."""
        return text(self.data.get("system_prompt"))

    @property
    def post_history_instructions(self) -> str:
        """The same for the text after the conversation."""
        return text(self.data.get("post_history_instructions"))

    @property
    def creator_notes(self) -> str:
        """What the author tells people, and no model."""
        of_english = text(mapping(self.data.get("creator_notes_multilingual")).get("en"))
        return of_english or text(self.data.get("creator_notes"))

    @property
    def creator(self) -> str:
        """Who made the card."""
        return text(self.data.get("creator"))

    @property
    def version(self) -> str:
        """The card's version, as its author counts."""
        return text(self.data.get("character_version"))

    @property
    def tags(self) -> tuple[str, ...]:
        """For sorting and searching."""
        return texts(self.data.get("tags"))

    @property
    def extensions(self) -> Mapping[str, Json]:
        """What programs keep in the card for themselves."""
        return mapping(self.data.get("extensions"))

    @property
    def modified(self) -> int | None:
        """Seconds since 1970, UTC; None when it is not told."""
        return maybe_integer(self.data.get("modification_date")) or None

    @property
    def assets(self) -> tuple[Asset, ...]:
        """The list of assets; V3's default when there is none."""
        listed = self.data.get("assets")
        if self.spec != "v3" or not isinstance(listed, list):
            return DEFAULT_ASSETS
        return tuple(
            Asset(text(one.get("type")), text(one.get("uri")), text(one.get("name")), text(one.get("ext")))
            for one in items(listed)
            if isinstance(one, dict)
        )

    @property
    def lorebook(self) -> Lorebook | None:
        """The card's own lorebook, if it has one.

        Raises:
            CardError: it has more entries than anybody needs.
        """
        book = self.data.get("character_book")
        return read_lorebook(book) if isinstance(book, dict) and "entries" in book else None
