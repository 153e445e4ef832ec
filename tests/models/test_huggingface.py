"""Models of transformers, with the embedded model's own weights."""

import asyncio
import shutil
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.broken_servers import Answer, not_listening, serving
from helpers.texts import is_one_sentence
from langchain_core.messages import AIMessageChunk, HumanMessage, SystemMessage

from rolellm_agents.errors import ModelError
from rolellm_agents.models.catalog import describe_model, get_model
from rolellm_agents.models.llamacpp.files.gguf import embedded_gguf
from rolellm_agents.persona import Persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_graphs.events import MessageDone, TokenDelta

pytest.importorskip("transformers", reason="the extra “hf” is not installed")
pytest.importorskip("torch", reason="the extra “hf” is not installed")

from rolellm_agents.models.huggingface import ChatTransformers
from rolellm_train.base.unpacking import unpack_gguf

QUESTION = "Name the capital of France."
STORY = "Tell a story."
SECONDS = 60.0
"""No test waits so long, unless what it tests is broken."""


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Two threads of torch wait for each other at every step, for ages when the machine is busy."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The embedded model as transformers keeps models; half a gigabyte, and so not left behind."""
    place = tmp_path_factory.mktemp("huggingface") / "smollm2"
    unpack_gguf(embedded_gguf(), place)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def greedy(folder: Path) -> ChatTransformers:
    return load(folder, temperature=0, max_tokens=16)


@pytest.fixture(scope="module")
def adapter(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LoRA weights over the model, of random numbers, as PEFT saves them."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    place = tmp_path_factory.mktemp("peft") / "adapter"
    base = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    config = LoraConfig(
        r=2,
        lora_alpha=16,
        target_modules=["q_proj", "v_proj"],
        layers_to_transform=[0, 1],
        init_lora_weights=False,  # neither half of them is zero
        task_type="CAUSAL_LM",
    )
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # PEFT's, about transformers
        get_peft_model(base, config).save_pretrained(place)
    return place


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hub, whatever was imported before the environment said so."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def load(folder: Path, **options: Any) -> ChatTransformers:
    model = get_model(f"huggingface:{folder}", **options)
    assert isinstance(model, ChatTransformers)
    return model


def refusal(name: str | Path, **options: Any) -> str:
    with pytest.raises(ModelError) as raised:
        get_model(f"huggingface:{name}", **options)
    told = str(raised.value)
    assert is_one_sentence(told)
    return told


def copied(folder: Path, place: Path, replaced: Mapping[str, str | bytes | None]) -> Path:
    """The model's folder again; `replaced` files have other content, or are left out if that is None."""
    place.mkdir()
    for file in folder.iterdir():
        if file.name not in replaced:
            (place / file.name).symlink_to(file)
    for name, content in replaced.items():
        if content is not None:
            (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def joined(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


def generating() -> list[threading.Thread]:
    """The threads in which an answer is being computed."""
    return [thread for thread in threading.enumerate() if "_generate" in thread.name]


async def all_ended() -> bool:
    """Wait, for a while, until no answer is being computed any more."""
    deadline = time.monotonic() + SECONDS
    while generating() and time.monotonic() < deadline:  # noqa: ASYNC110 - threads tell nobody of their end
        await asyncio.sleep(0.01)
    return not generating()


# Answers


async def test_all_four_ways_to_ask_give_the_same_answer_and_count(greedy: ChatTransformers) -> None:
    answer = greedy.invoke(QUESTION)
    assert "Paris" in answer.text
    tokenizer = greedy.llm.pipeline.tokenizer
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": QUESTION}], add_generation_prompt=True, return_dict=True
    )["input_ids"]
    written = len(tokenizer(answer.text)["input_ids"]) + 1  # and the end mark
    assert answer.usage_metadata == {
        "input_tokens": len(prompt),
        "output_tokens": written,
        "total_tokens": len(prompt) + written,
    }
    assert answer.response_metadata["finish_reason"] == "stop"
    assert (await greedy.ainvoke(QUESTION)).text == answer.text
    for chunks in (list(greedy.stream(QUESTION)), [chunk async for chunk in greedy.astream(QUESTION)]):
        assert sum(bool(chunk.text) for chunk in chunks) >= 4
        whole = joined(chunks)
        assert whole.text == answer.text
        assert whole.usage_metadata == answer.usage_metadata


async def test_answers_that_are_computed_at_the_same_time_are_the_same(greedy: ChatTransformers) -> None:
    alone = (await greedy.ainvoke(QUESTION)).text
    answers = await asyncio.gather(*(greedy.ainvoke(QUESTION) for _ in range(3)))
    assert [answer.text for answer in answers] == [alone] * 3


@pytest.mark.core
@pytest.mark.parametrize("max_tokens", [1, 3])
def test_no_answer_is_longer_than_allowed(greedy: ChatTransformers, max_tokens: int) -> None:
    answer = greedy.invoke(STORY, max_tokens=max_tokens)
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] == max_tokens
    assert answer.response_metadata["finish_reason"] == "length"


@pytest.mark.parametrize("stop", [["France"], ["nowhere", "of Fra"]])
async def test_a_stop_string_ends_the_answer_and_is_not_in_it(
    greedy: ChatTransformers, stop: list[str]
) -> None:
    """As with every other model."""
    before = greedy.invoke(QUESTION).text.partition(stop[-1])[0]
    assert greedy.invoke(QUESTION, stop=stop).text == before
    assert "".join([chunk.text async for chunk in greedy.astream(QUESTION, stop=stop)]) == before


def test_a_seed_makes_an_answer_repeatable(folder: Path) -> None:
    """The model's own seed, and one given with the call, as a session does."""
    model = load(folder, temperature=1, max_tokens=8, seed=3)
    first = model.invoke(STORY).text
    assert model.invoke(STORY).text == first
    assert {model.invoke(STORY, seed=seed).text for seed in (4, 5, 6)} != {first}
    assert model.invoke(STORY, seed=3).text == first


def test_a_temperature_given_with_the_call_counts(greedy: ChatTransformers, folder: Path) -> None:
    """A whole number is a temperature too, as TOML and people write it."""
    hot = load(folder, temperature=2, max_tokens=16, seed=3)
    assert hot.invoke(STORY).text != greedy.invoke(STORY).text
    assert hot.invoke(STORY, temperature=0).text == greedy.invoke(STORY).text


async def test_a_whole_turn_of_a_session(greedy: ChatTransformers, folder: Path, holmes: Persona) -> None:
    with Transcript() as transcript:
        session = Session(holmes, transcript, model=greedy, strategy="zero-shot")
        events = [event async for event in session.send("Who are you?")]
    done = events[-1]
    assert isinstance(done, MessageDone)
    assert (
        done.message.text == "".join(event.text for event in events if isinstance(event, TokenDelta)) != ""
    )
    assert (done.message.status, done.message.made_by["model"]) == ("complete", f"huggingface:{folder}")
    assert done.message.usage is not None
    assert done.message.usage["output_tokens"] == 16


@pytest.mark.core
def test_the_model_tells_which_it_is(greedy: ChatTransformers, folder: Path) -> None:
    assert describe_model(greedy) == f"huggingface:{folder}"


# Leaving early


def endless(model: ChatTransformers) -> dict[str, Any]:
    """Settings with which an answer takes far longer than any test waits."""
    return {
        "llm": model.llm.model_copy(
            update={"pipeline_kwargs": {"max_new_tokens": 8000, "min_new_tokens": 8000}}
        )
    }


async def test_leaving_an_async_stream_ends_the_computation(greedy: ChatTransformers) -> None:
    model = greedy.model_copy(update=endless(greedy))
    stream = model.astream(STORY)
    await anext(stream)
    assert len(generating()) == 1
    await stream.aclose()  # type: ignore[attr-defined]  # an async generator, though typed as an iterator
    assert await all_ended()


async def test_cancelling_a_call_ends_the_computation(greedy: ChatTransformers) -> None:
    model = greedy.model_copy(update=endless(greedy))
    call = asyncio.create_task(model.ainvoke(STORY))
    deadline = time.monotonic() + SECONDS
    while not generating() and time.monotonic() < deadline:  # noqa: ASYNC110 - threads tell nobody of their start
        await asyncio.sleep(0.01)
    assert len(generating()) == 1
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await all_ended()


def test_leaving_a_stream_has_ended_the_computation(greedy: ChatTransformers) -> None:
    stream = greedy.model_copy(update=endless(greedy)).stream(STORY)
    next(stream)
    assert len(generating()) == 1
    stream.close()  # type: ignore[attr-defined]  # a generator, though typed as an iterator
    assert generating() == []


@pytest.mark.core
async def test_an_error_while_computing_reaches_the_caller(greedy: ChatTransformers) -> None:
    llm = greedy.llm.model_copy(
        update={"pipeline_kwargs": {"max_new_tokens": 4, "top_k": -1, "do_sample": True}}
    )
    model = greedy.model_copy(update={"llm": llm})
    with pytest.raises(ValueError, match="top_k"):
        [chunk async for chunk in model.astream(QUESTION)]
    with pytest.raises(ValueError, match="top_k"):
        model.invoke(QUESTION)
    assert generating() == []


# Chat templates

IN_ROLE = [SystemMessage("You are a guide of few words."), HumanMessage(QUESTION)]


def test_a_tokenizer_without_a_template_speaks_chatml(
    greedy: ChatTransformers, folder: Path, tmp_path: Path
) -> None:
    bare = load(
        copied(folder, tmp_path / "bare", {"chat_template.jinja": None}), temperature=0, max_tokens=16
    )
    assert bare.invoke(IN_ROLE).text == greedy.invoke(IN_ROLE).text


def test_a_template_that_knows_no_system_role_gets_it_from_the_user(folder: Path, tmp_path: Path) -> None:
    """Gemma's and Mistral's are so; llama.cpp's path folds the turns for them, and so must this one."""
    template = (
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role here') }}{% endif %}"
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
        "{{ message['content'] }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    )
    strict = load(
        copied(folder, tmp_path / "strict", {"chat_template.jinja": template}), temperature=0, max_tokens=2
    )
    folded = HumanMessage(f"{IN_ROLE[0].text}\n\n{IN_ROLE[1].text}")
    assert strict.invoke(IN_ROLE).usage_metadata == strict.invoke([folded]).usage_metadata


# Adapters


@pytest.mark.parametrize("with_tokenizer", [True, False])
def test_an_adapter_is_loaded_with_its_base_and_changes_the_answer(
    greedy: ChatTransformers, adapter: Path, folder: Path, tmp_path: Path, with_tokenizer: bool
) -> None:
    """PEFT saves no tokenizer of itself; trainers add one."""
    place = tmp_path / "adapter"
    shutil.copytree(adapter, place)
    if with_tokenizer:
        for file in (*folder.glob("token*"), *folder.glob("*.jinja")):
            shutil.copy(file, place)
    tuned = load(place, temperature=0, max_tokens=16)
    assert tuned.invoke(QUESTION).text != greedy.invoke(QUESTION).text


@pytest.mark.core
def test_an_adapter_whose_base_is_gone_is_refused(adapter: Path, folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "adapter"
    shutil.copytree(adapter, place)
    config = place / "adapter_config.json"
    config.write_text(config.read_text().replace(str(folder), str(tmp_path / "gone")))
    for file in folder.glob("token*"):
        shutil.copy(file, place)
    assert refusal(place).startswith(f"huggingface:{place} cannot be loaded")


# Refusals


def test_a_name_is_needed() -> None:
    assert refusal("") == "“huggingface:” needs a folder or org/model, as in huggingface:org/model."


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path / "nowhere")
    assert told.startswith(f"There is no folder '{tmp_path / 'nowhere'}'")


@pytest.mark.parametrize("name", ["rolellm-test/no-such-model", "no-such-model"])
def test_a_model_of_a_hub_out_of_reach_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(name).startswith(f"There is no folder {name!r}, and the hub does not give ")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with not_listening() as url:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", url.removesuffix("/v1"))
        assert refusal(name).startswith(f"There is no folder {name!r}, and the hub does not give ")


def test_a_model_that_the_hub_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with serving(Answer(404, headers={"X-Error-Code": "RepoNotFound"})) as server:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.url.removesuffix("/v1"))
        told = refusal("rolellm-test/no-such-model")
    assert told.startswith("There is no folder 'rolellm-test/no-such-model', and the hub does not give ")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path).startswith(f"huggingface:{tmp_path} cannot be loaded")


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("no model")
    assert refusal(tmp_path / "notes").startswith(f"huggingface:{tmp_path / 'notes'} cannot be loaded")


@pytest.mark.core
@pytest.mark.parametrize(
    "replaced",
    [
        pytest.param({"model.safetensors": None}, id="no weights"),
        pytest.param({"model.safetensors": b"\xff" * 64}, id="weights of garbage"),
        pytest.param({"config.json": "{"}, id="a configuration cut short"),
        pytest.param({"config.json": "[]"}, id="a configuration of another shape"),
        pytest.param({"config.json": '{"model_type": "unheard-of"}'}, id="an unknown architecture"),
        pytest.param({"tokenizer.json": "{}"}, id="a tokenizer of another shape"),
        pytest.param({"tokenizer.json": None, "tokenizer_config.json": None}, id="no tokenizer"),
    ],
)
def test_a_folder_without_a_whole_model_is_refused(
    replaced: dict[str, str | bytes | None], folder: Path, tmp_path: Path
) -> None:
    place = copied(folder, tmp_path / "broken", replaced)
    assert refusal(place).startswith(f"huggingface:{place} cannot be loaded")


@pytest.mark.core
def test_weights_that_were_cut_short_are_refused(folder: Path, tmp_path: Path) -> None:
    with (folder / "model.safetensors").open("rb") as whole:
        place = copied(folder, tmp_path / "broken", {"model.safetensors": whole.read(100_000)})
    assert refusal(place).startswith(f"huggingface:{place} cannot be loaded")


@pytest.mark.core
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("device", "nowhere"),
        ("dtype", "float7"),
        ("temperature", -1),
        ("temperature", "hot"),
        ("max_tokens", -1),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused_by_name(folder: Path, option: str, value: object) -> None:
    told = refusal(folder, **{option: value})
    assert str(folder) in told
    assert option in told
