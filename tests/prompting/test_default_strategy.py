"""How personas reach a model when nobody says otherwise."""

from collections.abc import Iterator

import pytest
from helpers.user_files import write_config, write_models
from langchain_core.messages import HumanMessage

from rolellm_agents.config.settings import DEFAULT_STRATEGY
from rolellm_agents.errors import ModelError, SettingsError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_graphs.role.chat_model import RoleChatModel
from rolellm_graphs.role.graph import role_graph
from rolellm_graphs.role.tool import persona_tool
from rolellm_graphs.server.agents import Agents
from rolellm_graphs.server.app import create_app
from rolellm_graphs.server.names import AgentName
from rolellm_graphs.server.options import ServerOptions
from rolellm_graphs.server.scene_memory import SceneMemory
from rolellm_tui.cli.options import SessionOptions, open_session

OWN = '[models.mine]\nspec = "scripted:Hello."\nstrategy = "zero-shot"\n'


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(None) as opened:
        yield opened


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llamacpp:rolesmol", "system"),
        ("llamacpp:smollm2", DEFAULT_STRATEGY),
        ("llamacpp:rolegemma", "system"),
        ("llamacpp:gemma3-270m", DEFAULT_STRATEGY),
        ("openai:rolegemma", DEFAULT_STRATEGY),
        ("llamacpp:/tmp/rolegemma", DEFAULT_STRATEGY),
        ("mine", "zero-shot"),
        ("chinese", "system"),
        ("plain", DEFAULT_STRATEGY),
    ],
)
def test_it_is_the_models_own_or_the_usual_one(name: str, expected: str) -> None:
    write_models(
        f'{OWN}[models.chinese]\nspec = "llamacpp:rolegemma"\n[models.plain]\nspec = "scripted:Hi."\n'
    )
    assert default_strategy(name) == expected
    assert expected in STRATEGIES


def test_a_model_object_is_asked_like_the_model_of_its_name() -> None:
    assert default_strategy(get_model("scripted:Hello.")) == DEFAULT_STRATEGY
    assert default_strategy(get_model("llamacpp:rolesmol")) == "system"
    assert default_strategy(get_model("llamacpp:smollm2")) == DEFAULT_STRATEGY


def test_a_name_that_nobody_has_is_told() -> None:
    with pytest.raises(ModelError, match="There is no model 'mien'"):
        default_strategy("mien")


def test_a_strategy_is_no_option_of_the_models() -> None:
    write_models(OWN)
    assert get_model("mine").invoke("?").text == "Hello."


def test_programs_get_the_models_own(holmes: Persona, transcript: Transcript) -> None:
    write_models(OWN)
    question = [HumanMessage("Who are you?")]
    own = RoleChatModel(holmes, model="mine", strategy="zero-shot").prompt(question)
    assert own != RoleChatModel(holmes, model="mine", strategy="system").prompt(question)

    assert RoleChatModel(holmes, model="mine").prompt(question) == own
    assert RoleChatModel(holmes, model="mine").strategy == "zero-shot"
    assert (role_graph(holmes, model="mine").config or {})["metadata"]["strategy"] == "zero-shot"
    assert (persona_tool(holmes, model="mine").metadata or {})["strategy"] == "zero-shot"
    assert Session(holmes, transcript, model="mine").strategy == "zero-shot"


@pytest.mark.parametrize(
    ("given", "config", "expected"),
    [(None, "", "zero-shot"), (None, 'strategy = "retrieval"\n', "retrieval"), ("system", "", "system")],
)
def test_what_the_person_says_goes_before_it(
    holmes: Persona, transcript: Transcript, given: str | None, config: str, expected: str
) -> None:
    write_models(OWN)
    write_config(config)
    session = open_session(holmes, transcript, SessionOptions(model="mine", strategy=given))
    assert session.strategy == expected


@pytest.mark.parametrize(
    ("wished", "of_server", "expected"),
    [(None, None, "zero-shot"), (None, "retrieval", "retrieval"), ("system", "retrieval", "system")],
)
def test_a_server_asks_each_model_by_its_own(
    wished: str | None, of_server: str | None, expected: str
) -> None:
    write_models(OWN)
    agents = Agents(ServerOptions(models=("scripted:Hi.", "mine"), strategy=of_server), SceneMemory())
    asked = AgentName("sherlock-holmes", kind="persona", strategy=wished, model="mine", seat=None)
    assert agents.find(asked).name == f"sherlock-holmes@{expected}"


def test_a_server_refuses_at_its_start_a_strategy_that_nobody_knows() -> None:
    write_models(OWN.replace("zero-shot", "zeroshot"))
    with pytest.raises(SettingsError, match="did you mean zero-shot"):
        create_app(ServerOptions(models=("scripted:Hi.", "mine")))
    create_app(ServerOptions(models=("scripted:Hi.", "mine"), strategy="system"))


def test_a_strategy_of_a_model_that_nobody_knows_is_told(holmes: Persona) -> None:
    write_models(OWN.replace("zero-shot", "zeroshot"))
    with pytest.raises(SettingsError, match=r"models\.toml, \[models\.mine\]: .*did you mean zero-shot"):
        role_graph(holmes, model="mine")
