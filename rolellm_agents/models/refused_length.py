"""What servers say when they refuse a prompt because it is too long: their limit, and the prompt's size.

The forms are those of OpenAI, OpenRouter, vLLM, SGLang, llama-server, LM Studio, Ollama, Anthropic,
Mistral, Google and text-generation-inference.
"""

import re
from typing import Final, NamedTuple

_NUMBER: Final = r"(\d[\d,]*)"
_LIMITS: Final = tuple(
    re.compile(form.replace("NUMBER", _NUMBER), re.IGNORECASE)
    for form in (
        r"n_ctx['\"]?: *NUMBER",
        r"\d > NUMBER",
        r"tokens > NUMBER",
        r"must be <= *NUMBER",
        r"NUMBER maximum context length",
        r"context (?:length|size|window|limit)(?: is| of)?(?: only)?:? *\(?NUMBER",
        r"maximum model length of NUMBER",
        r"configured limit of NUMBER",
        r"number of tokens allowed *\(?NUMBER",
    )
)
_SIZES: Final = tuple(
    re.compile(form.replace("NUMBER", _NUMBER), re.IGNORECASE)
    for form in (
        r"n_prompt_tokens['\"]?: *NUMBER",
        r"NUMBER in the (?:messages|prompt)",
        r"NUMBER tokens from the input",
        r"(?:resulted in|your messages have|request has) NUMBER",
        r"(?:request|input|token count|prompt) \((?:length )?NUMBER",
        r"too long: *NUMBER tokens",
        r"prompt contains NUMBER tokens",
        r"given: *NUMBER",
        r"context limit: *NUMBER \+",
    )
)
_EXCESS: Final = re.compile(rf"context length by {_NUMBER}", re.IGNORECASE)
_LEAST: Final = 128
"""No model has a smaller context; a smaller number means something else."""


class RefusedLength(NamedTuple):
    """The numbers of a refusal, in the server's tokens; None for what it does not say."""

    limit: int | None
    size: int | None
    """The size of the prompt."""
    excess: int | None = None
    """How much the prompt exceeds the limit."""


def refused_length(refusal: str) -> RefusedLength:
    """Read the numbers of a refusal."""
    return RefusedLength(
        _first(_LIMITS, refusal), _first(_SIZES, refusal), _first((_EXCESS,), refusal, least=1)
    )


def _first(forms: tuple[re.Pattern[str], ...], refusal: str, *, least: int = _LEAST) -> int | None:
    for form in forms:
        for found in form.finditer(refusal):
            if (number := int(found.group(1).replace(",", ""))) >= least:
                return number
    return None
