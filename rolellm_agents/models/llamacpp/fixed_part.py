"""Which first tokens of a prompt say a given text, and depend on nothing that follows it."""

from collections.abc import Callable, Sequence
from itertools import takewhile

from rolellm_agents.models.llamacpp.template import Turn

_ENDINGS = (("", "a"), ("\nb", "b"), ("c", "c"))
"""What may follow the text in the system message, and what the user may say then: as unlike as possible."""


def fixed_part(
    prompt: Sequence[int], prefix: str, tokens_of: Callable[[Sequence[Turn]], Sequence[int]]
) -> int:
    """Count the first tokens of a prompt that are the same whatever follows `prefix`.

    A tokenizer may join the end of a text with what follows it, and a chat template may move or trim it.
    So the text is rendered with several endings, and only the tokens that all of these prompts and the
    given one share are counted. They can therefore hold nothing that is not in the text or the template.

    Args:
        prompt: the tokens of a prompt whose system message begins with `prefix`.
        prefix: the beginning of the system message.
        tokens_of: renders turns as the model's template does, and returns their tokens.

    Returns:
        The number of tokens; 0 when the prompt does not begin with the text.
    """
    probes = [
        tokens_of([{"role": "system", "content": prefix + ending}, {"role": "user", "content": word}])
        for ending, word in _ENDINGS
    ]
    same = takewhile(lambda column: len(set(column)) == 1, zip(*probes, strict=False))
    count = sum(1 for _ in same)
    return count if list(prompt[:count]) == list(probes[0][:count]) else 0
