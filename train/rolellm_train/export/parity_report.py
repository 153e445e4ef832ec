"""The report of the parity check."""

from collections.abc import Sequence

from rolellm_agents.text import one_line
from rolellm_train.export.parity import Parity, failure_of


def parity_markdown(parities: Sequence[Parity], *, dtype: str, versions: str) -> str:
    """Write the report as Markdown.

    Args:
        parities: one result for each file and base model.
        dtype: the data type of transformers' weights.
        versions: the versions of the compared programs.
    """
    rows = "\n".join(_row(parity) for parity in parities)
    replies = "\n\n".join(_reply(parity) for parity in parities)
    return f"""# Parity

The same chats through transformers ({dtype}) and llama.cpp ({versions}):
instruction, an exchange, a question, each to another character of the cast.
Logits are compared at the last tokens of each chat.

| file | over | token ids | template | end token | positions | top-1 | max. logit difference | |
|---|---|---|---|---|---:|---:|---:|---|
{rows}

## A reply to the first chat

Always the likeliest token.

transformers:

> {_quoted(parities[0].reference_reply)}

{replies}
"""


def _row(parity: Parity) -> str:
    largest = "no number" if parity.largest_difference is None else f"{parity.largest_difference:.3f}"
    return (
        f"| {parity.file} | {parity.over or '–'} | {parity.same_ids} of {parity.chats} the same | "
        f"{'the same' if parity.same_template else 'another'} | "
        f"{'stops' if parity.stops else 'does not stop'} | {parity.positions:,} | "
        f"{parity.agreement:.4f} | {largest} | {failure_of(parity) or 'passed'} |"
    )


def _reply(parity: Parity) -> str:
    over = f" over {parity.over}" if parity.over else ""
    return f"{parity.file}{over}:\n\n> {_quoted(parity.reply)}"


def _quoted(reply: str) -> str:
    return one_line(reply).replace("<", "&lt;") or "(nothing)"
