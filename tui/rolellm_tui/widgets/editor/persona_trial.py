"""A persona tried: its findings, the prompt with tokens, and which lorebook entries a line activates."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, messages_to_dict

from rolellm_agents.cards import Activation
from rolellm_agents.editing.form import Data
from rolellm_agents.editing.places import place_of_error
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.errors import PersonaError, RoleLLMError
from rolellm_agents.persona import Persona
from rolellm_agents.persona.editing.document import edited_persona
from rolellm_agents.persona.editing.persona_form import LOREBOOK
from rolellm_agents.persona.editing.places import lore_findings, place_of_finding
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.persona.lint import check_personas
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.recall import LoreRecall
from rolellm_graphs.role.prompt_parts import PromptPart, parts_of
from rolellm_tui.widgets.editor.trial import (
    FoundPlace,
    Trial,
    TrialSetting,
    lore_lines,
    lore_total,
    not_yet,
    prompt_content,
    tokens_line,
    without_path,
)
from rolellm_tui.widgets.inspector.prompt_tokens import counted


def try_persona(document: YamlDocument, data: Data, setting: TrialSetting, line: str) -> Trial:
    """Check a persona and compose its prompt. This may load a local model."""
    try:
        persona = edited_persona(document, data).persona
    except PersonaError as error:
        problem = FoundPlace(without_path(error, document), place_of_error(str(error)), True)
        return Trial((problem,), not_yet("persona"))
    found = (
        *(
            FoundPlace(finding.message, place_of_finding(finding, data))
            for finding in check_personas([persona])
        ),
        *(FoundPlace(sentence, path) for sentence, path in lore_findings(data, LOREBOOK)),
    )
    try:
        parts, lore = _prompt(with_macros(persona, setting.user), setting, line or setting.line)
        tokens = counted(parts, (), setting.model)
    except RoleLLMError as error:
        return Trial((FoundPlace(str(error), None, True), *found), not_yet("persona"))
    total = tokens_line(tokens)
    if lore:
        total = f"{total} · {lore_total(lore)}"
    return Trial(found, prompt_content(parts, tokens, lore_lines(lore) if lore else ()), total)


def _prompt(
    persona: Persona, setting: TrialSetting, line: str
) -> tuple[tuple[PromptPart, ...], Activation | None]:
    history = setting.history
    if not history and not setting.summary and persona.greeting:
        history = [AIMessage(persona.greeting)]
    prompting = Prompting(
        persona,
        setting.strategy,
        user=setting.user,
        about_user=setting.about_user,
        lorebooks=setting.lorebooks,
        recall=setting.recall,
        memories=setting.memories,
    )
    recalled = prompting.look_up(history, line, setting.lore, earlier=setting.earlier).recalled
    messages = prompting.compose(history, recalled, line, note=setting.note, summary=setting.summary)
    return parts_of(messages_to_dict(messages)), _lore(persona, setting, history, line)


def _lore(
    persona: Persona, setting: TrialSetting, history: Sequence[BaseMessage], line: str
) -> Activation | None:
    lore = LoreRecall(
        persona, user=setting.user, about_user=setting.about_user, lorebooks=setting.lorebooks
    )
    return lore.activate(history, line, setting.lore) if lore.entries else None
