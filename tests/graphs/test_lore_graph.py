"""Lore in the role graph and in sessions: what fired is told, and timed effects rest with the answers."""

import asyncio
from typing import Any

from helpers.cards import book, entry, v2
from langchain_core.messages import HumanMessage, SystemMessage

from rolellm_agents.cards import Card
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import persona_of
from rolellm_agents.transcript import Transcript
from rolellm_graphs import Recalled, Session, role_graph

STICKY = entry(comment="Lamp", extensions={"sticky": 5})


def ada(*entries: dict[str, Any]) -> Persona:
    return persona_of(Card(v2(character_book=book(*entries))), "ada")


def say(session: Session, text: str) -> list[Any]:
    async def talk() -> list[Any]:
        return [event async for event in session.send(text)]

    return asyncio.run(talk())


def test_the_model_is_sent_the_lore_and_macros_filled() -> None:
    model = ScriptedChatModel(replies=["Yes."])
    graph = role_graph(ada(entry()), model=model, strategy="system", user="Tom")
    output = graph.invoke({"messages": [HumanMessage("Is the lamp lit?")]})
    (first, *_) = model.calls[0]
    assert isinstance(first, SystemMessage)
    assert first.text.startswith("The lamp burns herring oil.\nYou are Ada.")
    assert "Ada keeps the lamp." in first.text
    assert [item["kind"] for item in output["recalled"]] == ["lore"]
    assert "lore" in output


def test_a_session_keeps_timed_effects_by_branch() -> None:
    model = ScriptedChatModel(replies=["Hm."])
    with Transcript() as transcript:
        session = Session(ada(STICKY), transcript, model=model, strategy="system")
        events = say(session, "The lamp!")
        (recalled,) = [event for event in events if isinstance(event, Recalled)]
        assert [item["name"] for item in recalled.items if item["kind"] == "lore"] == ["Lamp"]
        answer = session.messages[-1]
        assert answer.made_by["lore_fired"][0]["name"] == "Lamp"
        say(session, "Good.")
        say(session, "And so on, at length.")
        kept = [message.made_by["lore_fired"] for message in session.messages if message.speaker == "ada"]
        assert [bool(fired) for fired in kept] == [True, True, True]
        again = Session(
            ada(STICKY), transcript, model=model, strategy="system", conversation=session.conversation
        )
        again.branch(answer.id)
        say(again, "Nothing here.")
        assert again.messages[-1].made_by["lore_fired"]


def test_a_persona_without_lore_records_none() -> None:
    with Transcript() as transcript:
        session = Session(ada(), transcript, model=ScriptedChatModel(replies=["Hm."]), strategy="system")
        say(session, "The lamp!")
        assert "lore" not in session.messages[-1].made_by


def test_a_greeting_is_said_by_its_name_to_the_person() -> None:
    with Transcript() as transcript:
        session = Session(ada(), transcript, model=ScriptedChatModel(replies=["Hm."]), user_name="Tom")
        session.greet()
        assert session.messages[0].text == "Wipe your feet, Tom."
