"""Token counts of the parts of a prompt."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from langchain_core.language_models import BaseChatModel

from rolellm_agents.errors import ModelError
from rolellm_agents.models.local import count_tokens
from rolellm_agents.text import estimated_tokens
from rolellm_graphs.role.prompt_parts import Part, PromptPart

Kind = Part | Literal["turn marks"]
"""A kind of part, or the markers of the chat template."""
KINDS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True, kw_only=True)
class TokenCounts:
    """The token counts of a prompt."""

    by_part: tuple[int, ...]
    """In the order of the parts."""
    by_kind: Mapping[Kind, int]
    """Counts by kind, without missing kinds."""
    exact: bool
    """Whether the model's default tokenizer counted."""
    context_size: int | None
    """None if unknown."""

    @property
    def total(self) -> int:
        """The number of tokens of the complete prompt."""
        return sum(self.by_kind.values())


def counted(
    parts: Sequence[PromptPart],
    left_out: Collection[int],
    model: BaseChatModel | None,
    *,
    read: int = 0,
    context_size: int | None = None,
) -> TokenCounts:
    """Count the tokens of a prompt. This may load a local model.

    Args:
        parts: the parts of the prompt.
        left_out: the indices of the dropped parts.
        model: the model that answered; None estimates the counts.
        read: the number of prompt tokens that the model reported, or 0. What exceeds the sum of the parts
            counts as tokens of the chat template.
        context_size: the model's context size in tokens; None if unknown.
    """
    texts = [part.text for part in parts]
    by_part, exact = _count(model, texts) if model else _estimate(texts)
    sums: Counter[Kind] = Counter()
    for index, part in enumerate(parts):
        if index not in left_out:
            sums[part.part] += by_part[index]
    if exact and read > sums.total():
        sums["turn marks"] = read - sums.total()
    kinds: tuple[Kind, ...] = (*KINDS, "turn marks")
    return TokenCounts(
        by_part=tuple(by_part),
        by_kind={kind: sums[kind] for kind in kinds if sums[kind]},
        exact=exact,
        context_size=context_size,
    )


def left_out(parts: Sequence[PromptPart], dropped: int) -> frozenset[int]:
    """The indices of the messages that a local model dropped, which are the oldest ones.

    Args:
        parts: the parts of the prompt.
        dropped: the number of dropped messages.
    """
    questions = [index for index, part in enumerate(parts) if part.role == "user"]
    last = questions[-1] if questions else len(parts) - 1
    turns = [index for index in range(last) if parts[index].role != "system"]
    own = [index for index in turns if parts[index].part != "example"]
    examples = [index for index in turns if parts[index].part == "example"]
    return frozenset([*own, *examples][: max(0, dropped)])


def _count(model: BaseChatModel, texts: Sequence[str]) -> tuple[list[int], bool]:
    try:
        counts = [count_tokens(model, text) for text in texts]
    except ModelError:
        return _estimate(texts)
    return [count for count, _ in counts], all(exact for _, exact in counts)


def _estimate(texts: Sequence[str]) -> tuple[list[int], bool]:
    return [estimated_tokens(text) for text in texts], False
