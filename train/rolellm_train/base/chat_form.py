"""Control tokens of a tokenizer, and the token with which a chat template ends an answer."""

from collections.abc import Callable
from typing import Any

from rolellm_agents.models.llamacpp.template import ChatTemplate


def marks_of(tokenizer: Any) -> Callable[[str], bool]:
    """A function that returns whether a text is a single token, as `usual_template` requires."""

    def is_mark(text: str) -> bool:
        return len(tokenizer.encode(text, add_special_tokens=False)) == 1

    return is_mark


def answer_end(tokenizer: Any, template: ChatTemplate) -> int:
    """The id of the token that the template puts after an answer."""
    question = [{"role": "user", "content": "a"}]
    prefix = template.render(question)
    complete = template.render([*question, {"role": "assistant", "content": "b"}], answer_follows=False)
    ids_after: list[int] = tokenizer.encode(
        complete.removeprefix(prefix).lstrip("b"), add_special_tokens=False
    )
    return ids_after[0] if ids_after else int(tokenizer.eos_token_id)
