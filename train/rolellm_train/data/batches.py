"""A pack as tensors for transformers."""

from typing import Any

from rolellm_train.data.attention import Span
from rolellm_train.data.packing import PackedSequence


def batch_of(pack: PackedSequence) -> dict[str, Any]:
    """The tensors of one packed sequence.

    Returns:
        `input_ids` and `position_ids`, shape 1 × tokens; `spans`, for `attention.attend`;
        `logits_to_keep`, the positions whose next token is learned, row by row; and `labels`, those
        tokens, shape 1 × positions.
    """
    import torch

    ids: list[int] = []
    positions: list[int] = []
    spans: list[Span] = []
    places: list[int] = []
    labels: list[int] = []
    for tree in pack.trees:
        shared = tree.shared
        ids += tree.rows[0].ids[:shared]
        positions += range(shared)
        for row in tree.rows:
            offset = len(ids) - shared
            for answer in row.answers:
                places += range(offset + answer.start - 1, offset + answer.stop - 1)
                labels += row.ids[answer.start : answer.stop]
            ids += row.ids[shared:]
            positions += range(shared, len(row.ids))
        spans.append(Span(shared, tuple(len(row.ids) - shared for row in tree.rows)))
    return {
        "input_ids": torch.tensor([ids]),
        "position_ids": torch.tensor([positions]),
        "labels": torch.tensor([labels]),
        "logits_to_keep": torch.tensor(places),
        "spans": spans,
    }
