"""The inspector: the prompt, recalled items and figures of an answer."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static, TabbedContent, TabPane, Tabs
from textual.worker import Worker

from rolellm_agents.cards.values import integer, mapping, text
from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.errors import PersonaError, RoleLLMError
from rolellm_agents.models.context_size import context_size
from rolellm_agents.models.prices import cost_of, prices_of
from rolellm_agents.models.reasoning import REASONING
from rolellm_agents.recall import RecalledItem
from rolellm_agents.text import one_line, plain, replace_surrogates
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.voice import Voice
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.search_bar import SearchBar
from rolellm_tui.widgets.inspector.numbers_view import NumbersView
from rolellm_tui.widgets.inspector.prompt_tokens import counted, left_out
from rolellm_tui.widgets.inspector.prompt_view import PromptView
from rolellm_tui.widgets.inspector.provenance import AnswerProvenance
from rolellm_tui.widgets.inspector.recalled_view import RecalledView, recorded_items
from rolellm_tui.widgets.inspector.silent_lore import SilentLore, conversation_in, silent_lore
from rolellm_tui.widgets.inspector.token_chart import TokenChart
from rolellm_tui.widgets.inspector.try_line import TryLine


class InspectorScreen(Screen[None]):
    """Shows the complete prompt with token counts, recalled items, and figures."""

    CSS_PATH = "inspector.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (32, "-high")]
    BINDINGS = [
        Binding("slash", "search", "Search", id="inspector.search", tooltip="Search.", key_display="/"),
        Binding("n", "hit(1)", "Next", id="inspector.next-hit", tooltip="Next match."),
        Binding(
            "N", "hit(-1)", "Previous", id="inspector.previous-hit", tooltip="Previous match.", show=False
        ),
        Binding("c", "copy", "Copy", id="inspector.copy", tooltip="Copy the prompt as JSON messages."),
        Binding("right", "tab(1)", "Tab", id="inspector.right", tooltip="Next tab.", priority=True),
        Binding(
            "left",
            "tab(-1)",
            "Left",
            id="inspector.left",
            tooltip="Previous tab.",
            priority=True,
            show=False,
        ),
        Binding("escape", "leave", "Back", id="inspector.leave", tooltip="Back to the chat."),
        Binding(
            "ctrl+o", "leave", "Back", id="inspector.leave-too", tooltip="Back to the chat.", show=False
        ),
    ]

    def __init__(
        self, message: Message, provenance: AnswerProvenance, voice: Voice, *, user: str = DEFAULT_USER
    ) -> None:
        """Create the inspector.

        Args:
            message: the answer.
            provenance: the provenance of the answer.
            voice: the voice of the session; its model counts tokens if it generated the answer.
            user: the user's name.
        """
        super().__init__()
        self._message = message
        self._prompted = provenance.prompted
        self._recalled = provenance.recalled
        self._voice = voice
        self._user = user
        seed = provenance.prompted.sampling.get("seed") if provenance.prompted else None
        self._seed = seed if isinstance(seed, int) else None
        self._has_hits = False
        self._model = voice.model if message.made_by.get("model") == voice.model_name else None
        self._context_size = context_size(self._model) if self._model else None
        self._left_out = left_out(
            provenance.prompted.parts if provenance.prompted else (),
            integer(message.made_by.get("dropped_messages")),
        )

    def compose(self) -> ComposeResult:
        """Compose the tabs that have content."""
        prompted = self._prompted
        with Vertical(id="why"):
            yield Static(_title(self._message), id="why-title", markup=False)
            if not prompted:
                yield Static(_origin(self._message), id="why-note", markup=False)
            with TabbedContent():
                if prompted:
                    with TabPane("Prompt", id="prompt-tab"):
                        yield TokenChart()
                        yield PromptView(prompted.parts, self._left_out)
                if prompted or "model" in self._message.made_by:
                    with TabPane("Recalled", id="recalled-tab"):
                        yield self._recalled_view()
                if thoughts := text(self._message.made_by.get(REASONING)):
                    with TabPane("Thoughts", id="thoughts-tab"), VerticalScroll(can_focus=True):
                        yield Static(plain(thoughts), markup=False)
                with TabPane("Numbers", id="numbers-tab"):
                    sampling = prompted.sampling if prompted else None
                    yield NumbersView(self._message, sampling, self._context_size, _cost(self._message))
                if prompted:
                    with TabPane("Try", id="try-tab"):
                        yield TryLine()
        yield SearchBar()
        yield KeyFooter()

    def _recalled_view(self) -> RecalledView:
        if self._prompted:
            return RecalledView(self._recalled, self._voice.persona, self._user)
        recorded = recorded_items(self._message.made_by)
        return RecalledView(recorded, self._voice.persona, self._user, note=_AS_IT_IS_NOW)

    def on_mount(self) -> None:
        """Start the slow parts in the background."""
        self.query_one(Tabs).can_focus = False
        self._count()
        self._ask_lore()

    @work(group="count", exclusive=True, exit_on_error=False)
    async def _count(self) -> None:
        """Count tokens. This may load a local model."""
        if self._prompted:
            counts = await asyncio.to_thread(
                counted,
                self._prompted.parts,
                self._left_out,
                self._model,
                read=integer((self._message.usage or {}).get("input_tokens")),
                context_size=self._context_size,
            )
            self.query_one(TokenChart).show(counts)
            self.query_one(PromptView).show_counts(counts.by_part)

    @work(group="lore", exclusive=True, exit_on_error=False)
    async def _ask_lore(self) -> None:
        """Find the inactive lorebook entries."""
        if self._prompted and self._voice.persona.lorebook:
            silent = await asyncio.to_thread(
                self._silent, conversation_in(self._prompted), self._recalled, {}
            )
            await self.query_one("#recalled-tab RecalledView", RecalledView).show_silent(silent)

    def _silent(
        self,
        conversation: Sequence[BaseMessage],
        recalled: Sequence[RecalledItem],
        state: Mapping[str, Any],
    ) -> SilentLore | None:
        try:
            return silent_lore(
                self._voice.persona, conversation, recalled, user=self._user, state=state, seed=self._seed
            )
        except PersonaError:
            return None

    # Trying a line

    @on(TryLine.Typed)
    def _typed(self, event: TryLine.Typed) -> None:
        self._try(event.text)

    @work(group="try", exclusive=True, exit_on_error=False)
    async def _try(self, line: str) -> None:
        """Recall items for a tentative line, after a pause in typing."""
        await asyncio.sleep(_PAUSE)
        try_line = self.query_one(TryLine)
        if not line or not self._prompted:
            await try_line.show_message()
            return
        history = [*conversation_in(self._prompted), AIMessage(self._message.text)]
        state = mapping(self._message.made_by.get("lore"))
        try:
            lookup = await asyncio.to_thread(
                self._voice.prompting.look_up, history, line, state, seed=self._seed
            )
        except RoleLLMError as error:
            await try_line.show_message(str(error))
            return
        silent = None
        if self._voice.persona.lorebook:
            conversation = [*history, HumanMessage(line)]
            silent = await asyncio.to_thread(self._silent, conversation, lookup.recalled, state)
        await try_line.show(lookup.recalled, silent, self._voice.persona, self._user)

    # Tabs

    def action_tab(self, step: int) -> None:
        """Show the neighbouring tab."""
        tabs = self.query_one(TabbedContent)
        names = [pane.id for pane in tabs.query(TabPane)]
        index = names.index(tabs.active) + step
        if 0 <= index < len(names):
            tabs.active = names[index] or ""

    @on(TabbedContent.TabActivated)
    def _show_tab(self, event: TabbedContent.TabActivated) -> None:
        """Focus the content of the tab."""
        event.pane.query(_VIEWS).first().focus()
        self.refresh_bindings()

    # Searching

    def action_search(self) -> None:
        """Open the search bar."""
        self.query_one(SearchBar).open()

    @on(SearchBar.Changed)
    def _seek(self, event: SearchBar.Changed) -> None:
        self.query_one(PromptView).find(event.text)

    @on(SearchBar.MoveRequested)
    def _go_to_hit(self, event: SearchBar.MoveRequested) -> None:
        self.action_hit(event.step)

    @on(SearchBar.Closed)
    def _close_search(self) -> None:
        self.query_one(PromptView).focus()

    @on(PromptView.Found)
    def _count_hits(self, event: PromptView.Found) -> None:
        bar = self.query_one(SearchBar)
        position = f"{event.place:,} of {event.hits:,}" if event.hits else "not found"
        bar.show_position(position if bar.text else "")
        if bool(event.hits) != self._has_hits:
            self._has_hits = bool(event.hits)
            self.refresh_bindings()

    def action_hit(self, step: int) -> None:
        """Go to the next or previous match."""
        self.query_one(PromptView).next_hit(step)

    # Copying and leaving

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable prompt actions on the prompt tab only, and not while an input has the focus."""
        if action not in ("tab", "search", "hit", "copy"):
            return True
        if isinstance(self.focused, Input) and (self.focused.id != "try" or self.focused.value):
            return False
        if action == "tab":
            return len(self.query(TabPane)) > 1
        tabs = self.query(TabbedContent)
        if not tabs or tabs.first().active != "prompt-tab":
            return False
        return action != "hit" or self._has_hits

    def action_copy(self) -> None:
        """Copy the prompt as JSON messages."""
        if self._prompted:
            messages = [{"role": part.role, "content": part.text} for part in self._prompted.parts]
            self.app.copy_to_clipboard(
                replace_surrogates(json.dumps(messages, ensure_ascii=False, indent=2))
            )
            self.notify(f"{len(messages):,} messages copied as JSON.", markup=False)

    def action_leave(self) -> None:
        """Go back to the chat."""
        self.dismiss()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self.notify(plain(failure), severity="error", timeout=20, markup=False)


_AS_IT_IS_NOW = "The texts are from the present persona file."
_QUIET = "$foreground-muted"
_PAUSE = 0.2
"""Seconds without a key press before a line is recalled."""
_VIEWS = "PromptView, RecalledView, NumbersView, #try"


def _cost(message: Message) -> str:
    """What an answer cost, or why that is unknown; empty without prices."""
    try:
        prices = prices_of(text(message.made_by.get("model")))
    except RoleLLMError as error:
        return str(error)
    return f"{cost_of(message.usage or {}, prices):.6f} by prices.toml" if prices else ""


def _title(message: Message) -> Content:
    text = one_line(message.text, 400)
    return Content.assemble(("Why this answer?", "bold"), ("  “", _QUIET), (text, _QUIET), ("”", _QUIET))


def _origin(message: Message) -> str:
    """The reason why no prompt is available."""
    made_by = message.made_by
    if made_by.get("greeting"):
        return "This is the persona's greeting, not a model's answer."
    if "edited" in made_by:
        return "This text was edited by hand."
    if message.speaker == USER:
        return "You wrote this message."
    if "model" in made_by:
        return "This answer is from an earlier session; its prompt was not saved."
    return "This message was imported; its model is unknown."
