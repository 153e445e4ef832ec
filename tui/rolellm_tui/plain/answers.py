"""Answers in plain mode: their words are printed as they come."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from rolellm_agents.errors import RoleLLMError
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import Event, MessageDone, Prompted, TokenDelta, TurnFailed
from rolellm_tui.output import complain, print_text
from rolellm_tui.plain.background import BackgroundLoop


class Answers:
    """Lets a session answer, and knows how the last answer was asked for."""

    def __init__(self, session: Session, loop: BackgroundLoop) -> None:
        """Nothing is asked yet.

        Args:
            session: what answers.
            loop: where it does so.
        """
        self._session = session
        self._loop = loop
        self._prompted: Prompted | None = None
        self._answer: str | None = None

    def get_ready(self) -> None:
        """Load the model and let it read ahead while the person reads and types."""
        self._loop.begin(self._prepare())

    def hear(self, events: AsyncGenerator[Event, None], begun: str = "") -> None:
        """Print an answer; Ctrl-C stops it, and a second one ends the waiting for its end.

        Args:
            events: of the session.
            begun: words of the answer that the person knows already.

        Raises:
            RoleLLMError: there is nothing to answer.
            KeyboardInterrupt: the second one.
        """
        answer = self._loop.begin(self._print(events, begun))
        try:
            self._loop.wait_for(answer)
        except KeyboardInterrupt:
            self._loop.call(self._session.cancel)
            self._loop.wait_for(answer)
        self.get_ready()

    def prompt_of(self, answer: str) -> Prompted | None:
        """How the answer with this id was asked for, if it was the last one here."""
        return self._prompted if answer == self._answer else None

    async def _prepare(self) -> None:
        # The answer itself will tell what is wrong.
        with suppress(RoleLLMError):
            await self._session.prepare()
            await self._session.read_ahead()

    async def _print(self, events: AsyncGenerator[Event, None], begun: str) -> None:
        speaking = False
        async with aclosing(events):
            async for event in events:
                match event:
                    case Prompted():
                        self._prompted, self._answer = event, None
                    case TokenDelta(text=text):
                        words = text if speaking else self._first_words(text, begun)
                        print_text(words, end="")
                        self._answer, speaking = event.message, True
                    case MessageDone(message=message) if speaking:
                        print_text(f" ({message.ending})" if message.ending else "")
                    case TurnFailed(error=error):
                        if speaking:
                            print_text("")
                        complain(str(error))

    def _first_words(self, words: str, begun: str) -> str:
        name = self._session.persona.name
        if begun and words.startswith(begun):
            return f"{name} continues: {words[len(begun) :].lstrip()}"
        return f"{name}: {words}"
