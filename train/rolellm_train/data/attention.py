"""Attention over packs: a branch sees its tree's beginning and itself, and nothing else is computed.

A dense mask would make most of a pack's attention work for nothing: of 2,048 tokens in one tree, a branch
of 130 sees 420. Registered with transformers under `NAME`, it works in every model whose attention can be
chosen. Grouped queries are laid side by side, so that keys and values are not copied for each of them.
A tree's beginning and one branch of it are a row as it would lie alone, so a layer that sees so many tokens
back sees the same ones here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch

NAME: Final = "rolellm_trees"


@dataclass(frozen=True, slots=True)
class Span:
    """Lengths of the parts of a tree; trees are adjacent."""

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
    """Attention of one sequence of trees.

    Args:
        module: the layer, which is not looked at.
        query: 1 × heads × tokens × width.
        key: 1 × key heads × tokens × width.
        value: like `key`.
        attention_mask: none; the spans say what is seen.
        spans: the trees, which together are all tokens, in their order.
        scaling: of the products; one over the square root of the width when None.
        sliding_window: how many tokens a token of this layer sees, itself among them; all when None.

    Returns:
        1 × tokens × heads × width, and no weights.
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
    """Queries that are the last of the keys' tokens, each of which sees those up to itself."""
    import torch

    group, tokens = queries.shape[1:3]
    if window is not None:
        # The first query sees `window - 1` tokens before it, and no other sees any before those.
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
