"""Parity: compare llama.cpp and transformers on the same chats."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.template import Turn
from rolellm_train.export.logit_reader import LogitReader
from rolellm_train.export.reference import POSITIONS, REPLY, Reference

if TYPE_CHECKING:
    import numpy as np

REQUIRED: Final = {"f16": 0.99, "q8_0": 0.95, "q4_k_m": 0.6}
"""Top-1 agreement that weights must have.

16-bit weights must agree. Quantized weights differ by an amount that depends on the model, so their bounds
are wide and only reject a different model.
"""


@dataclass(frozen=True)
class Parity:
    """The agreement of an exported file with the tuned model."""

    file: str
    """The exported file."""
    over: str
    """Base of an adapter."""
    chats: int
    same_ids: int
    """Chats with equal token ids."""
    same_template: bool
    stops: bool
    """Whether llama.cpp ends an answer at the token that the training learned as its end."""
    positions: int
    """Number of compared positions."""
    agreement: float
    """Share of positions with the same most likely token."""
    largest_difference: float | None
    """Largest difference of two logits; None if one is not finite."""
    reply: str
    reference_reply: str
    required: float | None
    """Required agreement; None if the base's weights differ from those of the training."""

    @property
    def passed(self) -> bool:
        """Whether the parity check passed."""
        return (
            self.same_ids == self.chats
            and self.same_template
            and self.stops
            and self.largest_difference is not None
            and self.agreement >= (self.required or 0.0)
        )

    def as_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return {**asdict(self), "passed": self.passed}


def compare(
    reference: Reference, model: Path, adapter: Path | None = None, *, required: float | None
) -> Parity:
    """Run a GGUF model on the chats of the reference, and compare the outputs.

    Args:
        reference: the outputs of transformers.
        model: the model, or the base model of the adapter.
        adapter: a GGUF adapter for the model, if any.
        required: the required top-1 agreement, from 0 to 1.

    Raises:
        ModelError: llama.cpp cannot load or run the model.
    """
    loaded = LlamaModel(model)
    reader = LogitReader(loaded, adapter, n_ctx=min(reference.longest + REPLY, loaded.n_ctx_train))
    same_ids = sum(
        tuple(_prompt(loaded, turns)) == ids
        for turns, ids in zip(reference.chats, reference.ids, strict=True)
    )
    positions, agreed, largest = _compare_logits(reference, reader)
    parity = Parity(
        file=(adapter or model).name,
        over=model.name if adapter else "",
        chats=len(reference.chats),
        same_ids=same_ids,
        same_template=loaded.template.source == reference.template,
        stops=loaded.is_end(reference.end),
        positions=positions,
        agreement=agreed / positions,
        largest_difference=largest,
        reply=reader.greedy(reference.computed(0), REPLY),
        reference_reply=reference.reply,
        required=required,
    )
    reader.close()
    loaded.close()
    return parity


def failure_of(parity: Parity) -> str:
    """Why a parity check failed; empty if it passed."""
    wrong = []
    if parity.same_ids < parity.chats:
        wrong.append(f"{parity.chats - parity.same_ids} of {parity.chats} chats have other token ids")
    if not parity.same_template:
        wrong.append("the chat template is another one")
    if not parity.stops:
        wrong.append("the token that ends an answer does not stop llama.cpp")
    if parity.largest_difference is None:
        wrong.append("some logits are not finite")
    if parity.agreement < (parity.required or 0.0):
        wrong.append(f"top-1 agreement is {parity.agreement:.3f} and must be {parity.required}")
    return ", ".join(wrong)


def _prompt(model: LlamaModel, turns: tuple[Turn, ...]) -> list[int]:
    return model.prompt_tokens(model.template.render(turns))


def _compare_logits(reference: Reference, reader: LogitReader) -> tuple[int, int, float | None]:
    """Number of positions, of agreements, and the largest difference of two logits."""
    positions = agreed = 0
    largest = 0.0
    finite = True
    for chat in range(len(reference.ids)):
        expected = reference.logits(chat)
        actual = reader.logits(reference.computed(chat), POSITIONS)[:, : expected.shape[1]]
        expected = expected[:, : actual.shape[1]]  # one of them may have padded its vocabulary
        positions += len(expected)
        agreed += int((expected.argmax(axis=1) == actual.argmax(axis=1)).sum())
        difference = _largest(expected, actual)
        finite = finite and difference is not None
        largest = max(largest, difference or 0.0)
    return positions, agreed, largest if finite else None


def _largest(expected: "np.ndarray", actual: "np.ndarray") -> float | None:
    import numpy as np

    difference = float(np.abs(expected - actual).max())
    return difference if np.isfinite(difference) else None
