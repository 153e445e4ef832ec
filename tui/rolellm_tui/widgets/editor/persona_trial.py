"""A persona tried: its findings, the prompt with tokens, and which lorebook entries a line activates."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, messages_to_dict
from textual.content import Content

from rolellm_agents.errors import PersonaError, RoleLLMError
from rolellm_agents.persona import Persona
from rolellm_agents.persona.editing.document import PersonaDocument, edited_persona
from rolellm_agents.persona.editing.form import Data, Path
from rolellm_agents.persona.editing.places import place_of_error, place_of_finding
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.persona.lint import check_personas
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.recall import LoreRecall, recalled_lore
from rolellm_agents.text import plain
from rolellm_graphs.role.prompt_parts import PromptPart, parts_of
from rolellm_tui.widgets.inspector.prompt_tokens import TokenCounts, counted

_QUIET = "$foreground-muted"


@dataclass(frozen=True)
class TrialSetting:
    """With what a persona is tried."""

    strategy: str
    user: str
    model: BaseChatModel | None = None
    """Counts tokens; None for estimates."""
    history: Sequence[BaseMessage] = ()
    """The present chat, before the line."""
    line: str = ""
    """The last line of the present chat, which is tried unless another one is typed."""


@dataclass(frozen=True)
class FoundPlace:
    """A sentence about the persona, and the place of the form that it speaks of."""

    message: str
    path: Path
    is_error: bool = False


@dataclass(frozen=True)
class PersonaTrial:
    """What the editor shows beside the form."""

    found: tuple[FoundPlace, ...]
    parts: tuple[PromptPart, ...] = ()
    tokens: TokenCounts | None = None
    lore: tuple[str, ...] = ()
    """Active entries in the order of the prompt with their tokens, then a sentence for each entry."""


def try_persona(document: PersonaDocument, data: Data, setting: TrialSetting, line: str) -> PersonaTrial:
    """Check a persona and compose its prompt. This may load a local model."""
    try:
        persona = edited_persona(document, data).persona
    except PersonaError as error:
        return PersonaTrial((FoundPlace(_without_path(error, document), place_of_error(str(error)), True),))
    found = tuple(
        FoundPlace(finding.message, place_of_finding(finding, data))
        for finding in check_personas([persona])
    )
    try:
        parts, lore = _prompt(with_macros(persona, setting.user), setting, line or setting.line)
        tokens = counted(parts, (), setting.model)
    except RoleLLMError as error:
        return PersonaTrial((FoundPlace(str(error), place_of_error(str(error)), True), *found))
    return PersonaTrial(found, parts, tokens, lore)


def _without_path(error: PersonaError, document: PersonaDocument) -> str:
    return str(error).removeprefix(str(document.path)).lstrip(", ")


def _prompt(
    persona: Persona, setting: TrialSetting, line: str
) -> tuple[tuple[PromptPart, ...], tuple[str, ...]]:
    prompting = Prompting(persona, setting.strategy, user=setting.user)
    recalled = prompting.look_up(setting.history, line, {}).recalled
    messages = prompting.compose(setting.history, recalled, line)
    return parts_of(messages_to_dict(messages)), _lore(persona, setting, line)


def _lore(persona: Persona, setting: TrialSetting, line: str) -> tuple[str, ...]:
    lore = LoreRecall(persona, user=setting.user)
    if not lore.entries:
        return ()
    activation = lore.activate(setting.history, line, {})
    tokens = {(trace.book, trace.uid): trace.tokens for trace in activation.traces}
    order = [
        f"{number}. {item['name'] or item['uid']} · {tokens[item['book'], item['uid']]:,} tokens · "
        f"{item['position']}"
        for number, item in enumerate(recalled_lore(activation), 1)
    ]
    return (*order, *(trace.sentence() for trace in activation.traces))


def trial_content(trial: PersonaTrial) -> Content:
    """The lorebook's entries and the prompt, as the preview shows them."""
    pieces: list[Content | tuple[str, str] | str] = []
    for sentence in trial.lore:
        pieces += [plain(sentence), "\n"]
    if trial.lore:
        pieces.append("\n")
    if trial.tokens is None:
        return Content.assemble(*pieces, ("The prompt appears here once the persona is valid.", _QUIET))
    for part, tokens in zip(trial.parts, trial.tokens.by_part, strict=True):
        head = f"{part.title} · {part.role} · {tokens:,} tokens\n"
        pieces += [(head, "bold $text-accent"), plain(part.text), "\n\n"]
    return Content.assemble(*pieces)


def tokens_line(tokens: TokenCounts) -> str:
    """The token counts of the prompt in one line."""
    about = "" if tokens.exact else "about "
    kinds = " · ".join(f"{kind} {count:,}" for kind, count in tokens.by_kind.items())
    return f"Prompt: {about}{tokens.total:,} tokens ({kinds})"
