"""Models without a persona of ours, tasks of chat programs, and cards that clients send."""

from dataclasses import replace
from typing import Any

import pytest
from helpers.api_server import asked_in_process, options_of
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, SystemMessage

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.models.server_details import Ability, ServerDetails
from rolellm_agents.models.servers import ServedModel
from rolellm_agents.persona import load_persona
from rolellm_agents.persona.from_card.conversion import card_of
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.client_tasks import is_client_task
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.own_card import own_card_remover
from rolellm_graphs.server.wire import ChatMessage

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Who are you?"}]
SPARROW = [
    {"role": "system", "content": "Write Jack's next reply."},
    {"role": "system", "content": "You are Jack Sparrow, a pirate."},
    *HELLO,
    {"role": "assistant", "content": "Captain Jack"},
]
# As Open WebUI 0.12 sends it for the title of a conversation.
TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Guidelines:
- The title should clearly represent the main theme or subject of the conversation.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: Who are you?
ASSISTANT: I am Sherlock Holmes.
</chat_history>"""
# As Open WebUI 0.12 puts it before a question about a document.
DOCUMENT = """### Task:
Respond to the user query using the provided context, incorporating inline citations in the format [id].
### Guidelines:
- If you don't know the answer, clearly state that.
<context>
<source id="1">Fog.</source>
</context>
How is the weather?"""


async def asked(fields: dict[str, Any], **options: Any) -> tuple[Any, list[tuple[str, str]]]:
    """The response to a request, and the types and texts of the messages that the model got."""
    model = ScriptedChatModel(replies=["As you say."])
    async with asked_in_process(create_app(options_of(model, **options))) as client:
        response = await client.post(CHAT, json=fields)
    return response, [(message.type, message.text) for message in (model.calls or [[]])[0]]


@pytest.mark.parametrize("name", ["plain", "plain@scripted:"])
async def test_the_plain_model_gets_the_messages_of_the_client_and_nothing_else(name: str) -> None:
    response, sent = await asked({"model": name, "messages": SPARROW})
    assert response.json()["choices"][0]["message"] == {
        "role": "assistant",
        "content": "As you say.",
        "name": None,
    }
    assert response.headers["x-rolellm-agent"] == "plain"
    assert sent == [
        ("system", "Write Jack's next reply."),
        ("system", "You are Jack Sparrow, a pirate."),
        ("human", "Who are you?"),
        ("ai", "Captain Jack"),
    ]


async def test_the_character_of_the_client_is_one_instruction_of_its_system_messages() -> None:
    note = {"role": "system", "content": "[Jack is drunk.]"}
    response, sent = await asked({"model": "as-card", "messages": [*SPARROW, note]})
    refused, _ = await asked({"model": "as-card", "messages": HELLO})
    assert response.headers["x-rolellm-agent"] == "as-card"
    assert sent == [
        ("system", "Write Jack's next reply.\n\nYou are Jack Sparrow, a pirate."),
        ("human", "Who are you?"),
        ("ai", "Captain Jack"),
        ("system", "[Jack is drunk.]"),
    ]
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "messages")


async def test_the_embedded_model_continues_the_clients_character() -> None:
    model = get_model("llamacpp:rolesmol", seed=1, max_tokens=8)
    async with asked_in_process(create_app(options_of(model))) as client:
        response = await client.post(CHAT, json={"model": "as-card", "messages": SPARROW})
        listed = (await client.get("/v1/models/as-card")).json()
    assert response.status_code == 200
    assert response.json()["usage"]["prompt_tokens"] < 60
    assert (listed["context_length"], listed["abilities"]) == (4096, ["tools", "JSON"])


@pytest.mark.parametrize("model", ["sherlock-holmes", "scene:last-booth", "as-card"])
async def test_a_title_is_made_by_the_plain_model(model: str) -> None:
    fields = {"model": model, "messages": [{"role": "user", "content": TITLE}]}
    response, sent = await asked(fields)
    assert (response.headers["x-rolellm-agent"], sent) == ("plain", [("human", TITLE)])


async def test_the_owner_may_leave_tasks_to_the_persona() -> None:
    fields = {"model": "sherlock-holmes@system", "messages": [{"role": "user", "content": TITLE}]}
    response, _ = await asked(fields, plain_tasks=False)
    assert response.headers["x-rolellm-agent"] == "sherlock-holmes@system"


def test_a_conversation_is_no_task() -> None:
    def is_task(*texts: str) -> bool:
        roles = ("user", "assistant")
        return is_client_task(
            [ChatMessage(role=roles[place % 2], content=text) for place, text in enumerate(texts)]
        )

    assert is_task(TITLE)
    assert not is_task(DOCUMENT)
    assert not is_task("### Task: write a poem")
    assert not is_task("Hello.", "Hello.", TITLE)


def sillytavern_messages(persona_id: str, user: str) -> list[dict[str, str]]:
    """What SillyTavern sends with a persona's exported card."""
    persona = load_persona(persona_id)
    card = card_of(persona, None, {})

    def filled(text: str) -> str:
        return text.replace("{{char}}", persona.name).replace("{{user}}", user)

    examples = [
        {"role": "system", "content": filled(str(words)), "name": f"example_{speaker}"}
        for pair in persona.demonstrations
        for speaker, words in (("user", pair.user), ("assistant", pair.reply))
    ]
    return [
        {"role": "system", "content": f"Write {persona.name}'s next reply in a fictional chat."},
        {"role": "system", "content": filled(card.description).replace("\n", "\r\n")},
        {"role": "system", "content": "[Example Chat]"},
        *examples,
        {"role": "system", "content": "[Start a new Chat]"},
        *HELLO,
    ]


@pytest.mark.parametrize("persona", ["sherlock-holmes", "jack-sparrow"])
async def test_a_card_that_the_persona_has_is_not_sent_twice(persona: str) -> None:
    _, alone = await asked({"model": persona, "messages": HELLO})
    _, sent = await asked({"model": persona, "messages": sillytavern_messages(persona, "Ada")})
    note = f"Write {load_persona(persona).name}'s next reply in a fictional chat."
    added = sum(len(text) for _, text in sent) - sum(len(text) for _, text in alone)
    assert note in sent[0][1]
    assert added < len(note) + 100
    assert [kind for kind, _ in sent] == [kind for kind, _ in alone]


async def test_another_card_and_a_changed_one_are_the_scene_as_before() -> None:
    others = sillytavern_messages("jack-sparrow", "Ada")
    _, sent = await asked({"model": "sherlock-holmes", "messages": others})
    assert others[1]["content"].split("\r\n")[0] in sent[0][1]
    assert "[Example Chat]" in sent[0][1]


@examples(0.2)
@given(st.text(max_size=200), st.text(max_size=200))
def test_only_the_card_is_removed(before: str, after: str) -> None:
    persona = load_persona("sherlock-holmes")
    without_card = own_card_remover(persona)
    description = card_of(persona, None, {}).description.replace("{{char}}", persona.name)
    messages = [SystemMessage(f"{before}\n{description}\n{after}"), HumanMessage(description)]
    *rest, line = without_card(messages)
    left = " ".join(message.text for message in rest)
    assert line.text == description
    assert description not in left
    assert left.split() == f"{before}\n\n{after}".split()


async def test_the_models_alone_are_listed_with_what_is_known_of_them() -> None:
    model = ScriptedChatModel(replies=["Hm."], takes_tools=True)

    def make(_: str, **__: Any) -> ScriptedChatModel:
        return model

    options = ServerOptions(models=("scripted:a", "scripted:b"), make=make)
    async with asked_in_process(create_app(options)) as client:
        listed = (await client.get("/v1/models")).json()["data"]
        other = (await client.get("/v1/models/plain@scripted:b")).json()
    assert [card["id"] for card in listed[-4:]] == [
        "plain",
        "as-card",
        "plain@scripted:b",
        "as-card@scripted:b",
    ]
    assert listed[0]["abilities"] == ["tools"]
    assert (other["id"], other["abilities"]) == ("plain@scripted:b", ["tools"])


@pytest.mark.parametrize(
    ("abilities", "listed", "ignored"),
    [(("tools", "reasoning"), ["tools", "reasoning"], None), (("JSON",), ["JSON"], "tools")],
)
async def test_what_a_server_on_this_machine_states_of_its_model_counts(
    monkeypatch: pytest.MonkeyPatch, abilities: tuple[Ability, ...], listed: list[str], ignored: str | None
) -> None:
    stated = ServerDetails(context=12345, abilities=abilities)
    served = [ServedModel("qwen3:4b", "Ollama", "http://127.0.0.1:11434/v1", stated)]
    monkeypatch.setattr("rolellm_graphs.server.abilities.served_models", lambda: served)
    model = ScriptedChatModel(replies=["Hm."], takes_tools=True)
    options = replace(options_of(model), models=("local:qwen3:4b",))
    tool = {"type": "function", "function": {"name": "weather"}}
    async with asked_in_process(create_app(options)) as client:
        card = (await client.get("/v1/models/sherlock-holmes")).json()
        fields = {"model": "sherlock-holmes", "messages": HELLO, "tools": [tool]}
        response = await client.post(CHAT, json=fields)
    assert (card["context_length"], card["abilities"]) == (12345, listed)
    assert response.headers.get("x-rolellm-ignored") == ignored


@pytest.mark.parametrize(("takes_tools", "told"), [(False, "response_format"), (True, None)])
async def test_a_form_that_the_model_cannot_follow_is_told(takes_tools: bool, told: str | None) -> None:
    model = ScriptedChatModel(replies=["Hm."], takes_tools=takes_tools)
    async with asked_in_process(create_app(options_of(model))) as client:
        fields = {"model": "plain", "messages": HELLO, "response_format": {"type": "json_object"}}
        response = await client.post(CHAT, json=fields)
    assert response.status_code == 200
    assert response.headers.get("x-rolellm-ignored") == told
