"""What a call of a role graph chooses: persona, user, model, strategy, lorebooks and memories."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pytest
from helpers.cards import book, entry
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import ConfigurableField
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore

from rolellm_agents.cards.lore.lorebook import read_lorebook
from rolellm_agents.errors import ModelError, PersonaError, SettingsError
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.recall import Passage
from rolellm_graphs import RoleContext, role_graph

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada counts everything for {{user}}.",
    demonstrations=(Demonstration(user="How many stairs?", reply="Seventeen."),),
)
BEN = Persona(id="ben", name="Ben", description="Ben catches herring.")
LAMP = read_lorebook(book(entry(comment="Lamp")))
TALK = Passage("memory", "Tom: Where is my boat?\nAda: Under the pier.", "conversation 7 of 2026-01-01")


def model() -> ScriptedChatModel:
    return ScriptedChatModel(replies=["Hm."])


def said(line: str = "Where is the lamp, or my boat?") -> MessagesState:
    return MessagesState(messages=[HumanMessage(line)])


def by_context(**chosen: Any) -> dict[str, Any]:
    return {"context": RoleContext(**chosen)}


def by_values(**chosen: Any) -> dict[str, Any]:
    return {"context": chosen}


def by_configurable(**chosen: Any) -> Any:
    return {"config": {"configurable": chosen}}


EACH_WAY = pytest.mark.parametrize("way", [by_context, by_values, by_configurable])
Way = Callable[..., dict[str, Any]]


@EACH_WAY
async def test_a_call_chooses_its_persona_and_user(way: Way) -> None:
    inside = model()
    graph = role_graph(BEN, model=inside, strategy="system", checkpointer=None)
    for answer in (
        (await graph.ainvoke(said(), **way(persona=ADA, user="Tom")))["messages"][-1],
        graph.invoke(said(), **way(persona=ADA, user="Tom"))["messages"][-1],
    ):
        assert (answer.name, answer.response_metadata["persona_name"]) == ("ada", "Ada")
    assert all("Ada counts everything for Tom." in call[0].text for call in inside.calls)
    assert graph.invoke(said())["messages"][-1].name == "ben"
    assert graph.invoke(said(), **way(persona="shrek"))["messages"][-1].name == "shrek"


@EACH_WAY
def test_a_call_chooses_its_model_and_strategy(way: Way) -> None:
    built, other = model(), model()
    graph = role_graph(ADA, model=built, strategy="system")
    graph.invoke(said(), **way(model=other, strategy="few-shot-dialogue"))
    assert built.calls == []
    assert "Seventeen." in [message.text for message in other.calls[0]]
    two = way(model="scripted:One.|Two.")
    assert [graph.invoke(said(), **two)["messages"][-1].text for _ in range(2)] == ["One.", "Two."]


@EACH_WAY
def test_a_call_chooses_its_lorebooks_and_memories(way: Way) -> None:
    inside = model()
    graph = role_graph(ADA, model=inside, strategy="system")
    graph.invoke(said(), **way(lorebooks=(LAMP,), memories=(TALK,)))
    graph.invoke(said())
    with_them, without = (str([one.text for one in call]) for call in inside.calls)
    for text in ("herring oil", "Under the pier."):
        assert text in with_them
        assert text not in without


@pytest.mark.parametrize("way", [by_values, by_configurable])
async def test_memories_may_be_json_and_a_voice_is_prepared_once(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    prepare = Prompting.__init__

    def counted(self: Prompting, persona: Persona, *args: Any, **options: Any) -> None:
        made.append(persona.id)
        prepare(self, persona, *args, **options)

    monkeypatch.setattr(Prompting, "__init__", counted)
    inside = model()
    graph = role_graph(ADA, model=inside, strategy="system")
    told = {"memories": [asdict(TALK)], "lorebooks": [LAMP], "persona": BEN}
    await graph.ainvoke(said(), **way(**told))
    assert "Under the pier." in str([one.text for one in inside.calls[0]])
    assert made == ["ada", "ben"]
    with pytest.raises(SettingsError, match="memor"):
        await graph.ainvoke(said(), **way(memories=[{"words": "x"}]))


@EACH_WAY
def test_options_of_the_answer_are_chosen_in_the_same_ways(way: Way) -> None:
    inside = model()
    role_graph(ADA, model=inside).invoke(said(), **way(seed=7, scene="It rains."))
    assert inside.options == [{"seed": 7}]
    assert "It rains." in inside.calls[0][0].text


@EACH_WAY
@pytest.mark.parametrize(
    ("chosen", "error", "told"),
    [
        ({"persona": "shrekk"}, PersonaError, "There is no persona 'shrekk'"),
        ({"model": "nothing"}, ModelError, "There is no model"),
        ({"strategy": "shouting"}, SettingsError, "There is no strategy 'shouting'"),
    ],
)
def test_what_does_not_exist_is_told(way: Way, chosen: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        role_graph(ADA, model=model()).invoke(said(), **way(**chosen))


async def test_what_is_not_known_is_refused_in_a_sentence() -> None:
    graph = role_graph(ADA, model=(inside := model()))
    refusal = "^There is nothing to configure by the name 'persna' .did you mean persona"
    with pytest.raises(SettingsError, match=refusal):
        graph.invoke(said(), **by_configurable(persna="shrek"))
    with pytest.raises(SettingsError, match=refusal):
        await graph.ainvoke(said(), **by_configurable(persna="shrek", thread_id="1"))
    with pytest.raises(SettingsError, match="'seed' cannot be 'many'"):
        graph.invoke(said(), **by_configurable(seed="many"))
    with pytest.raises(TypeError, match="persna"):
        graph.invoke(said(), **by_values(persna="shrek"))
    assert inside.calls == []


def test_langgraphs_own_names_are_known() -> None:
    names = ("thread_id", "user_id", "run_id", "assistant_id", "langgraph_auth_user", "__after_seconds__")
    given = dict.fromkeys((*names, "x-request-id"), "1")
    graph = role_graph(ADA, model=model(), checkpointer=InMemorySaver())
    assert graph.invoke(said(), **by_configurable(**given))["messages"][-1].text == "Hm."


def test_configurable_values_of_a_model_are_known() -> None:
    inside: Any = model().configurable_fields(replies=ConfigurableField(id="script"))
    graph = role_graph(ADA, model=inside, strategy="system")
    assert graph.invoke(said(), **by_configurable(script=["Ha."]))["messages"][-1].text == "Ha."
    with pytest.raises(SettingsError, match="'scripd'"):
        graph.invoke(said(), **by_configurable(scripd=["Ha."]))


@dataclass(frozen=True, kw_only=True)
class Tenant(RoleContext):
    """A program's own values beside ours."""

    tenant: str = ""


def test_a_program_may_have_values_of_its_own() -> None:
    graph = role_graph(ADA, model=model(), context_schema=Tenant)
    chosen = by_configurable(tenant="a", persona="shrek")
    output: Any = graph.invoke(said(), **chosen)
    assert output["messages"][-1].name == "shrek"
    schema: Any = graph.get_context_jsonschema()
    assert {"tenant", "persona", "model", "seed"} <= set(schema["properties"])


def test_inside_another_graph_only_a_context_is_meant_for_the_persona() -> None:
    builder = StateGraph(MessagesState, context_schema=RoleContext)
    builder.add_node("persona", role_graph(ADA, model=model()))
    graph = builder.add_edge(START, "persona").compile()
    for way, name in ((by_configurable, "ada"), (by_context, "shrek")):
        output = graph.invoke(said(), **way(persona="shrek"))
        assert output["messages"][-1].name == name
    elsewhere = by_configurable(model="gpt-9", colour="red")
    assert graph.invoke(said(), **elsewhere)["messages"][-1].name == "ada"


class Runs(BaseCallbackHandler):
    """Notes the persona of each model's run."""

    def __init__(self) -> None:
        self.personas: list[Any] = []

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> None:
        self.personas.append(kwargs["metadata"]["persona"])


def test_traces_name_the_persona_that_was_chosen() -> None:
    runs = Runs()
    graph = role_graph(ADA, model=model())
    for persona in (None, BEN):
        graph.invoke(said(), {"callbacks": [runs]}, context=RoleContext(persona=persona))
    assert runs.personas == ["ada", "ben"]


# A store


def thread(number: int, **who: str) -> Any:
    return {"configurable": {"thread_id": str(number), **who}}


@pytest.mark.parametrize("index", [None, {"dims": 8, "embed": DeterministicFakeEmbedding(size=8)}])
def test_it_remembers_other_conversations_with_the_same_user(index: Any) -> None:
    inside = ScriptedChatModel(replies=["Under the pier."])
    graph = role_graph(
        ADA,
        model=inside,
        strategy="system",
        checkpointer=InMemorySaver(),
        store=InMemoryStore(index=index) if index else InMemoryStore(),
    )
    assert list(graph.nodes) == ["__start__", "recall", "compose", "speak", "remember"]
    line = "Where is my boat?"
    for config in (thread(1, user_id="tom"), thread(1, user_id="tom"), thread(2, user_id="kim")):
        assert graph.invoke(said(line), config)["recalled"] == []
    (item,) = graph.invoke(said("My boat, Ada?"), thread(3, user_id="kim"))["recalled"]
    assert item["text"] == "User: Where is my boat?\nAda: Under the pier."
    assert item["source"].startswith("conversation of 2")
    assert item["text"] in inside.calls[-1][-2].text


async def test_users_without_an_id_are_told_apart_by_their_names_and_personas_apart() -> None:
    store = InMemoryStore()
    graph = role_graph(ADA, model=model(), strategy="system", store=store, user="Mr. Tom")
    await graph.ainvoke(said("Where is my boat?"))
    assert (await graph.ainvoke(said("My boat?")))["recalled"]
    for chosen in ({"user": "Kim"}, {"persona": BEN}):
        assert (await graph.ainvoke(said("My boat?"), **by_context(**chosen)))["recalled"] == []
    kept = {(one.namespace, one.value["text"]) for one in store.search(("memories",), limit=100)}
    assert (("memories", "ada", "Mr_ Tom"), "Mr. Tom: Where is my boat?\nAda: Hm.") in kept
    assert (("memories", "ben", "Mr_ Tom"), "Mr. Tom: My boat?\nBen: Hm.") in kept


def test_words_of_others_are_remembered_as_theirs() -> None:
    store = InMemoryStore()
    graph = role_graph(ADA, model=model(), store=store)
    graph.invoke({"messages": [HumanMessage("Tea?", name="Kim"), HumanMessage("Rum?", name="Jack")]})
    (kept,) = store.search(("memories",))
    assert kept.value["text"] == "Kim: Tea?\nJack: Rum?\nAda: Hm."
