"""A scene tried: its findings, and the prompt of one seat with tokens."""

from langchain_core.messages import messages_to_dict

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.editing.form import Data, Path
from rolellm_agents.editing.places import place_of_error
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.scene.editing.document import cast_edited, edited_scene
from rolellm_agents.scene.events import ScheduledEvent, due_lines, event_line
from rolellm_agents.scene.loading import LoadedScene, SeatNameError, SeatPersonaError
from rolellm_agents.scene.scene import NARRATOR
from rolellm_agents.scene.view import history_for, instruction_for
from rolellm_graphs.role.prompt_parts import PromptPart, parts_of
from rolellm_graphs.scene.ensemble import SCENE_STRATEGY
from rolellm_tui.widgets.editor.trial import (
    FoundPlace,
    Trial,
    TrialSetting,
    not_yet,
    prompt_content,
    tokens_line,
    without_path,
)
from rolellm_tui.widgets.inspector.prompt_tokens import counted


def try_scene(document: YamlDocument, data: Data, setting: TrialSetting, seat: int, line: str) -> Trial:
    """Check a scene, and compose the prompt of a seat. This may load a local model.

    Args:
        document: the scene's file.
        data: changed data.
        setting: the model that counts tokens.
        seat: the place of the seat in the cast; a place that the cast does not have is the first.
        line: a text that the narrator says; empty for the opening alone.
    """
    try:
        loaded = cast_edited(document, edited_scene(document, data))
    except RoleLLMError as error:
        problem = FoundPlace(without_path(error, document), _place(error), True)
        return Trial((problem,), not_yet("scene"))
    seats = list(loaded.seats)
    chosen = seats[seat] if seat < len(seats) else seats[0]
    try:
        parts = _prompt(loaded, chosen, line)
        tokens = counted(parts, (), setting.model)
    except RoleLLMError as error:
        return Trial((FoundPlace(str(error), None, True),), not_yet("scene"))
    return Trial((), prompt_content(parts, tokens), f"{loaded.names[chosen]} · {tokens_line(tokens)}")


def _place(error: RoleLLMError) -> Path | None:
    """The place of the form that an error of a scene's file speaks of."""
    if isinstance(error, SeatNameError | SeatPersonaError):
        return error.location
    return place_of_error(str(error))


def _prompt(loaded: LoadedScene, seat: str, line: str) -> tuple[PromptPart, ...]:
    """The prompt of the seat's first turn."""
    lines = due_lines(loaded, [])
    if line.strip():
        lines.append(event_line(loaded, lines, ScheduledEvent(NARRATOR, "narrate", (), line.strip(), {})))
    scene = loaded.scene
    user = next((one.name for one in scene.cast if one.person), DEFAULT_USER)
    strategy = loaded.seats[seat].strategy or scene.strategy or SCENE_STRATEGY
    prompting = Prompting(loaded.personas[seat], strategy, user=user)
    *history, last = history_for(loaded, seat, lines)
    recalled = prompting.look_up(history, last.text, {}).recalled
    about = instruction_for(loaded, seat, lines)
    return parts_of(messages_to_dict(prompting.compose(history, recalled, last.text, scene=about)))
