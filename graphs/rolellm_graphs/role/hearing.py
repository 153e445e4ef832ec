"""A conversation of several speakers as one of them hears it.

A chat model knows one assistant and one user. So the words of other personas, agents and people become user
messages that say who speaks, in the form of scenes; only the persona's own words are the assistant's.
"""

from collections.abc import Sequence, Set
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from rolellm_agents.errors import MessageError
from rolellm_agents.models.reasoning import without_reasoning
from rolellm_agents.persona import Persona
from rolellm_agents.scene.message_kinds import SAY

_HANDED_BACK: Final = "__is_handoff_back"
"""Key with which langgraph-supervisor marks what it adds in an agent's name after its answer."""
_MEDIA: Final = frozenset(
    ("image", "image_url", "input_image", "audio", "input_audio", "video", "file", "media")
)


def as_heard(
    messages: Sequence[BaseMessage], persona: Persona, *, user: str, agent: str | None = None
) -> list[BaseMessage]:
    """The messages as the persona hears them.

    An AI message of another speaker, and a human message with a name other than the user's, become user
    messages such as “Jack Sparrow: Gone, mate.” Such messages and the user's next to them become one
    message with a line for each, all with their speakers. Other messages without a name, and the persona's
    own, stay as they are. Tool calls of others are left out with their results, and so are the messages
    with which an agent is handed back to its supervisor.

    Args:
        messages: of all speakers, in order.
        persona: who hears them.
        user: the display name of the person who talks with the persona.
        agent: the name under which other agents know the persona, in addition to its id and name.

    Raises:
        MessageError: another speaker's message contains a picture, a sound or a file.
    """
    own = {persona.id, persona.name, agent}
    return heard_by(own, messages, user=user, form=SAY.shown_form(persona.language))


def heard_by(
    own: Set[str | None], messages: Sequence[BaseMessage], *, user: str, form: str
) -> list[BaseMessage]:
    """The messages as the speaker with these names hears them; see `as_heard`.

    Args:
        own: the names of the speaker who hears them.
        messages: of all speakers, in order.
        user: the display name of the person who talks with the speaker.
        form: how another speaker's words are written, with `{name}` and `{text}`.

    Raises:
        MessageError: another speaker's message contains a picture, a sound or a file.
    """
    heard: list[BaseMessage] = []
    among_others = False  # whether the last turn has words of other speakers
    for message in _meant_for(messages, own):
        if isinstance(message, SystemMessage):
            heard.append(message)
            continue
        speaker = _other_speaker(message, own, user)
        is_others = speaker is not None
        turn = message if speaker is None else _said_by(speaker, message, form)
        before = _last_user_turn(heard)
        if before is not None and isinstance(turn, HumanMessage) and (among_others or is_others):
            # Beside words of others, the user's own need a name, too.
            first = heard[before] if among_others else _said_by(user, heard[before], form)
            then = turn if is_others else _said_by(user, turn, form)
            del heard[before]
            turn, is_others = HumanMessage(f"{first.text}\n{then.text}"), True
        heard.append(turn)
        among_others = is_others
    return heard


def refuse_more_than_words(message: BaseMessage) -> None:
    """Refuse a message with more than text, because a prompt takes only the text of other speakers.

    Reasoning and tool calls in an AI message are left out instead.

    Raises:
        MessageError: the message contains a picture, a sound, a file, or a part of an unknown type.
    """
    for block in message.content:
        kind = block.get("type", "unknown") if isinstance(block, dict) else "text"
        if kind in _MEDIA or (kind != "text" and isinstance(message, HumanMessage)):
            whose = "A user message" if isinstance(message, HumanMessage) else "Another agent's message"
            raise MessageError(
                f"{whose} contains a part of the type {kind!r}, but a persona accepts only text; "
                "leave it out, or describe its content."
            )


def _meant_for(messages: Sequence[BaseMessage], own: Set[str | None]) -> list[BaseMessage]:
    """The messages without those that only hand over or call tools of others."""
    kept: list[BaseMessage] = []
    left_out: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in left_out:
            continue
        if isinstance(message, AIMessage):
            handed_back = bool(message.response_metadata.get(_HANDED_BACK))
            if handed_back or not _is_own(message, own):
                left_out.update(call["id"] for call in message.tool_calls)
                if handed_back or not (message.text.strip() or _MEDIA & _kinds(message)):
                    continue
        kept.append(message)
    return kept


def _other_speaker(message: BaseMessage, own: Set[str | None], user: str) -> str | None:
    """The display name of another speaker than the persona and its user."""
    if isinstance(message, HumanMessage):
        return message.name if message.name and message.name != user else None
    if isinstance(message, AIMessage) and not _is_own(message, own):
        return str(message.response_metadata.get("persona_name") or message.name)
    return None


def _is_own(message: AIMessage, own: Set[str | None]) -> bool:
    """Whether a message is the persona's; one without a name is."""
    speaker = message.response_metadata.get("persona") or message.name
    return not speaker or speaker in own


def _said_by(speaker: str, message: BaseMessage, form: str) -> HumanMessage:
    refuse_more_than_words(message)
    text = form.format(name=speaker, text=without_reasoning(message).text.strip())
    return HumanMessage(text)


def _last_user_turn(messages: Sequence[BaseMessage]) -> int | None:
    """The place of the last message that is no system message, if it is a user message."""
    for at in range(len(messages) - 1, -1, -1):
        if not isinstance(messages[at], SystemMessage):
            return at if isinstance(messages[at], HumanMessage) else None
    return None


def _kinds(message: BaseMessage) -> set[str]:
    return {block.get("type", "") for block in message.content if isinstance(block, dict)}
