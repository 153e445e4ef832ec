"""A linter for cards: violations of the specification, data that other programs drop, and risks.

Regular expressions are only compiled, with the same limits as in a chat; nothing is fetched.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.cards.card import Card
from rolellm_agents.cards.lint import form, lore, texts
from rolellm_agents.cards.lint import view as lint_view

Level = Literal["error", "warning", "hint"]
"""An error violates the specification or cannot work; a warning may do harm; a hint informs."""

_RULES: tuple[tuple[str, Level, Callable[[lint_view.View], lint_view.Spots]], ...] = (
    ("field-missing", "error", form.missing),
    ("field-null", "error", form.null),
    ("field-type", "error", form.wrong_kind),
    ("spec-unknown", "error", form.unknown_spec),
    ("spec-version", "error", form.wrong_version),
    ("spec-newer", "warning", form.newer_version),
    ("own-field", "warning", form.own_fields),
    ("asset-main", "error", form.main_assets),
    ("asset-scheme", "error", form.schemes),
    ("asset-lost", "error", form.lost_assets),
    ("asset-ext", "error", form.extensions),
    ("asset-remote", "warning", form.remote_assets),
    ("image-damaged", "error", form.damaged_image),
    ("image-texts", "warning", form.image_texts),
    ("book-unreadable", "error", lore.unreadable_book),
    ("decorator-unknown", "warning", lore.unknown_decorators),
    ("decorator-value", "error", lore.decorator_values),
    ("decorator-late", "warning", lore.late_decorators),
    ("decorator-sillytavern", "hint", lore.foreign_decorators),
    ("key-regex", "error", lore.bad_keys),
    ("key-slow", "warning", lore.slow_keys),
    ("key-plain", "warning", lore.plain_regex),
    ("entry-keys", "warning", lore.no_keys),
    ("entry-never", "warning", lore.never_active),
    ("entry-id", "warning", lore.same_ids),
    ("entry-orders", "hint", lore.same_orders),
    ("text-control", "warning", texts.controls),
    ("text-surrogate", "error", texts.lone_surrogates),
    ("text-mojibake", "warning", texts.mojibake),
    ("remote-media", "warning", texts.remote_media),
    ("remote-link", "hint", texts.links),
    ("macro-unknown", "warning", texts.macros),
    ("literal-name", "hint", texts.literal_names),
    ("lost-in-v2", "hint", form.lost_in_v2),
    ("notes-empty", "hint", form.no_notes),
)
RULES: dict[str, Level] = {name: level for name, level, _ in _RULES}
"""All rules and their levels."""


@dataclass(frozen=True)
class CardFinding:
    """One finding of the linter."""

    level: Level
    where: str
    """A path such as `data.character_book.entries[3].keys`, or `image` for the portrait."""
    rule: str
    """One of `RULES`."""
    message: str
    """One sentence with the problem, and its consequence or cure."""


def lint(card: Card) -> list[CardFinding]:
    """Check a card; errors come first."""
    view = lint_view.view(card)
    found = [
        CardFinding(level, where, name, f"{where} {message}")
        for name, level, rule in _RULES
        for where, message in rule(view)
    ]
    return sorted(found, key=lambda finding: ("error", "warning", "hint").index(finding.level))


def tokens_by_part(card: Card, count: Callable[[str], int]) -> dict[str, int]:
    """Count the tokens of each part of a card, with macros not replaced.

    `greetings` are all greetings, `lorebook_constant` the entries that are always active, and
    `lorebook_whole` all enabled entries. `total` is the permanent part of a prompt: without greetings and
    examples, which a long chat replaces, and without entries that depend on keys.

    `count` is not called with empty texts.
    """
    entries = [one for one in lint_view.lore(card) if one.entry.enabled]
    always = {
        "description": [card.description],
        "personality": [card.personality],
        "scenario": [card.scenario],
        "system_prompt": [card.system_prompt],
        "post_history_instructions": [card.post_history_instructions],
        "lorebook_constant": [one.body for one in entries if one.entry.constant or one.decorators.activate],
    }
    others = {
        "greetings": [*card.greetings, *card.group_greetings],
        "examples": [card.examples],
        "lorebook_whole": [one.body for one in entries],
    }
    counted = {name: sum(map(count, filter(None, parts))) for name, parts in (always | others).items()}
    return {**counted, "total": sum(counted[name] for name in always)}
