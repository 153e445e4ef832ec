import pytest

from rolellm_agents.models.refused_length import RefusedLength, refused_length


@pytest.mark.parametrize(
    ("refusal", "limit", "size"),
    [
        pytest.param(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9120 "
            "tokens. Please reduce the length of the messages.",
            8192,
            9120,
            id="OpenAI",
        ),
        pytest.param(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300,000 "
            "tokens.",
            272_000,
            300_000,
            id="OpenAI, configured",
        ),
        pytest.param(
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8500 "
            "in the messages, 500 in the completion). Please reduce the length.",
            8192,
            8500,
            id="vLLM",
        ),
        pytest.param(
            "'max_tokens' is too large: 500. This model's maximum context length is 8192 tokens and your "
            "request has 8000 input tokens",
            8192,
            8000,
            id="vLLM, the answer",
        ),
        pytest.param(
            "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
            8192,
            9000,
            id="vLLM, the engine",
        ),
        pytest.param(
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            8192,
            9000,
            id="SGLang",
        ),
        pytest.param(
            "Error code: 400 - {'error': {'code': 400, 'message': 'the request exceeds the available "
            "context size. try increasing the context size or enable context shift', 'type': "
            "'exceed_context_size_error', 'n_prompt_tokens': 9120, 'n_ctx': 8192}}",
            8192,
            9120,
            id="llama-server",
        ),
        pytest.param(
            "request (9120 tokens) exceeds the available context size (8192 tokens), try increasing it",
            8192,
            9120,
            id="llama-server, words",
        ),
        pytest.param(
            "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens, which is not enough.",
            4096,
            None,
            id="LM Studio",
        ),
        pytest.param("the input exceeds maximum context length (8192)", 8192, None, id="Ollama"),
        pytest.param(
            "the input length exceeds the context length", None, None, id="Ollama, without numbers"
        ),
        pytest.param(
            "prompt is too long: 210000 tokens > 200000 maximum", 200_000, 210_000, id="Anthropic"
        ),
        pytest.param(
            "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000, decrease input",
            200_000,
            199_000,
            id="Anthropic, the answer",
        ),
        pytest.param(
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
            "context length",
            32_768,
            40_000,
            id="Mistral",
        ),
        pytest.param(
            "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
            1_048_576,
            1_048_577,
            id="Google",
        ),
        pytest.param(
            "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512",
            4096,
            5000,
            id="text-generation-inference",
        ),
        pytest.param("context too large", None, None, id="no number"),
        pytest.param("Error code: 400 - the context 5 is odd", None, None, id="another number"),
    ],
)
def test_the_numbers_of_a_refusal_are_read(refusal: str, limit: int | None, size: int | None) -> None:
    assert refused_length(refusal) == RefusedLength(limit, size)


def test_an_excess_is_read() -> None:
    refusal = "prompt too long; exceeded max context length by 232 tokens"
    assert refused_length(refusal) == RefusedLength(None, None, 232)
