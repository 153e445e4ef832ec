import pytest
from helpers.broken_servers import serving_paths
from helpers.user_files import write_models
from langchain_core.messages import HumanMessage, SystemMessage

from rolellm_agents.errors import ContextLengthError, ModelError
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.context_size import (
    ask_for_context,
    context_size,
    fitted,
    forget_context,
    learn_from_refusal,
    prompt_room,
)
from rolellm_agents.models.testing import FunctionModel

NOWHERE = "http://127.0.0.1:9/v1"
LONG = [SystemMessage("You are Ada."), *(HumanMessage("boat " * 100) for _ in range(100))]


def test_a_model_in_this_process_states_its_context() -> None:
    assert context_size(FunctionModel(function=lambda _: "", n_ctx=2_048)) == 2_048


def test_a_model_of_which_nothing_is_known_gets_the_whole_prompt() -> None:
    model = get_model("openai:unheard-of", base_url=NOWHERE)
    assert context_size(model) is None
    assert fitted(model, LONG) == LONG


def test_the_context_in_models_toml_counts_and_is_not_passed_on() -> None:
    write_models(
        f'[models.mine]\nspec = "openai:unheard-of"\nbase_url = "{NOWHERE}"\n'
        "context = 4096\nmax_tokens = 300\n"
    )
    model = get_model("mine")
    assert context_size(model) == 4_096
    assert prompt_room(model) == 4_096 - 300
    assert len(fitted(model, LONG)) < len(LONG)


@pytest.mark.parametrize("context", [0, -1, "many", 1.5])
def test_a_context_that_is_no_number_of_tokens_is_refused(context: object) -> None:
    with pytest.raises(ModelError, match="takes a whole number of tokens as context"):
        get_model("openai:unheard-of", base_url=NOWHERE, context=context)  # type: ignore[arg-type]


def test_langchains_profile_counts() -> None:
    model = FunctionModel(function=lambda _: "", profile={"max_input_tokens": 16_000})
    assert context_size(model) == 16_000


def test_a_server_on_this_machine_is_asked() -> None:
    listed = {"data": [{"id": "Qwen/Qwen3-8B", "owned_by": "vllm", "max_model_len": 40960}]}
    with serving_paths({"/v1/models": listed}) as server:
        model = get_model("openai:Qwen/Qwen3-8B", base_url=server.url)
        ask_for_context(model)
        assert context_size(model) == 40_960


def test_a_server_elsewhere_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("rolellm_agents.models.servers._json_of", fail)
    model = get_model("openai:some-model", base_url="http://192.0.2.1/v1")
    ask_for_context(model)
    assert context_size(model) is None


def test_a_refusal_counts_more_than_what_was_stated() -> None:
    model = get_model("openai:refused", base_url=NOWHERE, context=100_000)
    learn_from_refusal(model, "maximum context length is 8192 tokens", LONG)
    assert context_size(model) == 8_192
    forget_context(model)
    assert context_size(model) == 100_000


def test_a_refusal_shows_how_dense_the_servers_tokens_are() -> None:
    dense, usual = (get_model(f"openai:{name}", base_url=NOWHERE) for name in ("dense", "usual"))
    learn_from_refusal(
        dense, "maximum context length is 8192 tokens; your messages resulted in 50000 tokens", LONG
    )
    learn_from_refusal(usual, "maximum context length is 8192 tokens", LONG)
    assert len(fitted(dense, LONG)) < len(fitted(usual, LONG)) / 2


def test_an_instruction_that_is_too_long_alone_is_an_error() -> None:
    model = get_model("openai:unheard-of", base_url=NOWHERE, context=512)
    with pytest.raises(ContextLengthError, match="with the persona it takes"):
        fitted(model, [SystemMessage("lamp " * 3_000), HumanMessage("Good day.")])
