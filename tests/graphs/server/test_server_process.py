"""`rolellm serve` as a process, and the clients that people have."""

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from helpers.api_server import rolellm_serve
from helpers.commands import rolellm
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

KEY = "a-key-of-ours"
HELLO: list[Any] = [{"role": "user", "content": "Who are you?"}]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the embedded model, for all tests here; its base URL."""
    home = tmp_path_factory.mktemp("home")
    environment = {"ROLELLM_HOME": str(home), "ROLELLM_API_KEY": KEY}
    with rolellm_serve("--strategy", "system", "--max-tokens", "24", environment=environment) as (
        process,
        url,
    ):
        assert url.startswith("http://127.0.0.1:"), process.communicate()
        yield url


def test_the_openai_package_is_answered_whole_and_in_a_stream(embedded: str) -> None:
    with openai.OpenAI(base_url=embedded, api_key=KEY) as client:
        options: dict[str, Any] = {
            "model": "sherlock-holmes",
            "messages": HELLO,
            "seed": 4,
            "temperature": 0,
        }
        whole = client.chat.completions.create(**options)
        chunks = list(
            client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True})
        )
        names = [model.id for model in client.models.list()]
        with pytest.raises(openai.NotFoundError, match="did you mean sherlock-holmes"):
            client.chat.completions.create(model="sherlock-homes", messages=HELLO)
        text = client.completions.create(
            model="sherlock-holmes", prompt="Who are you?", seed=4, temperature=0
        )
    said = whole.choices[0].message.content
    assert said
    assert said == "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == text.choices[0].text
    assert whole.usage
    assert chunks[-1].usage
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens <= 24
    # What was read for the first is not read again.
    assert chunks[-1].usage.prompt_tokens_details
    assert (chunks[-1].usage.prompt_tokens_details.cached_tokens or 0) > whole.usage.prompt_tokens * 0.9
    assert "sherlock-holmes" in names
    with (
        openai.OpenAI(base_url=embedded, api_key="wrong") as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.models.list()


@pytest.mark.core
def test_langchains_chat_openai_is_answered(embedded: str) -> None:
    model = ChatOpenAI(
        model="sherlock-holmes", base_url=embedded, api_key=SecretStr(KEY), seed=4, temperature=0
    )
    whole = model.invoke("Who are you?")
    assert whole.text
    assert whole.text == "".join(chunk.text for chunk in model.stream("Who are you?"))
    assert whole.usage_metadata


def test_an_answer_may_be_asked_for_in_a_form(embedded: str) -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"enum": ["yes", "no"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    form: Any = {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "schema": schema, "strict": True},
    }
    with openai.OpenAI(base_url=embedded, api_key=KEY) as client:
        answer = client.chat.completions.create(
            model="sherlock-holmes", messages=HELLO, response_format=form, seed=1
        )
    assert json.loads(answer.choices[0].message.content or "")["answer"] in ("yes", "no")


@pytest.mark.core
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_is_answered_as_the_guide_shows_it(embedded: str) -> None:
    guide = (Path(__file__).parents[3] / "docs/guides/server.md").read_text(encoding="utf-8")
    found = re.search(r"v1/chat/completions -H 'Content-Type: application/json' \\\n  -d '(.*)'\n", guide)
    assert found
    asked = found[1]
    command = ["curl", "-s", f"{embedded}/chat/completions", "-H", f"Authorization: Bearer {KEY}"]
    command += ["-H", "Content-Type: application/json", "-d", asked]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)
    assert answer["choices"][0]["message"]["content"]


SILLY_TAVERN = {
    "messages": [
        {"role": "system", "content": "Write Sherlock's next reply in a fictional chat."},
        {"role": "system", "content": "[Start a new Chat]"},
        {"role": "assistant", "content": "You have been in Afghanistan, I perceive."},
        {"role": "user", "content": "How on earth did you know that?"},
    ],
    "model": "sherlock-holmes",
    "temperature": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "top_p": 1,
    "max_tokens": 300,
    "stream": True,
    "logit_bias": {},
    "seed": 1234567,
    "stop": ["\nUser:"],
    "n": 1,
    "logprobs": False,
    "top_logprobs": None,
    "char_name": "Sherlock",
    "user_name": "User",
    "group_names": [],
    "chat_completion_source": "custom",
    "include_reasoning": False,
    "reasoning_effort": "auto",
    "enable_web_search": False,
}
"""What SillyTavern sends to a custom endpoint: its own fields beside OpenAI's."""

OPEN_WEBUI = {
    "stream": True,
    "model": "sherlock-holmes",
    "messages": [{"role": "user", "content": "Who are you?"}],
    "params": {},
    "tool_servers": [],
    "features": {"image_generation": False, "code_interpreter": False, "web_search": False},
    "variables": {"{{USER_NAME}}": "Ada"},
    "background_tasks": {"title_generation": True},
    "stream_options": {"include_usage": True},
}
"""What Open WebUI's page sends; it passes most of it on."""


@pytest.mark.parametrize("body", [SILLY_TAVERN, OPEN_WEBUI], ids=["SillyTavern", "Open WebUI"])
def test_the_requests_of_chat_programs_are_answered(embedded: str, body: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.stream(
        "POST", f"{embedded}/chat/completions", json=body, headers=headers, timeout=120
    ) as answer:
        assert answer.status_code == 200
        lines = [line for line in answer.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    deltas = [json.loads(line[6:])["choices"] for line in lines[:-1]]
    assert "".join(choice[0]["delta"].get("content", "") for choice in deltas if choice)


def test_a_signal_lets_streams_end_and_nobody_new_in(embedded: str, tmp_path: Path) -> None:
    home = {"ROLELLM_HOME": str(tmp_path), "ROLELLM_API_KEY": ""}
    with rolellm_serve("--max-tokens", "120", environment=home) as (process, url):
        body = {"model": "sherlock-holmes@system", "messages": HELLO, "stream": True, "max_tokens": 120}
        heard: list[str] = []
        begun = threading.Event()

        def listen() -> None:
            with httpx.stream("POST", f"{url}/chat/completions", json=body, timeout=120) as answer:
                for line in answer.iter_lines():
                    heard.append(line)
                    begun.set()

        listening = threading.Thread(target=listen)
        listening.start()
        assert begun.wait(120)
        process.send_signal(signal.SIGTERM)
        refused = False
        while listening.is_alive() and not refused:
            try:
                httpx.get(f"{url.removesuffix('/v1')}/health", timeout=5)
            except httpx.TransportError:
                refused = True
            time.sleep(0.01)
        listening.join(120)
        assert heard[-2:] == ["data: [DONE]", ""]
        assert process.wait(60) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--host", "0.0.0.0"), "Anyone who can reach 0.0.0.0 could use this server; set a key"),  # noqa: S104
        (("--host", "no-such-name.invalid", "--api-key", "k"), "cannot be listened on"),
        (("--model", "nope:x:y"), "rolellm: "),
        (("--model", "workstation"), "There is no model 'workstation'"),
        (("--strategy", "shouting"), "There is no strategy 'shouting'"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_sentence(arguments: tuple[str, ...], said: str) -> None:
    told = rolellm("serve", "--port", "0", *arguments)
    assert told.returncode == 2
    assert said in told.stderr
    assert "Traceback" not in told.stderr
