"""The app as `rolellm chat` builds it, and what stands on its screen."""

import time
from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import OptionList, Static

from rolellm_agents.config.settings import DEFAULT_STRATEGY
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_tui.app import RoleApp
from rolellm_tui.habits import AppHabits
from rolellm_tui.screens.chat import ChatScreen
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.prompt import PromptInput
from rolellm_tui.widgets.common.status_line import ERROR_SIGN

_PATIENCE = 60.0


def role_app(
    chat_model: BaseChatModel | str,
    transcript: Transcript,
    *,
    first: Persona | None = None,
    new: bool = False,
    habits: AppHabits | None = None,
    theme: str = "",
) -> RoleApp:
    """The app with one model for all."""

    def open_session(
        persona: Persona,
        conversation: str | None,
        *,
        strategy: str | None = None,
        model: str | None = None,
    ) -> Session:
        return Session(
            persona,
            transcript,
            model=model or chat_model,
            model_name=model or "script",
            strategy=strategy or DEFAULT_STRATEGY,
            conversation=conversation,
        )

    return RoleApp(open_session, transcript, first=first, new=new, habits=habits, theme=theme)


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    """Wait until something holds, which it does soon."""
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        assert pilot.app.is_running, "the app has ended"
        assert time.monotonic() < deadline, f"it never came to that on the {screen(pilot)}"
        await pilot.pause(0.01)
    await pilot.pause()


async def say(pilot: Pilot[Any], text: str) -> None:
    """Put a line into the prompt and send it."""
    prompt(pilot).text = text
    await pilot.press("enter")


def prompt(pilot: Pilot[Any]) -> PromptInput:
    """Where the person writes."""
    return pilot.app.screen.query_one("#prompt", PromptInput)


def screen(pilot: Pilot[Any]) -> str:
    """The screen's name, for conditions and complaints."""
    return type(pilot.app.screen).__name__


def answering(pilot: Pilot[Any]) -> bool:
    """Whether an answer is on its way."""
    chat = pilot.app.screen
    return isinstance(chat, ChatScreen) and chat.answering


def shown(widget: Widget) -> str:
    """The text that a widget draws now."""
    rows = (widget.render_line(row).text.rstrip() for row in range(widget.size.height))
    return "\n".join(rows).strip()


def bubbles(pilot: Pilot[Any]) -> list[tuple[str, str, str]]:
    """Speaker, words and note of each message on the screen."""
    return [
        (
            shown(bubble.query_one(".speaker", Static)),
            shown(bubble.query_one(".words", Static)),
            shown(bubble.query_one(".note", Static)),
        )
        for bubble in pilot.app.screen.query(Bubble)
        if bubble.query(".note") and bubble.query(".speaker")  # not before it is composed
    ]


def status(pilot: Pilot[Any]) -> str:
    """What the line over the prompt says, without the sign of errors."""
    return shown(pilot.app.screen.query_one("#status", Static)).removeprefix(f"{ERROR_SIGN} ")


def cast(pilot: Pilot[Any]) -> list[str | None]:
    """The ids of the personas that the library lists."""
    options = pilot.app.screen.query_one("#cast", OptionList)
    return [options.get_option_at_index(place).id for place in range(options.option_count)]


def keys_offered(pilot: Pilot[Any]) -> set[str]:
    """The actions that the footer offers."""
    return {
        binding.binding.description
        for binding in pilot.app.screen.active_bindings.values()
        if binding.enabled and binding.binding.show
    }
