"""What an editor shows beside its form: findings, the prompt with tokens, and what a line activates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from textual.content import Content

from rolellm_agents.cards import Activation, Lorebook, LoreSettings
from rolellm_agents.editing.form import Path
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona.editing.lore_form import POSITION_LABELS
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage, RecallOptions, recalled_lore
from rolellm_agents.text import plain
from rolellm_graphs.role.prompt_parts import PromptPart
from rolellm_tui.widgets.inspector.prompt_tokens import TokenCounts

_QUIET = "$foreground-muted"


@dataclass(frozen=True)
class TrialSetting:
    """With what a persona is tried."""

    strategy: str | Strategy
    user: str
    model: BaseChatModel | None = None
    """Counts tokens; None for estimates."""
    history: Sequence[BaseMessage] = ()
    """The present chat, before the line."""
    line: str = ""
    """The last line of the present chat, which is tried unless another one is typed."""
    about_user: str = ""
    lorebooks: Sequence[Lorebook] = ()
    """Lorebooks besides the persona's own."""
    recall: RecallOptions | None = None
    memories: Sequence[Passage] = ()
    lore: Mapping[str, Any] = field(default_factory=dict)
    """Timed effects of the lorebooks before the line."""
    note: str = ""
    """The author's note."""
    summary: str = ""
    """The summary of the messages before the history."""
    earlier: tuple[str, ...] = ()
    """The exchanges that the summary covers."""


@dataclass(frozen=True)
class FoundPlace:
    """A sentence about what is edited, and the place of the form that it speaks of."""

    message: str
    path: Path | None
    """None if it does not speak of one field."""
    is_error: bool = False


@dataclass(frozen=True)
class Trial:
    """What an editor shows beside its form."""

    found: tuple[FoundPlace, ...]
    shown: Content
    """What is made of the data."""
    total: str = ""
    """The tokens in one line."""


def lore_lines(activation: Activation) -> tuple[str, ...]:
    """The active entries in the order of the prompt, and why each entry is active or not."""
    tokens = {(trace.book, trace.uid): trace.tokens for trace in activation.traces}
    return (
        *(
            f"{number}. {item['name'] or item['uid']} · {tokens[item['book'], item['uid']]:,} tokens · "
            f"{POSITION_LABELS[item['position']]}"
            for number, item in enumerate(recalled_lore(activation), 1)
        ),
        *(trace.sentence() for trace in activation.traces),
    )


def lore_total(activation: Activation) -> str:
    """The tokens of the active entries, and the budget of all lore."""
    used = sum(trace.tokens for trace in activation.traces if trace.active)
    return f"Lorebook: {used:,} of at most {LoreSettings().budget:,} tokens"


def without_path(error: RoleLLMError, document: YamlDocument) -> str:
    """The message of an error without the path of the file, which the editor's title shows."""
    return str(error).removeprefix(str(document.path)).lstrip(", :")


def not_yet(what: str) -> Content:
    """What stands in place of what is made of data, while they are not valid."""
    return Content.styled(f"What it makes appears here once the {what} is valid.", _QUIET)


def prompt_content(parts: Sequence[PromptPart], tokens: TokenCounts, lore: Sequence[str] = ()) -> Content:
    """Sentences about the lorebook's entries, then the parts of the prompt with their tokens."""
    pieces: list[Content | tuple[str, str] | str] = []
    for sentence in lore:
        pieces += [plain(sentence), "\n"]
    if lore:
        pieces.append("\n")
    for part, count in zip(parts, tokens.by_part, strict=True):
        head = f"{part.title} · {part.role} · {count:,} tokens\n"
        pieces += [(head, "bold $text-accent"), plain(part.text), "\n\n"]
    return Content.assemble(*pieces)


def tokens_line(tokens: TokenCounts) -> str:
    """The token counts of the prompt in one line."""
    about = "" if tokens.exact else "about "
    kinds = " · ".join(f"{kind} {count:,}" for kind, count in tokens.by_kind.items())
    return f"Prompt: {about}{tokens.total:,} tokens ({kinds})"
