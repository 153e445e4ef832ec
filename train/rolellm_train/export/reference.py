"""The reference of an export: token ids, logits and a reply from transformers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from langchain_core.messages import BaseMessage

from rolellm_agents.models.llamacpp.template import Turn, turns_of
from rolellm_train.base.chat_form import bos_of
from rolellm_train.base.tuned import TunedModel
from rolellm_train.data.encoding import encoder_of

if TYPE_CHECKING:
    import numpy as np

POSITIONS: Final = 64
"""Number of last tokens of each chat whose logits are compared."""
_LONGEST: Final = 2_048
"""Tokens of a chat and the reply to it."""
REPLY: Final = 40
"""Tokens of the reply."""


@dataclass(frozen=True)
class Reference:
    """The reference outputs of a tuned model; the logits are on disk."""

    chats: tuple[tuple[Turn, ...], ...]
    ids: tuple[tuple[int, ...], ...]
    template: str
    bos: str
    """Text of the BOS token, or empty."""
    adds_bos: bool
    """Whether the tokenizer adds it."""
    eos: str
    """The EOS token of the tokenizer."""
    end: int
    """The token that the training learned as the end of an answer."""
    ends: tuple[str, ...]
    """Tokens that end an answer: the template's and EOS."""
    dtype: str
    """Data type of the weights, as in torch."""
    reply: str
    """Greedy reply to the first chat."""
    longest: int
    """Tokens of a chat that were computed."""
    place: Path
    """The folder of the logits."""

    def computed(self, chat: int) -> list[int]:
        """The token ids of a chat up to the last one that was computed."""
        return list(self.ids[chat][: self.longest])

    def logits(self, chat: int) -> "np.ndarray":
        """The logits of one chat, shape positions × vocabulary."""
        import numpy as np

        logits: np.ndarray = np.load(_logits_file(self.place, chat), mmap_mode="r")
        return logits


def record_reference(tuned: TunedModel, chats: Sequence[Sequence[BaseMessage]], place: Path) -> Reference:
    """Compute the reference outputs.

    Args:
        tuned: the tuned model.
        chats: the conversations.
        place: the folder for the logits, which is created.

    Raises:
        TrainingError: the template ends answers with something that is no token of the base model.
        OSError: the disk is full.
    """
    import numpy as np
    import torch

    place.mkdir()
    # The training's own encoder: files are compared with what was learned.
    encoder = encoder_of(tuned.tokenizer, tuned.template)
    ids = tuple(tuple(encoder.prompt(chat)) for chat in chats)
    longest = min(_LONGEST, tuned.model.config.max_position_embeddings) - REPLY
    with torch.inference_mode():
        for number, tokens in enumerate(ids):
            # The logits of all tokens would take two gigabytes with a vocabulary of 262,144.
            inputs = torch.tensor([tokens[:longest]])
            logits = tuned.model(inputs, logits_to_keep=POSITIONS).logits[0]
            np.save(_logits_file(place, number), logits.float().numpy())
    eos = tuned.tokenizer.eos_token_id
    ends = list(dict.fromkeys(token for token in (encoder.end, eos) if token is not None))
    reply = _reply(tuned, ids[0][:longest], ends)
    return Reference(
        chats=tuple(tuple(turns_of(chat)) for chat in chats),
        ids=ids,
        template=tuned.template,
        bos=tuned.tokenizer.bos_token or "",
        adds_bos=bos_of(tuned.tokenizer) is not None,
        eos=tuned.tokenizer.eos_token or "",
        end=encoder.end,
        ends=tuple(tuned.tokenizer.decode([end]) for end in ends),
        dtype=tuned.dtype,
        reply=reply,
        longest=longest,
        place=place,
    )


def _reply(tuned: TunedModel, prompt: Sequence[int], ends: Sequence[int]) -> str:
    import torch
    from transformers import GenerationConfig

    # Ignore the base's generation settings.
    greedy = GenerationConfig(
        do_sample=False,
        max_new_tokens=REPLY,
        eos_token_id=list(ends),
        pad_token_id=ends[0],
    )
    inputs = torch.tensor([prompt])
    with torch.inference_mode():
        generated = tuned.model.generate(
            input_ids=inputs, attention_mask=torch.ones_like(inputs), generation_config=greedy
        )
    return str(tuned.tokenizer.decode(generated[0, len(prompt) :], skip_special_tokens=True)).strip()


def _logits_file(place: Path, chat: int) -> Path:
    """The file of the logits of a chat."""
    return place / f"{chat:02}.npy"
