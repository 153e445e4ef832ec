"""Secrets are removed from what is shown or logged, and the rest stays."""

import pytest

from rolellm_agents.text.masking import masked, masked_option

SECRET = "S3CR3Tpw"


@pytest.mark.parametrize(
    "text",
    [
        f"http://user:{SECRET}@127.0.0.1:8799/v1 refuses",
        f"http://{SECRET}@host/v1",
        f"postgresql+psycopg://me:{SECRET}@db/x",
        f"https://user:p@{SECRET}@host/v1",
        f"Incorrect API key provided: Basic {SECRET}=",
        f"Incorrect API key provided: {SECRET}.",
        f"Authorization: Bearer {SECRET}",
        f"Authorization: {SECRET}",
        f"{{'authorization': 'Bearer {SECRET}', 'x-api-key': '{SECRET}'}}",
        f'"api_key": "{SECRET}", "model": "x"',
        f"api_key={SECRET}&x=1",
        f"https://host/v1?key={SECRET}&x=1",
        f"password = {SECRET}",
        f"the key sk-{SECRET} is wrong",
        f"sk-proj-{SECRET}****9x and hf_{SECRET}, gsk_{SECRET}",
        f"rolellm-{SECRET}",
        "Basic S3CR…",
    ],
)
def test_a_secret_is_removed(text: str) -> None:
    assert SECRET not in masked(text)
    assert "S3CR" not in masked(text)
    assert "***" in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8080/v1 refuses the API key for openai:x (401); set it in OPENAI_API_KEY.",
        "mail me@example.org, or see https://example.org/a@b?x=1",
        "a basic question about tokens: how many?",
        "max_tokens = 5, hf_hub_download failed, sk-learn",
        "This model's maximum context length is 4096 tokens, your messages have 5000",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_what_the_environment_holds_as_a_secret_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_OWN_API_KEY", "correct horse battery")
    monkeypatch.setenv("HF_TOKEN", "x")  # too short to be one
    assert masked("the key correct horse battery is wrong, x") == "the key *** is wrong, x"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("api_key", "anything", "***"),
        ("openai_api_key", 5, "***"),
        ("token", "anything", "***"),
        ("api_key_env", "OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("max_tokens", 5, 5),
        ("base_url", "http://me:pw@host/v1", "http://***@host/v1"),
    ],
)
def test_an_option_is_shown_without_secrets(name: str, value: object, shown: object) -> None:
    assert masked_option(name, value) == shown
