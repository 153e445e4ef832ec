"""Printing of answers in plain mode."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.transcript import Message
from rolellm_graphs.chat.session import Session
from rolellm_graphs.chat.voice import Voice
from rolellm_graphs.events import Event, MessageDone, Prompted, TokenDelta, TurnFailed
from rolellm_tui.output import StreamedText, complain
from rolellm_tui.plain.background import BackgroundLoop
from rolellm_tui.plain.waiting_lines import waiting_lines


class Answers:
    """Prints streamed answers of a session, and keeps the provenance of the last one."""

    def __init__(self, session: Session, loop: BackgroundLoop) -> None:
        """Create the printer.

        Args:
            session: the session of the conversation.
            loop: the event loop that runs the session.
        """
        self._session = session
        self._loop = loop
        self._prompted: Prompted | None = None
        self._answer: str | None = None
        self.is_complete = True
        """Whether the last answer is complete: it was not stopped and did not fail."""

    def suggested_line(self) -> str:
        """The user's next line as the model writes it.

        Raises:
            RoleLLMError: the model cannot answer.
        """
        return self._loop.wait_for(self._loop.begin(self._suggest())).strip()

    def compared(self, voices: Sequence[Voice]) -> list[Message | str]:
        """Let several voices answer the last line; their answers in order, or why there is none.

        Raises:
            RoleLLMError: there is nothing to answer.
        """
        compared = self._loop.begin(self._compare(voices))
        try:
            answers = self._loop.wait_for(compared)
        except KeyboardInterrupt:
            self._loop.call(self._session.cancel)
            answers = self._loop.wait_for(compared)
        self._loop.begin(self._prepare_next())
        return answers

    async def _compare(self, voices: Sequence[Voice]) -> list[Message | str]:
        answers: list[Message | str] = ["It was stopped."] * len(voices)
        async with aclosing(self._session.compare("", voices)) as events:
            async for one in events:
                match one.event:
                    case MessageDone(message=message):
                        answers[one.place] = message
                    case TurnFailed(error=error):
                        answers[one.place] = str(error)
        return answers

    async def _suggest(self) -> str:
        async with aclosing(self._session.suggest_line()) as chunks:
            return "".join([chunk async for chunk in chunks])

    def get_ready(self) -> None:
        """Load the model and prefill the prompt in the background."""
        self._loop.begin(self._prepare())

    def print_answer(self, events: AsyncGenerator[Event, None], prefix: str = "") -> None:
        """Print an answer. Ctrl-C stops it; a second Ctrl-C stops waiting for its end.

        Args:
            events: the events of the session.
            prefix: the beginning of the answer that was printed before.

        Raises:
            RoleLLMError: there is nothing to answer.
            KeyboardInterrupt: Ctrl-C was pressed a second time.
        """
        answer = self._loop.begin(self._print(events, prefix))
        try:
            self._loop.wait_for(answer)
        except KeyboardInterrupt:
            self._loop.call(self._session.cancel)
            self._loop.wait_for(answer)
        self._loop.begin(self._prepare_next())

    def prompt_of(self, answer: str) -> Prompted | None:
        """The provenance of an answer, if it is the last one."""
        return self._prompted if answer == self._answer else None

    async def _prepare(self) -> None:
        # The answer itself reports the error.
        with suppress(RoleLLMError):
            await self._session.prepare()
            await self._session.read_ahead()

    async def _prepare_next(self) -> None:
        """Prepare the next answer, and summarize what no longer fits into the prompt."""
        await self._prepare()
        try:
            if await self._session.summarize():
                await self._session.read_ahead()
        except RoleLLMError as error:
            complain(str(error))

    async def _print(self, events: AsyncGenerator[Event, None], prefix: str) -> None:
        speaking = False
        shown = StreamedText()
        with waiting_lines(self._session.voice.model) as waiting:
            async with aclosing(events):
                async for event in events:
                    waiting.take(event)
                    match event:
                        case Prompted():
                            self._prompted, self._answer = event, None
                        case TokenDelta(text=text):
                            printed = text if speaking else self._first_words(text, prefix)
                            shown.print_part(printed)
                            self._answer, speaking = event.message, True
                        case MessageDone(message=message) if speaking:
                            self.is_complete = message.status == "complete"
                            shown.end(f" ({message.ending})" if message.ending else "")
                        case TurnFailed(error=error):
                            self.is_complete = False
                            if speaking:
                                shown.end()
                            complain(str(error))

    def _first_words(self, text: str, prefix: str) -> str:
        name = self._session.persona.name
        if prefix and text.startswith(prefix):
            return f"{name} continues: {text[len(prefix) :].lstrip()}"
        return f"{name}: {text}"
