"""A lorebook tried: which of its entries a line activates, why, and with what text."""

from rolellm_agents.editing.form import Data
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona
from rolellm_agents.persona.editing.lorebook_document import LorebookDocument, edited_lorebook
from rolellm_agents.persona.editing.places import lore_findings
from rolellm_agents.recall import LoreRecall, recalled_lore
from rolellm_graphs.role.prompt_parts import PromptPart
from rolellm_tui.widgets.editor.trial import (
    FoundPlace,
    Trial,
    TrialSetting,
    lore_lines,
    lore_total,
    not_yet,
    prompt_content,
)
from rolellm_tui.widgets.inspector.prompt_tokens import counted


def try_lorebook(
    document: LorebookDocument, data: Data, persona: Persona, setting: TrialSetting, line: str
) -> Trial:
    """Activate a lorebook without other lorebooks, in a conversation with a persona."""
    try:
        lore = LoreRecall(
            persona.model_copy(update={"lorebook": None}),
            user=setting.user,
            about_user=setting.about_user,
            lorebooks=[edited_lorebook(data)],
        )
    except PersonaError as error:
        return Trial((FoundPlace(str(error), None, True),), not_yet("lorebook"))
    found = tuple(FoundPlace(sentence, path) for sentence, path in lore_findings(data, document.place))
    activation = lore.activate(setting.history, line or setting.line, setting.lore)
    parts = tuple(PromptPart("lore", item["role"], item["text"]) for item in recalled_lore(activation))
    shown = prompt_content(parts, counted(parts, (), None), lore_lines(activation))
    return Trial(found, shown, lore_total(activation))
