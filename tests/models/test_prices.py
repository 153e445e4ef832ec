"""The user's price list, and what answers and runs cost by it."""

import json
from pathlib import Path

import pytest
from helpers.broken_servers import Answer, serving
from helpers.commands import rolellm
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.prices import cost_of, prices_of
from rolellm_agents.runs.budget import Prices

LIST = """\
["openai:gpt-4o-mini"]
read = 0.15
written = 0.60
cached = 0.075

[workstation]
read = 1
written = 2
"""


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def prices_file(home: Path) -> Path:
    write(user_paths().prices_file, LIST)
    return user_paths().prices_file


def test_a_model_is_found_by_its_name_or_its_spec(prices_file: Path) -> None:
    write(
        user_paths().models_file,
        '[models.mini]\nspec = "openai:gpt-4o-mini"\n[models.workstation]\nspec = "openai:qwen3"\n',
    )
    assert prices_of("openai:gpt-4o-mini") == prices_of("mini") == Prices(0.15, 0.60, 0.075)
    assert prices_of("workstation") == Prices(1, 2)
    assert prices_of("openai:qwen3") is None


def test_without_a_list_nothing_has_a_price(home: Path) -> None:
    assert prices_of("openai:gpt-4o-mini") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a", "is not valid TOML"),
        ('["m"]\nread = 1\n', r'\["m"\] written: Field required; write read = 0.15'),
        ('["m"]\nread = -1\nwritten = 1\n', r'\["m"\] read: '),
        ('["m"]\nread = 1\nwritten = 1\ncahed = 1\n', r'\["m"\] cahed: '),
        ("m = 3\n", r'\["m"\] '),
    ],
)
def test_a_list_with_a_mistake_is_refused_in_a_sentence(home: Path, text: str, words: str) -> None:
    write(user_paths().prices_file, text)
    with pytest.raises(SettingsError, match=words):
        prices_of("m")


def test_cached_tokens_cost_their_own_price() -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 10, "input_token_details": {"cache_read": 900_000}}
    assert cost_of(usage, Prices(2, 5, 0.5)) == pytest.approx(0.2 + 0.45 + 0.00005)
    assert cost_of(usage, Prices(2, 5)) == pytest.approx(2.00005)


@given(
    st.dictionaries(
        st.sampled_from(["input_tokens", "output_tokens", "input_token_details"]),
        st.none()
        | st.integers(0, 10**9)
        | st.text()
        | st.dictionaries(st.just("cache_read"), st.integers()),
    )
)
def test_no_usage_costs_less_than_nothing(usage: dict[str, object]) -> None:
    assert cost_of(usage, Prices(2, 5, 0.5)) >= 0


def test_an_answer_and_a_run_have_costs(prices_file: Path, tmp_path: Path) -> None:
    usage = {
        "prompt_tokens": 2000,
        "completion_tokens": 100,
        "total_tokens": 2100,
        "prompt_tokens_details": {"cached_tokens": 1000},
    }
    message = {"role": "assistant", "content": "Good day."}
    choice = {"index": 0, "message": message, "delta": message, "finish_reason": "stop"}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    chunk = {**body, "object": "chat.completion.chunk", "usage": usage}
    stream = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
    with serving(Answer(body=stream, content_type="text/event-stream")) as server:
        options = ("--model", "openai:gpt-4o-mini", "--base-url", server.url, "--json")
        said = rolellm("say", "sherlock-holmes", "Hello", *options)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["cost"] == pytest.approx((0.15 + 0.075) / 1000 + 0.06 / 1000)
    estimate = rolellm("data", "rolegpt", "--personas", "sherlock-holmes", "--dry-run", *options)
    assert json.loads(estimate.stdout)["cost"] > 0, estimate.stderr
