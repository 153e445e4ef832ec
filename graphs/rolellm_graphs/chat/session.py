"""The interface between a conversation and a front end, which holds a `Session`.

A session generates answers, records the transcript, and yields typed events. The transcript is the only
source of the history, so the graph needs no checkpointer.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.errors import MessageError, RoleLLMError
from rolellm_agents.models.context_size import context_size
from rolellm_agents.models.failures import explain_failure
from rolellm_agents.models.local import Cancellable, LocalModel, load_model
from rolellm_agents.models.presets.using import left_out_note
from rolellm_agents.models.separated import separated
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.prompting.suggestion import line_prompt
from rolellm_agents.recall import RecallOptions, memories_of
from rolellm_agents.text import replace_surrogates
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.answer import PendingAnswer, as_langchain, lore_so_far
from rolellm_graphs.chat.comparison import Compared, follow_all
from rolellm_graphs.chat.cursor import ConversationCursor
from rolellm_graphs.chat.summarizing import Summaries
from rolellm_graphs.chat.summary import ActiveSummary, covered_exchanges
from rolellm_graphs.chat.voice import Voice
from rolellm_graphs.events import Event, MessageDone, TurnFailed


class Opening(NamedTuple):
    """The start of a turn."""

    path: list[Message] | None
    """The messages up to the one that is answered; None when nothing is answered."""
    recorded: Message | None = None
    """The user's line that was recorded for this turn."""
    prefix: str = ""
    """Prefix that the answer continues."""


class Session(ConversationCursor):
    """A user's conversation with one persona."""

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
            persona: the persona that answers.
            transcript: stores all messages.
            model: any LangChain chat model, or a spec for `get_model`.
            model_name: the model's name in the transcript; defaults to its spec.
            strategy: a strategy or its name; defaults to the model's preferred strategy.
            conversation: the id of a conversation to continue; by default the first message creates one.
            seed: makes answers reproducible; each swipe of an answer adds one to it.
            user_name: the user's display name, for `{{user}}` in cards.
            about_user: a description of the user for the model.
            lorebooks: further lorebooks beside the persona's own.
            recall: how passages are looked up; defaults to the strategy's method.
            remember: whether the persona recalls passages of its other conversations.

        Raises:
            ModelError: there is no such model.
            SettingsError: there is no such strategy.
            MessageError: there is no such conversation.
            StorageError: the transcript cannot be read.
        """
        super().__init__(transcript, conversation)
        self.user_name = user_name
        self.about_user = about_user
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
        """The first message of a new conversation; may be replaced by an alternate greeting of the card."""
        self._seed = seed
        self._note = transcript.note(conversation) if conversation else transcript.draft(self._note_key)
        self._cancelled = False
        self._answers: list[PendingAnswer] = []
        self._ahead: Cancellable | None = None
        self._summaries = Summaries(transcript, conversation)

    @property
    def model(self) -> BaseChatModel:
        """The model that answers."""
        return self.voice.model

    @property
    def model_name(self) -> str:
        """The model's name in the transcript."""
        return self.voice.model_name

    @property
    def strategy(self) -> str:
        """The name of the strategy."""
        return self.voice.strategy

    @property
    def notice(self) -> str:
        """What the user should know before the first answer; empty if there is nothing."""
        told = (self.voice.prompting.note, left_out_note(self.model, self.model_name))
        return " ".join(filter(None, told))

    @property
    def voice_options(self) -> Mapping[str, Any]:
        """How this conversation's voices are prompted: the user, lorebooks, recall and memories."""
        return MappingProxyType(self._voice_options)

    async def prepare(self) -> None:
        """Load the model now, while the user reads or types.

        Raises:
            ModelError: the model cannot be loaded.
        """
        await asyncio.to_thread(load_model, self.model)

    # Prefilling the next prompt
    async def read_ahead(self, draft: str = "") -> None:
        """Prefill the known part of the next prompt in a local model, while the user reads or types.

        This runs in the background. Answers take precedence, and an answer prefills whatever is missing.

        Args:
            draft: the text that the user has typed so far.
        """
        if self._ahead is not None:
            self._ahead.cancel()
        if isinstance(self.model, LocalModel) and not self.answering:
            self._ahead = await asyncio.to_thread(self._read_ahead, self.model, draft.strip())

    def _read_ahead(self, model: LocalModel, draft: str) -> Cancellable | None:
        summary = self.summary
        path = self._path[summary.covers :] if summary else self._path
        history: list[BaseMessage] = [as_langchain(message) for message in path]
        if not history and self.greeting:
            history = [AIMessage(self.greeting)]
        try:
            return model.prefetch(self._foresee(history, draft, summary))
        except RoleLLMError:
            # The answer will report the same error.
            return None

    def _foresee(
        self, history: list[BaseMessage], draft: str, summary: ActiveSummary | None
    ) -> list[BaseMessage]:
        prompting, text = self.voice.prompting, summary.text if summary else ""
        if not draft:
            return prompting.stable_prefix(history, summary=text)
        earlier = covered_exchanges(self.voice, self._path, summary) if summary else ()
        found = prompting.look_up(history, draft, lore_so_far(self._path), earlier=earlier)
        return prompting.compose(history, found.recalled, draft, note=self._note, summary=text)

    # Messages and answers

    def greet(self) -> None:
        """Record the greeting, if there is one, as the first message.

        Call it right before the first `send`, so that a conversation without a user's line is not stored.

        Raises:
            StorageError: the greeting could not be recorded.
        """
        if not self._path and self.greeting:
            self._say([], self.persona.id, self.greeting, made_by={"greeting": True})

    def send(self, text: str) -> AsyncGenerator[Event, None]:
        """Send a line and receive the answer.

        Raises:
            MessageError: the text is empty, or an answer is still being generated. Nothing was recorded.
            StorageError: the text could not be recorded.
        """

        def said() -> Opening:
            message = self._say(self._path, USER, _checked(text))
            return Opening(self._path, recorded=message)

        return self._answer(said)

    def regenerate(self) -> AsyncGenerator[Event, None]:
        """Answer the user's last line again; the previous answer is kept as a swipe.

        If the new answer fails, the branch still shows the previous one.

        Raises:
            MessageError: there is nothing to answer, or an answer is still being generated.
        """
        return self._answer(lambda: Opening(self._path_to_line()))

    def continue_answer(self) -> AsyncGenerator[Event, None]:
        """Continue the last answer after its last word; the shorter answer is kept as a swipe.

        Local models can continue in the middle of a sentence; not all model servers can.

        Raises:
            MessageError: the last message is not an answer, or an answer is still being generated.
        """

        def last_answer() -> Opening:
            path = self._path_to_line()
            if len(self._path) != len(path) + 1:
                raise MessageError("There is no answer to continue; send a message first.")
            return Opening(path, prefix=self._path[-1].text)

        return self._answer(last_answer)

    def edit(self, message_id: str, text: str) -> AsyncGenerator[Event, None]:
        """Add an edited version of a message of this branch and continue from it; the original is kept.

        If the message is a line of the user's, it is answered again.

        Raises:
            MessageError: the text is empty, there is no such message, or an answer is being generated.
        """

        def edited() -> Opening:
            line = _checked(text)
            place = self._place_of(message_id)
            old = self._path[place]
            message = self._say(self._path[:place], old.speaker, line, made_by={"edited": old.id})
            return Opening(self._path if message.speaker == USER else None, recorded=message)

        return self._answer(edited)

    async def compare(self, text: str, voices: Sequence[Voice]) -> AsyncGenerator[Compared, None]:
        """Send a line and let several voices answer it concurrently.

        The answers become swipes of each other. The branch shows the first one; `choose` selects another.

        Args:
            text: the line; if empty, each voice answers the last line again.
            voices: the voices, for example from `another_voice`.

        Raises:
            MessageError: there is nothing to answer, or an answer is still being generated.
        """
        with self._turn():
            if text.strip():
                self._say(self._path, USER, _checked(text))
            path = self._path_to_line()
            names = [self._branch, *(f"{self._branch}/{number}" for number in range(2, len(voices) + 1))]
            self._register(
                [
                    PendingAnswer(
                        voice,
                        self._transcript,
                        path,
                        branch=name,
                        seed=self._seed,
                        note=self._note,
                        summary=self._summaries.active(path) if self._summaries.texts else None,
                    )
                    for voice, name in zip(voices, names, strict=True)
                ]
            )
            async with aclosing(follow_all(self._answers)) as events:
                async for event in events:
                    yield event
            if self._answers and self._answers[0].message:
                self._path = [*path, self._answers[0].message]

    def another_voice(
        self,
        *,
        strategy: str | Strategy | None = None,
        model: BaseChatModel | None = None,
        model_name: str | None = None,
    ) -> Voice:
        """A voice with the same persona and options under another strategy or another model.

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
        """Suggest the user's next line, word by word; nothing is recorded.

        Raises:
            ModelError: the model cannot answer.
            MessageError: an answer is still being generated.
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
        """Stop all running answers; the transcript keeps the parts that were received."""
        self._cancelled = True
        for answer in self._answers:
            answer.cancel()

    # The user's draft

    @property
    def draft(self) -> str:
        """The saved text of a line that is not sent yet."""
        return self._transcript.draft(self._draft_key)

    def keep_draft(self, text: str) -> None:
        """Save the text that the user has typed so far, so that it survives a crash.

        Raises:
            StorageError: the draft could not be written.
        """
        if self.conversation is None:
            self._transcript.keep_draft(self.persona.id, text)
        else:
            self._transcript.keep_draft_of(self.conversation, text)

    @property
    def _draft_key(self) -> str:
        return self.conversation or self.persona.id

    @property
    def context_size(self) -> int | None:
        """The model's context size in tokens; None if it is unknown."""
        return context_size(self.model)

    # The author's note

    @property
    def note(self) -> str:
        """The author's note of this conversation, which is inserted near the end of each prompt."""
        return self._note

    def set_note(self, text: str) -> None:
        """Set the author's note, starting with the next answer; an empty text removes it.

        Raises:
            StorageError: the note could not be recorded.
        """
        self._note = text.strip()
        if self.conversation is not None:
            self._transcript.set_note(self.conversation, self._note)
        else:
            self._transcript.keep_draft(self._note_key, self._note)

    @property
    def _note_key(self) -> str:
        """The key of the note of a conversation that does not exist yet; ids of personas have no colon."""
        return f"note:{self.persona.id}"

    # The summary of what no longer fits

    @property
    def summary(self) -> ActiveSummary | None:
        """The summary that stands in this branch's prompts for its earlier messages, if there is one."""
        return self._summaries.active(self._path)

    def edit_summary(self, text: str) -> None:
        """Replace the text of the summary, starting with the next answer; an empty text removes it.

        Raises:
            MessageError: there is no summary.
            StorageError: the text could not be recorded.
        """
        self._summaries.edit(self._path, text)

    async def summarize(self) -> bool:
        """Let the model summarize the messages that do not fit into its context, or will not soon.

        Call it in the background after a turn. An answer takes precedence: it stops the work, which goes on
        with the next call. After a failure the conversation goes on without new summaries.

        Returns:
            Whether there is a new summary.

        Raises:
            ModelError: the model could not summarize the messages; raised once.
            StorageError: the summary could not be recorded.
        """
        if self.answering:
            return False
        return await self._summaries.write(self.voice, lambda: self._path)

    # Internals

    def _begin_conversation(self) -> str:
        conversation = self._transcript.create_conversation(self.persona.id)
        if self._note:
            self._transcript.set_note(conversation, self._note)
            self._transcript.keep_draft(self._note_key, "")
        # The draft of a new conversation was kept under the persona's id, where the next one would find it.
        if draft := self._transcript.draft(self.persona.id):
            self._transcript.keep_draft(conversation, draft)
            self._transcript.keep_draft(self.persona.id, "")
        return conversation

    def _say(
        self, path: Sequence[Message], speaker: str, text: str, made_by: dict[str, Any] | None = None
    ) -> Message:
        return self._append(path, speaker, text, audience=(USER, self.persona.id), made_by=made_by)

    async def _answer(self, begin: Callable[[], Opening]) -> AsyncGenerator[Event, None]:
        """Run one turn: generate the answer, and move to it if there is one.

        Args:
            begin: records the start of the turn, and returns the path that is answered.
        """
        with self._turn():
            opening = begin()
            if opening.recorded:
                yield MessageDone(message=opening.recorded)
            if opening.path is None:
                return
            answer = PendingAnswer(
                self.voice,
                self._transcript,
                opening.path,
                branch=self._branch,
                seed=self._next_seed(opening.path),
                note=self._note,
                prefix=opening.prefix,
                summary=self._summaries.active(opening.path) if self._summaries.texts else None,
            )
            self._register([answer])
            try:
                async with aclosing(answer.events()) as events:
                    async for event in events:
                        if isinstance(event, MessageDone | TurnFailed) and answer.message:
                            self._path = [*opening.path, answer.message]
                        yield event
            finally:
                if answer.message:
                    self._path = [*opening.path, answer.message]

    def _register(self, answers: list[PendingAnswer]) -> None:
        """Register answers for `cancel`, and stop them if it was called before."""
        self._answers = answers
        if self._summaries.writing:
            self._summaries.writing.cancel()
        if self._cancelled:
            self.cancel()

    def _path_to_line(self) -> list[Message]:
        """The path up to the user's last line."""
        places = [place for place, message in enumerate(self._path) if message.speaker == USER]
        if not places:
            raise MessageError("There is nothing to answer yet; send a message first.")
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
    async for chunk in separated(model).astream(prompt):
        yield replace_surrogates(chunk.text)


def _checked(text: str) -> str:
    if not text.strip():
        raise MessageError("The message is empty; type some text.")
    return text.strip()
