"""A character card: its JSON, its picture and its files.

The JSON is kept unchanged, with the data of all programs. The properties interpret it as V1, V2 or V3, with
the defaults of the specifications.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rolellm_agents.cards.lore.lorebook import Lorebook, read_lorebook
from rolellm_agents.cards.values import Json, items, mapping, text, texts, texts_as_they_are

Spec = Literal["v1", "v2", "v3"]
"""The versions of the card format: Tavern's original one, `chara_card_v2` and `chara_card_v3`."""
DEFAULT_URI = "ccdefault:"
EMBEDDED = "embeded://"
"""The specification of V3 spells it with one d."""
LEGACY = "__asset:"


@dataclass(frozen=True)
class Asset:
    """A picture or other file of a card."""

    type: str
    """`icon`, `background`, `emotion`, `user_icon`, or an application's own type with the prefix `x_`."""
    uri: str
    name: str
    ext: str


DEFAULT_ASSETS = (Asset("icon", DEFAULT_URI, "main", "png"),)
"""The assets of a card without a list."""


@dataclass(frozen=True)
class Card:
    """A character card of any version."""

    document: Mapping[str, Json]
    """The unchanged JSON."""
    image: bytes | None = field(default=None, repr=False)
    """The portrait's file; for a card in a PNG, that PNG."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The other files of the archive by path, or the legacy assets of a PNG."""
    notes: tuple[str, ...] = ()
    """Sentences about irregularities found while reading."""

    @property
    def spec(self) -> Spec:
        """The card's version by its `spec`; a card with `data` and an unknown `spec` counts as V2."""
        spec = text(self.document.get("spec"))
        if spec == "chara_card_v3":
            return "v3"
        return "v2" if spec == "chara_card_v2" or "data" in self.document else "v1"

    @property
    def data(self) -> Mapping[str, Json]:
        """The fields of the character: `data`, or in V1 the document itself."""
        return mapping(self.document.get("data")) if self.spec != "v1" else self.document

    @property
    def name(self) -> str:
        """The character's name."""
        return text(self.data.get("name"))

    @property
    def char_name(self) -> str:
        """The value of `{{char}}`: the nickname, or the name."""
        return text(self.data.get("nickname")) or self.name

    @property
    def description(self) -> str:
        """Who the character is."""
        return text(self.data.get("description"))

    @property
    def personality(self) -> str:
        """A summary of the personality."""
        return text(self.data.get("personality"))

    @property
    def scenario(self) -> str:
        """The circumstances of the conversation."""
        return text(self.data.get("scenario"))

    @property
    def examples(self) -> str:
        """Example dialogues as one text."""
        return text(self.data.get("mes_example"))

    @property
    def greetings(self) -> tuple[str, ...]:
        """`first_mes`, which may be empty, and the alternate greetings."""
        return (text(self.data.get("first_mes")), *texts_as_they_are(self.data.get("alternate_greetings")))

    @property
    def group_greetings(self) -> tuple[str, ...]:
        """Greetings for group chats only."""
        return texts_as_they_are(self.data.get("group_only_greetings"))

    @property
    def system_prompt(self) -> str:
        """A replacement for the program's own instruction; may contain `{{original}}`."""
        return text(self.data.get("system_prompt"))

    @property
    def post_history_instructions(self) -> str:
        """A replacement for the program's text after the conversation."""
        return text(self.data.get("post_history_instructions"))

    @property
    def creator_notes(self) -> str:
        """The author's notes for users, which do not go into prompts."""
        of_english = text(mapping(self.data.get("creator_notes_multilingual")).get("en"))
        return of_english or text(self.data.get("creator_notes"))

    @property
    def creator(self) -> str:
        """The card's author."""
        return text(self.data.get("creator"))

    @property
    def version(self) -> str:
        """The author's version of the card."""
        return text(self.data.get("character_version"))

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags for sorting and searching."""
        return texts(self.data.get("tags"))

    @property
    def extensions(self) -> Mapping[str, Json]:
        """The data that programs store in the card, by the name of the program or feature."""
        return mapping(self.data.get("extensions"))

    @property
    def assets(self) -> tuple[Asset, ...]:
        """The card's assets; V3's default asset when it lists none."""
        listed = self.data.get("assets")
        if self.spec != "v3" or not isinstance(listed, list):
            return DEFAULT_ASSETS
        return tuple(
            Asset(*(text(asset.get(key)) for key in ("type", "uri", "name", "ext")))
            for asset in items(listed)
            if isinstance(asset, dict)
        )

    @property
    def lorebook(self) -> Lorebook | None:
        """The card's own lorebook, if it has one.

        Raises:
            CardError: the lorebook has too many entries.
        """
        book = self.data.get("character_book")
        return read_lorebook(book) if isinstance(book, dict) and "entries" in book else None
