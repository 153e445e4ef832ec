"""The comparison: several voices answer one line at the same time."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Literal

from langchain_core.language_models import BaseChatModel
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import Worker

from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.catalog import PROVIDERS
from rolellm_agents.models.names import named_models
from rolellm_agents.models.presets.files import chosen_preset
from rolellm_agents.models.presets.using import model_maker
from rolellm_agents.prompting.strategies import strategy_names
from rolellm_agents.text import one_line
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_graphs.chat.voice import Voice
from rolellm_graphs.events import Event, MessageDone, Prefilling, TokenDelta, TurnFailed, Waiting
from rolellm_tui.widgets.chat.answer_column import AnswerColumn
from rolellm_tui.widgets.chat.answer_grid import AnswerGrid
from rolellm_tui.widgets.chat.voice_form import VoiceChoice, VoiceForm
from rolellm_tui.widgets.common.failures import failure_text
from rolellm_tui.widgets.common.key_footer import KeyFooter
from rolellm_tui.widgets.common.status_line import Complaint
from rolellm_tui.widgets.inspector.provenance import ProvenanceLog

Phase = Literal["choosing", "answering", "answered"]

_NOTHING_TO_ANSWER = "There is nothing to answer yet; write a line first."
_LONGEST_LINE = 500
"""Maximum length of the displayed line, in characters."""


class CompareScreen(Screen[bool]):
    """Select voices, compare their answers and keep one. Returns whether the line was sent."""

    CSS_PATH = "compare.tcss"
    BINDINGS = [
        Binding("1", "keep(1)", "Keep", id="compare.keep-1", tooltip="Keep one.", key_display="1–4 ⏎"),
        Binding("2", "keep(2)", "Keep the second", id="compare.keep-2", show=False),
        Binding("3", "keep(3)", "Keep the third", id="compare.keep-3", show=False),
        Binding("4", "keep(4)", "Keep the fourth", id="compare.keep-4", show=False),
        Binding("enter", "keep_chosen", "Keep", id="compare.keep", tooltip="Keep this one.", show=False),
        Binding("n", "again", "Again", id="compare.again", tooltip="Generate all answers again."),
        Binding(
            "escape", "stop", "Stop", id="compare.stop", tooltip="Stop all answers and keep their text."
        ),
        Binding("escape", "keep_first", "First", id="compare.keep-first", tooltip="Keep the first."),
        Binding("escape", "leave", "Back", id="compare.leave", tooltip="Back to the chat without sending."),
    ]

    phase: var[Phase] = var("choosing", bindings=True)

    def __init__(
        self,
        session: Session,
        text: str,
        provenance: ProvenanceLog | None = None,
        *,
        choices: Sequence[VoiceChoice] = (),
    ) -> None:
        """Compare answers to a line.

        Args:
            session: the conversation.
            text: the line; when empty, the last line is answered again.
            provenance: where the inspector finds the prompts of the answers.
            choices: the voices; when empty, the user chooses them in a form.
        """
        super().__init__()
        self._provenance = provenance or ProvenanceLog()
        self._session = session
        self._text = text.strip()
        self._choices = choices
        self._sent = False
        """Whether the line was sent, and so is in the transcript."""
        self._models: dict[str, BaseChatModel | None] = {session.model_name: None}
        """Opened models by name; None is the conversation's own."""
        self._asking: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """Compose the line, the form, the answers and the status line."""
        yield Static(self._line(), id="compare-line", markup=False)
        yield Container(id="compare-body")
        yield Complaint(id="compare-status")
        yield KeyFooter()

    @property
    def _line_to_answer(self) -> str:
        """The line to answer, or an empty string."""
        lines = [message.text for message in self._session.messages if message.speaker == USER]
        return self._text or next(reversed(lines), "")

    def _line(self) -> Content:
        if not self._line_to_answer:
            return Content(_NOTHING_TO_ANSWER)
        again = "" if self._text else " again"
        return Content.assemble(
            (f"Compare{again}", "bold"),
            "  ",
            (one_line(self._line_to_answer, _LONGEST_LINE), "$foreground-muted"),
        )

    async def on_mount(self) -> None:
        """Show the form, or let the given voices answer, if there is a line to answer."""
        if self._line_to_answer and self._choices:
            await self._begin(VoiceForm.Chosen(self._choices))
        elif self._line_to_answer:
            self._offer_voices()

    @work(group="form", exclusive=True, exit_on_error=False)
    async def _offer_voices(self) -> None:
        own = self._session.strategy
        strategies = list(dict.fromkeys([own, *strategy_names()]))
        models = [self._session.model_name]
        try:
            models += await asyncio.to_thread(named_models)
        except RoleLLMError as error:
            self._status.complain(error)
        models.append(PROVIDERS["llamacpp"].example)
        await self.query_one("#compare-body").mount(VoiceForm(strategies, list(dict.fromkeys(models))))

    # Answers

    @on(VoiceForm.Chosen)
    async def _begin(self, event: VoiceForm.Chosen) -> None:
        body = self.query_one("#compare-body")
        await body.remove_children()
        await body.mount(AnswerGrid(event.choices))
        self._asking = self._ask()

    @work(group="answers", exclusive=True, exit_on_error=False)
    async def _ask(self) -> None:
        """Let all voices answer. One failure does not affect the others."""
        columns = self._columns
        self.phase = "answering"
        self._status.show_message("")
        try:
            for column in columns:
                column.wait()
            voices = [(column, voice) for column in columns if (voice := await self._voice_of(column))]
            if voices:
                await self._follow(voices)
        except RoleLLMError as error:
            self._status.complain(error)
        finally:
            for column in columns:
                column.give_up()
            self.phase = "answered"

    async def _voice_of(self, column: AnswerColumn) -> Voice | None:
        """Open the voice of a column. On failure, the column shows the error and the result is None."""
        try:
            return await asyncio.to_thread(self._make_voice, column.choice)
        except RoleLLMError as error:
            column.fail(str(error))
            return None

    def _make_voice(self, choice: VoiceChoice) -> Voice:
        """Open a model with the user's settings. This may load packages and files."""
        if choice.model not in self._models:
            settings = load_settings()
            make = model_maker(settings, preset=chosen_preset(settings))
            self._models[choice.model] = make(choice.model)
        return self._session.another_voice(
            strategy=choice.strategy, model=self._models[choice.model], model_name=choice.model
        )

    async def _follow(self, voices: Sequence[tuple[AnswerColumn, Voice]]) -> None:
        text = "" if self._sent else self._text
        if text.strip():
            self._session.greet()
        logs = [self._provenance.beside() for _ in voices]
        async with aclosing(self._session.compare(text, [voice for _, voice in voices])) as events:
            async for compared in events:
                self._sent = True
                logs[compared.place].note(compared.event)
                _show(voices[compared.place][0], compared.event)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the actions that apply now."""
        phase = _PHASES.get(action)
        return phase is None or phase == self.phase

    def action_stop(self) -> None:
        """Stop all answers and keep their text."""
        if self._session.answering:
            self._session.cancel()
        elif self._asking is not None:
            self._asking.cancel()

    def action_again(self) -> None:
        """Regenerate all answers; the old ones stay as swipes."""
        self._asking = self._ask()

    def action_keep(self, number: int) -> None:
        """Keep one of the answers."""
        if number <= len(self._columns):
            self._keep(self._columns[number - 1])

    def action_keep_chosen(self) -> None:
        """Keep the selected answer."""
        self._keep(self.query_one(AnswerGrid).chosen)

    def action_keep_first(self) -> None:
        """Keep the first finished answer."""
        answers = [column for column in self._columns if column.message]
        if answers:
            self._keep(answers[0])
        else:
            self.dismiss(self._sent)

    def action_leave(self) -> None:
        """Go back without sending."""
        self.dismiss(False)

    def _keep(self, column: AnswerColumn) -> None:
        if column.message is None:
            self._status.complain(
                "This answer is empty; keep another one, or press n to generate all again."
            )
            return
        try:
            self._session.choose(column.message.id)
        except RoleLLMError as error:
            self._status.complain(error)
        else:
            self.dismiss(True)

    @property
    def _columns(self) -> Sequence[AnswerColumn]:
        return self.query_one(AnswerGrid).columns

    # Status

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of workers instead of ending the app."""
        if failure := failure_text(event):
            self._status.complain(failure)

    @property
    def _status(self) -> Complaint:
        return self.query_one(Complaint)


_PHASES: dict[str, Phase] = {
    "leave": "choosing",
    "stop": "answering",
    "keep": "answered",
    "keep_chosen": "answered",
    "keep_first": "answered",
    "again": "answered",
}
"""When an action is enabled; others always are."""


def _show(column: AnswerColumn, event: Event) -> None:
    match event:
        case TokenDelta(text=text):
            column.say(text)
        case Waiting() | Prefilling():
            column.wait(str(event))
        case MessageDone(message=message):
            column.finish(message)
        case TurnFailed(error=error, message=part):
            column.fail(str(error), part)
