import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.texts import is_one_sentence
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import PROVIDERS, describe_model, get_model
from rolellm_agents.models.llamacpp.chat import ChatLlamaCpp
from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.models.local import load_model
from rolellm_agents.models.scripted import ScriptedChatModel

OWN = "http://127.0.0.1:9/v1"


def refusal(name: str, **options: Any) -> str:
    with pytest.raises(ModelError) as raised:
        get_model(name, **options)
    told = str(raised.value)
    assert is_one_sentence(told)
    return told


def named(text: str) -> None:
    """Write `models.toml`."""
    file = user_paths().models_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


# Which model a name gives


@pytest.mark.core
def test_the_embedded_model_is_calm_unless_told_otherwise() -> None:
    calm = get_model("llamacpp:smollm2")
    assert isinstance(calm, ChatLlamaCpp)
    assert (calm.model_path, calm.temperature, calm.min_p, calm.max_tokens) == (
        embedded_gguf(),
        0.5,
        0.1,
        160,
    )
    told = get_model("llamacpp:smollm2", temperature=0.0, max_tokens=7, seed=3, n_ctx=512)
    assert isinstance(told, ChatLlamaCpp)
    assert (told.temperature, told.max_tokens, told.seed, told.n_ctx) == (0.0, 7, 3, 512)


def test_a_file_is_a_model_with_its_own_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("HOME", str(tmp_path))
    model = get_model("llamacpp:~/tiny.gguf")
    assert isinstance(model, ChatLlamaCpp)
    assert model.model_path == tmp_path / "tiny.gguf"
    assert model.temperature == ChatLlamaCpp.model_fields["temperature"].default


def test_a_scripted_model_says_the_parts_of_its_name() -> None:
    model = get_model("scripted:Good day: how are you?|Goodbye.")
    assert [model.invoke("?").text for _ in range(2)] == ["Good day: how are you?", "Goodbye."]
    assert get_model("scripted:").invoke("Echo?").text == "Echo?"


def test_a_model_of_a_server_takes_its_options() -> None:
    model = get_model("openai:qwen:7b", base_url=OWN, temperature=0.25, max_tokens=9, seed=3, timeout=5.0)
    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.openai_api_base) == ("qwen:7b", OWN)
    assert (model.temperature, model.max_tokens, model.seed) == (0.25, 9, 3)


def test_the_key_comes_from_the_variable_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    monkeypatch.setenv("MY_KEY", "sk-mine")
    keys = []
    for options in ({}, {"api_key_env": "MY_KEY"}, {"api_key_env": "NO_KEY", "base_url": OWN}):
        model = get_model("openai:m", **options)  # type: ignore[arg-type]  # mypy takes every option for every one
        assert isinstance(model, ChatOpenAI)
        keys.append(getattr(model.openai_api_key, "get_secret_value", str)())
    assert keys == ["sk-usual", "sk-mine", "none"]


@pytest.mark.parametrize(
    ("name", "options", "described"),
    [
        ("llamacpp:rolesmol", {}, "llamacpp:SmolLM2-135M-Instruct.Q4_1+rolesmol"),
        ("llamacpp:smollm2", {}, "llamacpp:SmolLM2-135M-Instruct.Q4_1"),
        ("openai:qwen3-8b", {"base_url": OWN}, "openai:qwen3-8b"),
        ("scripted:Hello.", {}, "scripted:scripted"),
    ],
)
def test_a_model_tells_which_it_is(name: str, options: dict[str, Any], described: str) -> None:
    assert describe_model(get_model(name, **options)) == described


def test_each_provider_shows_an_example_of_itself() -> None:
    assert {name: provider.example.partition(":")[0] for name, provider in PROVIDERS.items()} == {
        name: name for name in ("llamacpp", "openai", "local", "huggingface", "scripted")
    }


# Names of the user's own


WORKSTATION = f"""
[models.workstation]
spec = "openai:qwen3-8b"
base_url = "{OWN}"
temperature = 0.75
seed = 3
"""


def test_a_name_of_the_users_brings_its_options() -> None:
    named(WORKSTATION)
    model = get_model("workstation")
    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.openai_api_base) == ("qwen3-8b", OWN)
    assert (model.temperature, model.seed) == (0.75, 3)


def test_explicit_arguments_come_before_those_of_the_name() -> None:
    named(WORKSTATION)
    model = get_model("workstation", temperature=0.0, base_url="http://127.0.0.1:10/v1", max_tokens=5)
    assert isinstance(model, ChatOpenAI)
    assert (model.temperature, model.seed, model.max_tokens) == (0.0, 3, 5)
    assert model.openai_api_base == "http://127.0.0.1:10/v1"


def test_a_name_of_the_users_wins_over_nothing_else() -> None:
    """A spec is a spec, whatever `models.toml` holds, even when that file is broken."""
    named("[models")
    assert get_model("scripted:Hello.").invoke("?").text == "Hello."


# Refusals


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai:", "“openai:” needs a model's name, as in openai:gpt-4o-mini."),
        ("llamacpp:", "“llamacpp:” needs a file, as in llamacpp:/path/model.gguf."),
        ("tiny.gguf", "There is no model 'tiny.gguf'; a file is named llamacpp:tiny.gguf."),
        (
            "llamacpp:/no/such.gguf",
            "There is no model file /no/such.gguf; check the path.",
        ),
        (
            "openai:gpt-4o-mini",
            "openai:gpt-4o-mini needs an API key: set OPENAI_API_KEY, or name your own server with "
            "--base-url (base_url in models.toml).",
        ),
    ],
)
def test_a_model_that_cannot_be_is_refused_with_the_next_step(name: str, told: str) -> None:
    assert refusal(name) == told


def test_the_key_that_is_missing_is_named() -> None:
    assert "set MY_KEY," in refusal("openai:gpt-4o-mini", api_key_env="MY_KEY")


def test_what_is_no_gguf_file_is_refused_before_it_is_used(tmp_path: Path) -> None:
    file = tmp_path / "notes.gguf"
    file.write_text("not a model")
    assert refusal(f"llamacpp:{file}") == f"{file} is not a GGUF file; llama.cpp reads no other kind."
    assert refusal(f"llamacpp:{tmp_path}").startswith(f"The model file {tmp_path} cannot be read: ")


@pytest.mark.parametrize("name", ["", "zzzzzzzz"])
def test_a_name_like_no_other_is_told_how_models_are_named(name: str) -> None:
    told = refusal(name)
    assert told.startswith(f"There is no model {name!r}; a model is named provider:name")
    assert "llamacpp:rolesmol" in told
    assert "“rolellm models list”" in told


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("smollm2", "llamacpp:smollm2"),
        ("smolm2", "llamacpp:smollm2"),
        ("gpt-4o-mini", "openai:gpt-4o-mini"),
        ("workstatoin", "workstation"),
        ("llamacpp:smolm2", "smollm2 or rolesmol"),
        ("llamacp:smollm2", "llamacpp"),
        ("opnai:gpt-4o-mini", "openai"),
    ],
)
def test_a_slip_of_the_finger_is_told_the_nearest_name(name: str, meant: str) -> None:
    named(WORKSTATION)
    assert f"did you mean {meant}?" in refusal(name)


@pytest.mark.parametrize("name", [":", ":x", "banana:x", "opnai:gpt", "C:\\models\\x.gguf"])
def test_an_unknown_provider_is_told_in_a_line_that_can_be_read(name: str) -> None:
    told = refusal(name)
    assert told.startswith(f"There is no provider {name.partition(':')[0]!r}")
    assert "known are llamacpp, openai, local, huggingface, scripted and" in told
    assert len(told) < 200


def test_a_provider_whose_package_is_missing_is_told_with_the_package() -> None:
    told = refusal("mistralai:small")
    assert "mistralai:small" in told
    assert "langchain-mistralai" in told


def test_a_provider_of_langchains_without_its_key_is_a_refusal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert "azure_openai:gpt" in refusal("azure_openai:gpt")


def test_without_the_extra_transformers_models_tell_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rolellm_agents.models.huggingface", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    assert refusal("huggingface:org/model") == (
        "huggingface:org/model needs the extra “hf” (torch is missing); "
        "“pip install 'rolellm-agents[hf]'” installs it."
    )


# Options


@pytest.mark.parametrize("base_url", ["127.0.0.1:8080/v1", "ftp://127.0.0.1/v1", "http://[::1/v1", 8080])
def test_a_base_url_that_is_none_is_refused(base_url: object) -> None:
    told = refusal("openai:m", base_url=base_url)
    assert told.startswith(f"The base URL {base_url!r} ")
    assert "http://" in told


@pytest.mark.parametrize(
    "provider", ["llamacpp:smollm2", "openai:m", "huggingface:org/model", "scripted:Hi."]
)
@pytest.mark.parametrize("option", ["top_q", "model_path"])
def test_an_option_that_a_provider_does_not_know_is_refused(provider: str, option: str) -> None:
    if provider.startswith("huggingface"):
        pytest.importorskip("transformers", reason="the extra “hf” is not installed")
    options = {option: 1, **({"base_url": OWN} if provider.startswith("openai") else {})}
    told = refusal(provider, **options)
    assert told.startswith(f"Models of {provider.partition(':')[0]} take no {option!r}")


def test_an_option_of_the_users_name_that_no_model_knows_is_refused_too() -> None:
    named(f'[models.mine]\nspec = "openai:m"\nbase_url = "{OWN}"\nname = "x"\n')
    assert refusal("mine").startswith("Models of openai take no 'name'")


def test_an_unknown_option_is_told_the_nearest_one() -> None:
    told = refusal("llamacpp:smollm2", n_ctxx=512)
    assert told.startswith("Models of llamacpp take no 'n_ctxx' (did you mean n_ctx?); they know ")


@pytest.mark.parametrize(
    ("name", "options", "option"),
    [
        ("llamacpp:smollm2", {"n_ctx": 5}, "n_ctx"),
        ("llamacpp:smollm2", {"temperature": -1.0}, "temperature"),
        ("llamacpp:smollm2", {"top_p": "much"}, "top_p"),
        ("openai:m", {"base_url": OWN, "temperature": "hot"}, "temperature"),
        ("openai:m", {"base_url": OWN, "seed": "abc"}, "seed"),
        ("openai:m", {"base_url": OWN, "timeout": "long"}, "timeout"),
        ("openai:m", {"base_url": OWN, "api_key_env": 5}, "api_key_env"),
        ("scripted:Hi.", {"seconds_per_word": "slow"}, "seconds_per_word"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_by_name(
    name: str, options: dict[str, Any], option: str
) -> None:
    told = refusal(name, **options)
    assert repr(name) in told
    assert re.search(rf"\b{option}\b", told)


# Loading


def test_loading_now_finds_a_broken_file_now(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF" + b"\x00" * 64)
    model = get_model(f"llamacpp:{file}")
    with pytest.raises(ModelError, match=re.escape(str(file))):
        load_model(model)


def test_there_is_nothing_to_load_of_a_model_elsewhere() -> None:
    model = ScriptedChatModel(replies=["Hello."])
    load_model(model)
    load_model(get_model("openai:m", base_url=OWN))
    assert model.calls == []


@pytest.mark.core
@pytest.mark.parametrize(
    ("name", "needed"), [("scripted:Hello.", "[]\n"), ("llamacpp:smollm2", "['llama_cpp']\n")]
)
def test_naming_a_model_imports_only_what_that_model_needs(name: str, needed: str) -> None:
    code = (
        "import sys\n"
        "from rolellm_agents.models.catalog import get_model\n"
        f"get_model({name!r})\n"
        "heavy = {'torch', 'transformers', 'llama_cpp', 'openai', 'langchain_openai', 'langchain'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout == needed


def test_an_adapter_stands_behind_a_plus(tmp_path: Path) -> None:
    adapter = tmp_path / "voice.gguf"
    adapter.write_bytes(b"GGUF")
    model = get_model(f"llamacpp:smollm2+{adapter}")
    assert isinstance(model, ChatLlamaCpp)
    assert model.adapter_path == adapter
    assert describe_model(model).endswith("+voice")


def test_a_file_with_a_plus_in_its_name_is_no_adapter(tmp_path: Path) -> None:
    file = tmp_path / "c++.gguf"
    file.write_bytes(b"GGUF")
    model = get_model(f"llamacpp:{file}")
    assert isinstance(model, ChatLlamaCpp)
    assert (model.model_path, model.adapter_path) == (file, None)


@pytest.mark.parametrize(
    ("name", "told"), [("smollm2+", "names no adapter"), ("smollm2+none.gguf", "no model file none.gguf")]
)
def test_a_missing_adapter_is_told(name: str, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        get_model(f"llamacpp:{name}")


def test_rolesmol_is_the_embedded_model_with_weights_of_its_own_that_change_its_words() -> None:
    asked = [SystemMessage("You are Shrek. Answer as Shrek."), HumanMessage("Who are you?")]
    base, tuned = (
        get_model(f"llamacpp:{name}", temperature=0, max_tokens=24) for name in ("smollm2", "rolesmol")
    )
    assert isinstance(tuned, ChatLlamaCpp)
    assert tuned.model_path == embedded_gguf()
    assert tuned.adapter_path == BUNDLED["rolesmol"].adapter
    assert base.invoke(asked).text != tuned.invoke(asked).text
