"""SillyTavern's notes: a group's next speaker, an answer that goes on, and the user's own next message."""

from typing import Any

import pytest
from helpers.api_server import asked_in_process, options_of
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona
from rolellm_agents.persona.from_card.conversion import card_of
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.client_notes import ClientNotes, as_begun_answer, notes_in, user_in

CHAT = "/v1/chat/completions"
Message = dict[str, str]


def system(content: str, **fields: str) -> Message:
    return {"role": "system", "content": content, **fields}


def turn_of(name: str) -> Message:
    return system(f"Write {name}'s next reply in a fictional chat between {name} and Ada.")


JACK = "Captain Jack Sparrow, and he will insist on the Captain, commands the Black Pearl."
EXAMPLE = [
    system("[Example Chat]"),
    system("Are you a pirate?", name="example_user"),
    system("Captain, mate.", name="example_assistant"),
    system("[Start a new Chat]"),
]
SPOONS = {"role": "user", "content": "Who took the spoons?"}
CONTINUE = system("[Continue your last message without repeating its original content.]")
AS_ADA = system(
    "[Write your next reply from the point of view of Ada, using the chat history so far as a guideline "
    "for the writing style of Ada. Write 1 reply only in internet RP style. Don't write as Jack Sparrow or "
    "system. Don't describe actions of Jack Sparrow.]"
)
GROUP = system("[Start a new group chat. Group members: Jack Sparrow, Sherlock Holmes]")
GREETINGS = [
    {"role": "assistant", "content": "Jack Sparrow: Sit, mate."},
    {"role": "assistant", "content": "Sherlock Holmes: Pray come in."},
]


def in_a_group(*messages: Message, speaker: str) -> list[Message]:
    """What SillyTavern 1.19 sends for a member of a group."""
    return [
        turn_of(speaker),
        system(f"{speaker} is the character."),
        GROUP,
        *GREETINGS,
        *messages,
        system(f"[Write the next reply only as {speaker}.]"),
    ]


async def asked(model: str, messages: list[Message], **options: Any) -> tuple[str, list[tuple[str, str]]]:
    """Who answers, and the types and texts of the messages that the model got."""
    scripted = ScriptedChatModel(replies=["As you say."])
    async with asked_in_process(create_app(options_of(scripted, **options))) as client:
        response = await client.post(CHAT, json={"model": model, "messages": messages})
    assert response.status_code == 200, response.text
    sent = scripted.calls[0]
    assert [message.name for message in sent] == [None] * len(sent)
    return response.headers["x-rolellm-agent"], [(message.type, message.text) for message in sent]


async def test_a_member_of_a_group_hears_the_others_as_others() -> None:
    holmes = {"role": "assistant", "content": "Sherlock Holmes: Not I.\nObserve: the captain."}
    _, sent = await asked("as-card", in_a_group(SPOONS, holmes, speaker="Jack Sparrow"))
    assert sent == [
        (
            "system",
            "Write Jack Sparrow's next reply in a fictional chat between Jack Sparrow and Ada.\n\n"
            "Jack Sparrow is the character.\n\n"
            "[Start a new group chat. Group members: Jack Sparrow, Sherlock Holmes]\n\n"
            "[Write the next reply only as Jack Sparrow.]",
        ),
        ("ai", "Sit, mate."),
        (
            "human",
            "Sherlock Holmes: Pray come in.\nAda: Who took the spoons?\n"
            "Sherlock Holmes: Not I.\nObserve: the captain.",
        ),
    ]


async def test_colons_in_a_group_that_writes_no_names_are_no_names() -> None:
    holmes = {"role": "assistant", "content": "Observe: the captain."}
    plain = [{**one, "content": one["content"].partition(": ")[2]} for one in GREETINGS]
    messages = [one for one in in_a_group(SPOONS, holmes, speaker="Jack Sparrow") if one not in GREETINGS]
    _, sent = await asked("as-card", [*messages[:3], *plain, *messages[3:]])
    assert sent[1:] == [
        ("ai", "Sit, mate."),
        ("ai", "Pray come in."),
        ("human", "Who took the spoons?"),
        ("ai", "Observe: the captain."),
    ]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "Write " + "'s next reply in a fictional chat between  and " * 20_000,
        "[Write your next reply from the point of view of Ada"
        + ", using the chat history so far " * 20_000,
        "[Write the next reply only as " + ".]" * 300_000 + "!",
    ],
    ids=["turn", "user", "speaker"],
)
def test_a_hostile_note_is_soon_read(text: str) -> None:
    messages = [SystemMessage(text)]
    assert notes_in(messages) == ClientNotes()
    assert user_in(messages) is None


async def test_each_member_of_a_group_is_answered_by_the_persona_of_its_name() -> None:
    agent, sent = await asked("sherlock-holmes@system", in_a_group(SPOONS, speaker="Jack Sparrow"))
    assert agent == "jack-sparrow@system"
    assert "You are Jack Sparrow" in sent[0][1]
    assert "[Write the next reply" not in str(sent)
    assert sent[1:] == [
        ("ai", "Sit, mate."),
        ("human", "Sherlock Holmes: Pray come in.\nUser: Who took the spoons?"),
    ]

    agent, sent = await asked("sherlock-holmes@system", in_a_group(SPOONS, speaker="Sherlock Holmes"))
    assert agent == "sherlock-holmes@system"
    assert [kind for kind, _ in sent] == ["system", "human", "ai", "human"]

    agent, _ = await asked("sherlock-holmes", in_a_group(SPOONS, speaker="A Stranger"))
    assert agent == "as-card"


async def test_a_group_in_which_nobody_has_spoken_but_its_members_is_answered() -> None:
    agent, sent = await asked("jack-sparrow@system", in_a_group(speaker="Jack Sparrow"))
    assert (agent, sent[-1]) == ("jack-sparrow@system", ("human", "Sherlock Holmes: Pray come in."))


async def test_a_persona_in_a_group_does_not_get_its_own_card_twice() -> None:
    persona = load_persona("jack-sparrow")
    card = card_of(persona, None, {}).description.replace("{{char}}", persona.name)
    pair = persona.demonstrations[0]
    words = [text.replace("{{char}}", persona.name) for text in (str(pair.user), str(pair.reply))]
    messages = in_a_group(SPOONS, speaker=persona.name)
    messages[1:2] = [
        system(card),
        system("[Example Chat]"),
        system(f"Ada: {words[0]}", name="example_user"),
        system(f"Jack Sparrow: {words[1]}", name="example_assistant"),
    ]
    _, sent = await asked("jack-sparrow@system", messages)
    assert words[1] not in sent[0][1]
    assert sent[0][1].count(persona.description[:80]) == 1


async def test_example_dialogues_of_a_card_are_turns() -> None:
    _, sent = await asked("as-card", [turn_of("Jack Sparrow"), system(JACK), *EXAMPLE, SPOONS])
    assert sent == [
        ("system", f"{turn_of('Jack Sparrow')['content']}\n\n{JACK}\n\n[Start a new Chat]"),
        ("human", "Are you a pirate?"),
        ("ai", "Captain, mate."),
        ("human", "Who took the spoons?"),
    ]


@pytest.mark.parametrize("model", ["jack-sparrow", "as-card", "scene:last-booth"])
async def test_the_users_next_message_is_written_with_exchanged_roles(model: str) -> None:
    said = [SPOONS, {"role": "assistant", "content": "Not me, mate."}]
    messages = [turn_of("Jack Sparrow"), system(JACK), *said, AS_ADA]
    agent, sent = await asked(model, messages)
    assert agent == "as-card"
    assert sent == [
        ("system", f"{JACK}\n\n{AS_ADA['content']}"),
        ("ai", "Who took the spoons?"),
        ("human", "Not me, mate."),
    ]
    agent, sent = await asked(model, [*messages[:-2], AS_ADA])
    assert sent[-1] == ("human", "…")


async def test_the_owner_may_leave_the_users_message_to_the_persona() -> None:
    messages = [turn_of("Jack Sparrow"), SPOONS, AS_ADA]
    agent, _ = await asked("jack-sparrow@system", messages, plain_tasks=False)
    assert agent == "jack-sparrow@system"


def test_an_answer_that_shall_go_on_is_the_last_message() -> None:
    note = SystemMessage(CONTINUE["content"])
    line, begun = HumanMessage("Who took the spoons?"), AIMessage("Not me,")
    later = SystemMessage("[Jack is drunk.]")
    assert as_begun_answer([line, begun, note]) == [line, begun]
    assert as_begun_answer([line, begun, later, note]) == [line, later, begun]
    assert as_begun_answer([begun, line, note]) == [begun, line, note]
    assert as_begun_answer([line, begun]) == [line, begun]
    assert as_begun_answer([note]) == [note]


@pytest.mark.parametrize("name", ["jack-sparrow@system", "as-card"])
async def test_models_in_this_process_continue_the_answer(name: str) -> None:
    model = get_model("llamacpp:rolesmol", seed=1, max_tokens=8)
    begun = [system(JACK), SPOONS, {"role": "assistant", "content": "Not me, mate, and I"}]
    async with asked_in_process(create_app(options_of(model))) as client:
        answers = [
            (await client.post(CHAT, json={"model": name, "messages": messages, "temperature": 0})).json()
            for messages in (begun, [*begun, CONTINUE])
        ]
    first, second = ((one["choices"][0]["message"]["content"], one["usage"]) for one in answers)
    assert first[0] == second[0]
    assert first[1]["prompt_tokens"] == second[1]["prompt_tokens"]


async def test_other_models_get_the_note() -> None:
    messages = [system(JACK), SPOONS, {"role": "assistant", "content": "Not me,"}, CONTINUE]
    _, sent = await asked("as-card", messages)
    assert sent[-2:] == [("ai", "Not me,"), ("system", CONTINUE["content"])]


async def test_the_names_of_several_people_reach_a_persona() -> None:
    ada = {"role": "user", "content": "Good day.", "name": "Ada"}
    ben = {"role": "user", "content": "Where is my rum?", "name": "Ben"}
    jack = {"role": "assistant", "content": "Aye.", "name": "Jack_Sparrow"}
    holmes = {"role": "assistant", "content": "Observe.", "name": "Sherlock_Holmes"}
    _, alone = await asked("jack-sparrow@system", [ada, jack, ada])
    _, several = await asked("jack-sparrow@system", [ada, jack, holmes, ben])
    _, plain = await asked("plain", [ada, holmes, ben])
    assert alone[1:] == [("human", "Good day."), ("ai", "Aye."), ("human", "Good day.")]
    assert several[1:] == [
        ("human", "Ada: Good day."),
        ("ai", "Aye."),
        ("human", "Sherlock_Holmes: Observe.\nBen: Where is my rum?"),
    ]
    assert plain == [("human", "Good day."), ("ai", "Observe."), ("human", "Where is my rum?")]
