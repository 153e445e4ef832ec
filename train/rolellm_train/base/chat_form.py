"""Chat templates and tokenizers: markers, and the token that ends an answer."""

from collections.abc import Callable
from typing import Any

from rolellm_agents.models.llamacpp.template import ChatTemplate


def marks_of(tokenizer: Any) -> Callable[[str], bool]:
    """Whether the tokenizer has a text as one token; what `usual_template` asks."""

    def is_mark(text: str) -> bool:
        return len(tokenizer.encode(text, add_special_tokens=False)) == 1

    return is_mark


def answer_end(tokenizer: Any, template: ChatTemplate) -> int:
    """The token that the template puts after an answer."""
    asked = [{"role": "user", "content": "a"}]
    begun = template.render(asked)
    whole = template.render([*asked, {"role": "assistant", "content": "b"}], answer_follows=False)
    behind: list[int] = tokenizer.encode(whole.removeprefix(begun).lstrip("b"), add_special_tokens=False)
    return behind[0] if behind else int(tokenizer.eos_token_id)
