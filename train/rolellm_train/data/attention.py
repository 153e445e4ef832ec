"""Attention over packed sequences: each branch attends to its tree's common prefix and to itself.

Only these blocks are computed. With a dense mask most of the work would be wasted: in a tree of 2,048
tokens, a branch of 130 tokens attends to 420. The function is registered with transformers under `NAME` and
works in every model whose attention can be chosen. Grouped queries are concatenated, so that keys and
values are not copied for each of them. A prefix with one branch has the same positions as the row alone, so
sliding windows contain the same tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch

NAME: Final = "rolellm_trees"


@dataclass(frozen=True, slots=True)
class Span:
    """The lengths of the parts of a tree, in tokens; the trees of a pack are adjacent."""

    shared: int
    """Length of the shared prefix, in tokens."""
    branches: tuple[int, ...]
    """Length of each branch, in tokens."""


def register() -> None:
    """Register the attention with transformers."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, lambda *_, **__: None)


def attend(
    module: "torch.nn.Module",
    query: "torch.Tensor",
    key: "torch.Tensor",
    value: "torch.Tensor",
    attention_mask: Any,
    *,
    spans: Sequence[Span],
    scaling: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> "tuple[torch.Tensor, None]":
    """Compute the attention of one packed sequence.

    Args:
        module: the layer; not used.
        query: shape 1 × heads × tokens × width.
        key: shape 1 × key heads × tokens × width.
        value: shape as `key`.
        attention_mask: None; `spans` defines the mask.
        spans: the trees in order, which cover all tokens.
        scaling: the factor of the dot products; 1 / √width when None.
        sliding_window: the number of tokens to which a token attends, including itself; all when None.

    Returns:
        The output, shape 1 × tokens × heads × width, and None in place of attention weights.
    """
    import torch

    heads, key_heads = query.shape[1], key.shape[1]
    # key heads × group × tokens × width: queries that share a key head become more tokens, not more keys.
    grouped = query[0].reshape(key_heads, heads // key_heads, *query.shape[2:])
    # Split, not sliced: the gradient of a slice is as long as the whole sequence.
    lengths = [length for span in spans for length in (span.shared, *span.branches)]
    split = zip(
        torch.split(grouped, lengths, dim=2),
        torch.split(key[0], lengths, dim=1),
        torch.split(value[0], lengths, dim=1),
        strict=True,
    )
    parts: list[torch.Tensor] = []
    for span in spans:
        queries, prefix_keys, prefix_values = next(split)
        if span.shared:
            parts.append(_causal_attention(queries, prefix_keys, prefix_values, scaling, sliding_window))
        for _length in span.branches:
            queries, keys, values = next(split)
            if span.shared:
                keys, values = (
                    torch.cat([prefix_keys, keys], dim=1),
                    torch.cat([prefix_values, values], dim=1),
                )
            parts.append(_causal_attention(queries, keys, values, scaling, sliding_window))
    # key heads × group × tokens × width
    attended = torch.cat(parts, dim=2)
    return attended.flatten(0, 1).transpose(0, 1)[None].contiguous(), None


def _causal_attention(
    queries: "torch.Tensor",
    keys: "torch.Tensor",
    values: "torch.Tensor",
    scaling: float | None,
    window: int | None,
) -> "torch.Tensor":
    """Causal attention of queries for the last of the keys' tokens."""
    import torch

    group, tokens = queries.shape[1:3]
    if window is not None:
        # The first query attends to `window - 1` tokens before it; later queries to none before those.
        visible = tokens + window - 1
        keys, values = keys[:, -visible:], values[:, -visible:]
    before = keys.shape[1] - tokens
    sees = torch.ones(tokens, keys.shape[1], dtype=torch.bool, device=queries.device).tril(before)
    if window is not None:
        sees = sees.triu(before - window + 1)
    attended = torch.nn.functional.scaled_dot_product_attention(
        queries.flatten(1, 2)[None],
        keys[None],
        values[None],
        attn_mask=sees.repeat(group, 1)[None, None],
        scale=scaling,
    )
    return attended[0].reshape(-1, group, tokens, attended.shape[-1])
