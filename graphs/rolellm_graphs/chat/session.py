"""The seam between a conversation and whatever shows it: a front end holds a `Session`.

A session lets voices answer, keeps the transcript, and yields typed events. The transcript is the truth;
the graph gets its history from there and needs no checkpointer.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import Cancellable, LocalModel, load_model
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.prompting.suggestion import line_prompt
from rolellm_agents.recall import RecallOptions, memories_of
from rolellm_agents.text import whole
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.answer import PendingAnswer, as_langchain, lore_so_far
from rolellm_graphs.chat.comparison import Compared, follow_all
from rolellm_graphs.chat.cursor import ConversationCursor
from rolellm_graphs.chat.voice import Voice
from rolellm_graphs.events import Event, MessageDone, TurnFailed


class Opening(NamedTuple):
    """What a turn begins with."""

    path: list[Message] | None
    """The messages up to the one that is answered; None when nothing is answered."""
    said: Message | None = None
    """What the person said just now."""
    begun: str = ""
    """Words that the answer begins with."""


class Session(ConversationCursor):
    """One person's conversation with one persona."""

    def __init__(
        self,
        persona: Persona,
        transcript: Transcript,
        *,
        model: BaseChatModel | str = DEFAULT_MODEL,
        model_name: str | None = None,
        strategy: str | Strategy | None = None,
        conversation: str | None = None,
        seed: int | None = None,
        user_name: str = DEFAULT_USER,
        about_user: str = "",
        lorebooks: Sequence[Lorebook] = (),
        recall: RecallOptions | None = None,
        remember: bool = False,
    ) -> None:
        """Open a conversation.

        Args:
            persona: whom to talk with.
            transcript: where everything said is kept.
            model: any LangChain chat model, or a spec for `get_model`.
            model_name: what the transcript calls the model; its spec when None.
            strategy: a strategy or its name; the model's preferred strategy when None.
            conversation: the id of one to go on with; a new one begins with the first message.
            seed: makes answers repeatable; each swipe of an answer adds one to it.
            user_name: what the persona calls the person, for `{{user}}` in cards.
            about_user: who the person is, told to the model.
            lorebooks: of the world, beside the persona's own.
            recall: how passages are looked up; what suits the strategy when None.
            remember: let the persona recall what was said in its other conversations.

        Raises:
            ModelError: there is no such model.
            SettingsError: there is no such strategy.
            MessageError: there is no such conversation.
            StorageError: the transcript cannot be read.
        """
        super().__init__(transcript, conversation)
        self.user_name = user_name
        self._voice_options: dict[str, Any] = {
            "user": user_name,
            "about_user": about_user,
            "lorebooks": lorebooks,
            "recall": recall,
            "memories": memories_of(transcript, persona, user=user_name, but=conversation)
            if remember
            else (),
        }
        self.voice = Voice(
            persona, model=model, model_name=model_name, strategy=strategy, **self._voice_options
        )
        self.persona = self.voice.persona
        self.greeting = self.persona.greeting
        """What a new conversation begins with; a card's alternate one may be put here."""
        self._seed = seed
        self._note = transcript.note(conversation) if conversation else ""
        self._cancelled = False
        self._answers: list[PendingAnswer] = []
        self._ahead: Cancellable | None = None

    @property
    def model(self) -> BaseChatModel:
        """What answers."""
        return self.voice.model

    @property
    def model_name(self) -> str:
        """What the transcript calls it."""
        return self.voice.model_name

    @property
    def strategy(self) -> str:
        """How the persona reaches it."""
        return self.voice.strategy

    async def prepare(self) -> None:
        """Load the model now, while the person reads or types.

        Raises:
            ModelError: it cannot be loaded.
        """
        await asyncio.to_thread(load_model, self.model)

    # Reading ahead

    async def read_ahead(self, draft: str = "") -> None:
        """Let a local model read what is known of the next prompt, while the person reads or types.

        Nobody waits for it: an answer goes first, and what cannot be read ahead is read later.

        Args:
            draft: what the person has typed so far.
        """
        if self._ahead is not None:
            self._ahead.cancel()
        if isinstance(self.model, LocalModel) and not self.answering:
            self._ahead = await asyncio.to_thread(self._read_ahead, self.model, draft.strip())

    def _read_ahead(self, model: LocalModel, draft: str) -> Cancellable | None:
        history: list[BaseMessage] = [as_langchain(message) for message in self._path]
        if not history and self.greeting:
            history = [AIMessage(self.greeting)]
        try:
            return model.prefetch(self._foresee(history, draft))
        except RoleLLMError:
            # The answer itself will tell what is wrong.
            return None

    def _foresee(self, history: list[BaseMessage], draft: str) -> list[BaseMessage]:
        prompting = self.voice.prompting
        if not draft:
            return prompting.foreseen(history)
        found = prompting.look_up(history, draft, lore_so_far(self._path))
        return prompting.compose(history, found.recalled, draft, note=self._note)

    # Saying and answering

    def greet(self) -> None:
        """Let the greeting, if there is one, be the first message.

        Call it before the first `send`, so that a conversation nobody began is not kept.

        Raises:
            StorageError: it could not be recorded.
        """
        if not self._path and self.greeting:
            self._say([], self.persona.id, self.greeting, made_by={"greeting": True})

    def send(self, text: str) -> AsyncGenerator[Event, None]:
        """Say something and receive the answer.

        Raises:
            MessageError: the text is empty, or an answer is still on its way. Nothing was recorded.
            StorageError: the text could not be recorded.
        """

        def said() -> Opening:
            message = self._say(self._path, USER, _checked(text))
            return Opening(self._path, said=message)

        return self._answer(said)

    def regenerate(self) -> AsyncGenerator[Event, None]:
        """Answer the person's last line again; the answer before stays, as a swipe.

        When no new answer comes, the one before stays in view.

        Raises:
            MessageError: there is nothing to answer, or an answer is still on its way.
        """
        return self._answer(lambda: Opening(self._asked()))

    def continue_answer(self) -> AsyncGenerator[Event, None]:
        """Go on from the last words of the last answer; the answer as it was stays, as a swipe.

        A local model goes on in the middle of a sentence; of servers, those do that know how to.

        Raises:
            MessageError: the last message is no answer, or an answer is on its way.
        """

        def last_answer() -> Opening:
            asked = self._asked()
            if len(self._path) != len(asked) + 1:
                raise MessageError("There is no answer to go on with; say something first.")
            return Opening(asked, begun=self._path[-1].text)

        return self._answer(last_answer)

    def edit(self, message_id: str, text: str) -> AsyncGenerator[Event, None]:
        """Put other words beside a message of this branch and go on from there; the old ones stay.

        A line of the person's is answered anew.

        Raises:
            MessageError: the text is empty, there is no such message, or an answer is on its way.
        """

        def edited() -> Opening:
            line = _checked(text)
            place = self._place_of(message_id)
            old = self._path[place]
            message = self._say(self._path[:place], old.speaker, line, made_by={"edited": old.id})
            return Opening(self._path if message.speaker == USER else None, said=message)

        return self._answer(edited)

    async def compare(self, text: str, voices: Sequence[Voice]) -> AsyncGenerator[Compared, None]:
        """Say something and let several voices answer at once.

        The answers become swipes of each other; `choose` keeps one. Until then the first is on the branch.

        Args:
            text: the line; empty to have the last line answered once more by each.
            voices: as `another_voice` makes them.

        Raises:
            MessageError: there is nothing to answer, or an answer is still on its way.
        """
        with self._turn():
            if text.strip():
                self._say(self._path, USER, _checked(text))
            asked = self._asked()
            names = [self._branch, *(f"{self._branch}/{number}" for number in range(2, len(voices) + 1))]
            self._listen_to(
                [
                    PendingAnswer(
                        voice, self._transcript, asked, branch=name, seed=self._seed, note=self._note
                    )
                    for voice, name in zip(voices, names, strict=True)
                ]
            )
            async with aclosing(follow_all(self._answers)) as events:
                async for event in events:
                    yield event
            if self._answers and self._answers[0].message:
                self._path = [*asked, self._answers[0].message]

    def another_voice(
        self,
        *,
        strategy: str | Strategy | None = None,
        model: BaseChatModel | None = None,
        model_name: str | None = None,
    ) -> Voice:
        """The same persona in the same circumstances, by another strategy or another model.

        Raises:
            SettingsError: there is no such strategy.
        """
        return Voice(
            self.persona,
            model=model or self.model,
            model_name=model_name or (None if model else self.model_name),
            strategy=strategy or self.voice.prompting.strategy_function,
            **self._voice_options,
        )

    async def suggest_line(self) -> AsyncGenerator[str, None]:
        """Let the model write what the person might say next, word by word; nothing is recorded.

        Raises:
            ModelError: the model cannot answer.
            MessageError: an answer is on its way.
        """
        with self._turn():
            said = [(message.speaker == USER, message.text) for message in self._path]
            if not said and self.greeting:
                said = [(False, self.greeting)]
            prompt = line_prompt(self.persona, self.user_name, said)
            try:
                async with aclosing(_words(self.model, prompt)) as words:
                    async for word in words:
                        if self._cancelled:
                            break
                        yield word
            except Exception as error:
                raise explain_failure(error, self.model) or error from error

    def cancel(self) -> None:
        """Stop the answers that are on their way, if any; what was said of them is kept."""
        self._cancelled = True
        for answer in self._answers:
            answer.cancel()

    # What the person is writing

    @property
    def draft(self) -> str:
        """The line that was not sent, as it was kept."""
        return self._transcript.draft(self._draft_key)

    def keep_draft(self, text: str) -> None:
        """Keep what the person has typed so far; it survives whatever happens to the process.

        Raises:
            StorageError: it could not be written.
        """
        self._transcript.keep_draft(self._draft_key, text)

    @property
    def _draft_key(self) -> str:
        return self.conversation or self.persona.id

    @property
    def context_size(self) -> int | None:
        """Tokens that the model can have before it, if it says so."""
        size = getattr(self.model, "n_ctx", None)
        return size if isinstance(size, int) else None

    # The author's note

    @property
    def note(self) -> str:
        """The author's note of this conversation; in each prompt it stands near the end."""
        return self._note

    def set_note(self, text: str) -> None:
        """Change the author's note from the next answer on; empty is none.

        Raises:
            StorageError: it could not be recorded.
        """
        self._note = text.strip()
        if self.conversation is not None:
            self._transcript.set_note(self.conversation, self._note)

    # Inside

    def _begin_conversation(self) -> str:
        conversation = self._transcript.create_conversation(self.persona.id)
        if self._note:
            self._transcript.set_note(conversation, self._note)
        return conversation

    def _say(
        self, path: Sequence[Message], speaker: str, text: str, made_by: dict[str, Any] | None = None
    ) -> Message:
        return self._append(path, speaker, text, audience=(USER, self.persona.id), made_by=made_by)

    async def _answer(self, begin: Callable[[], Opening]) -> AsyncGenerator[Event, None]:
        """One turn: let the persona answer, and go on from its answer if one comes.

        Args:
            begin: records what the turn begins with, and says what is answered.
        """
        with self._turn():
            opening = begin()
            if opening.said:
                yield MessageDone(message=opening.said)
            if opening.path is None:
                return
            answer = PendingAnswer(
                self.voice,
                self._transcript,
                opening.path,
                branch=self._branch,
                seed=self._next_seed(opening.path),
                note=self._note,
                begun=opening.begun,
            )
            self._listen_to([answer])
            try:
                async with aclosing(answer.events()) as events:
                    async for event in events:
                        if isinstance(event, MessageDone | TurnFailed) and answer.message:
                            self._path = [*opening.path, answer.message]
                        yield event
            finally:
                if answer.message:
                    self._path = [*opening.path, answer.message]

    def _listen_to(self, answers: list[PendingAnswer]) -> None:
        """Let `cancel` reach them, even if it came before they did."""
        self._answers = answers
        if self._cancelled:
            self.cancel()

    def _asked(self) -> list[Message]:
        """The path up to the person's last line."""
        places = [place for place, message in enumerate(self._path) if message.speaker == USER]
        if not places:
            raise MessageError("There is nothing to answer yet; say something first.")
        return self._path[: places[-1] + 1]

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with super()._turn():
            self._cancelled = False
            try:
                yield
            finally:
                self._answers = []

    def _next_seed(self, path: Sequence[Message]) -> int | None:
        if self._seed is None:
            return None
        return self._seed + len(self._transcript.children(path[-1].id))


async def _words(model: BaseChatModel, prompt: list[BaseMessage]) -> AsyncGenerator[str, None]:
    async for chunk in model.astream(prompt):
        yield whole(chunk.text)


def _checked(text: str) -> str:
    if not text.strip():
        raise MessageError("The message is empty; type something to say.")
    return text.strip()
