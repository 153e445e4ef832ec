"""Inserts in prompts of the role graph and the role chat model: their places and their marks."""

from typing import Any

import pytest
from helpers.cards import book, entry, v2
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    messages_to_dict,
)

from rolellm_agents.cards import Card
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import persona_of
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.role.context import RoleContext
from rolellm_graphs.role.graph import role_graph
from rolellm_graphs.role.prompt_parts import parts_of

NOTE = {"depth_prompt": {"prompt": "She is tired.", "depth": 2}}
AT_DEPTH_4 = {"position": 4, "depth": 4}
PROVIDER_KEYS: list[dict[str, Any]] = [
    {"refusal": None},
    {"refusal": "I cannot."},
    {"function_call": {"name": "ring", "arguments": "{}"}},
    {"reasoning_content": "The lamp …", "lore": None, "insert": []},
]


def ada(*entries: dict[str, Any], **fields: Any) -> Persona:
    lore = {"character_book": book(*entries)} if entries else {}
    return persona_of(Card(v2(**lore, **fields)), "ada")


def talk(keys: dict[str, Any]) -> list[AnyMessage]:
    """Three answered lines and a fourth; the answers have a provider's keys."""
    said: list[AnyMessage] = []
    for number in "123":
        said += [HumanMessage(f"line {number}"), AIMessage(f"answer {number}", additional_kwargs=keys)]
    return [*said, HumanMessage("line 4")]


def texts(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages[1:]]


@pytest.mark.parametrize("keys", PROVIDER_KEYS)
def test_a_providers_keys_do_not_move_an_authors_note_of_the_role_graph(keys: dict[str, Any]) -> None:
    model = ScriptedChatModel(replies=["Yes."])
    graph = role_graph(ada(), model=model, strategy="system")
    graph.invoke({"messages": talk(keys)}, context=RoleContext(note="A storm comes up."))
    prompt = texts(model.calls[0])
    assert prompt[prompt.index("A storm comes up.") :] == [
        "A storm comes up.",
        "answer 2",
        "line 3",
        "answer 3",
        "line 4",
    ]


@pytest.mark.parametrize("keys", PROVIDER_KEYS)
def test_a_providers_keys_do_not_move_notes_and_lore_of_the_chat_model(keys: dict[str, Any]) -> None:
    persona = ada(entry(keys=["line"], content="Deep.", extensions=AT_DEPTH_4), extensions=NOTE)
    chat = RoleChatModel(persona, model=ScriptedChatModel(), strategy="system")
    assert texts(chat.prompt([*talk(keys)]))[3:] == [
        "Deep.",
        "answer 2",
        "line 3",
        "She is tired.",
        "answer 3",
        "line 4",
    ]


@pytest.mark.parametrize("keys", PROVIDER_KEYS)
def test_a_providers_keys_on_the_users_line_leave_it_the_line(keys: dict[str, Any]) -> None:
    prompt = [
        SystemMessage("You are Ada."),
        AIMessage("Yes?"),
        HumanMessage("Who?", additional_kwargs=keys),
    ]
    assert [part.part for part in parts_of(messages_to_dict(prompt))] == ["instruction", "history", "line"]


def test_the_parts_of_a_prompt_name_the_kinds_of_inserts() -> None:
    model = ScriptedChatModel(replies=["Yes."])
    persona = ada(
        entry(keys=["line"], content="Deep.", extensions=AT_DEPTH_4),
        extensions=NOTE,
        post_history_instructions="Be brief.",
    )
    role_graph(persona, model=model, strategy="system").invoke(
        {"messages": talk({})}, context=RoleContext(note="A storm comes up.")
    )
    parts = parts_of(messages_to_dict(model.calls[0]))
    assert [(part.part, part.title, part.text) for part in parts if part.inserts] == [
        ("lore", "lore, author note", "Deep.\nA storm comes up."),
        ("note", "character note", "She is tired."),
        ("note", "card prompt", "Be brief."),
    ]


def test_a_prompt_of_an_older_version_is_read_as_lore() -> None:
    """Checkpoints hold prompts whose notes were marked as lore."""
    old = [
        SystemMessage("You are Ada."),
        SystemMessage("A storm comes up.", additional_kwargs={"lore": True}),
        HumanMessage("Who?"),
    ]
    assert [part.title for part in parts_of(messages_to_dict(old))] == ["instruction", "lore", "line"]
