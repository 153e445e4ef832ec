"""What each token of a vocabulary writes, for those who must know before it is chosen."""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from rolellm_agents.models.llamacpp.model import LlamaModel

Ids = npt.NDArray[np.int32]


class Pieces:
    """The vocabulary by what it writes.

    A token that shows nothing is left out, for llama.cpp's grammar would take a control token's name for
    text; so are bytes that are no UTF-8, which it decodes to characters that nobody else will see.
    """

    def __init__(self, model: LlamaModel) -> None:
        """Look every token up; about a tenth of a second for 50,000."""
        self.texts = [model.bytes_of(token) for token in range(model.n_vocabulary)]
        self.ends = _ids([token for token in range(model.n_vocabulary) if model.is_end(token)])
        ends = set(self.ends.tolist())
        shown = [
            token
            for token, text in enumerate(self.texts)
            if text and b"\0" not in text and token not in ends
        ]
        starting = [token for token in shown if continues(b"", self.texts[token])]
        self._anywhere = np.concatenate([_ids(starting), self.ends])
        self._going_on = [token for token in shown if 0x80 <= self.texts[token][0] < 0xC0]
        self._by_text: dict[bytes, int] = {
            self.texts[token]: token for token in reversed([*starting, *self._going_on])
        }
        self._longest = max(map(len, self._by_text), default=0)

    def usable(self, begun: bytes) -> Ids:
        """Tokens that may come when `begun`, the first bytes of a character, stands before."""
        if begun:
            return _ids([token for token in self._going_on if continues(begun, self.texts[token])])
        return self._anywhere

    def beginning_of(self, text: bytes) -> int | None:
        """The token that writes the most of the beginning of `text`; None if there is none."""
        for length in range(min(self._longest, len(text)), 0, -1):
            token = self._by_text.get(text[:length])
            if token is not None:
                return token
        return None


def continues(begun: bytes, text: bytes) -> bool:
    """Whether `text` goes on with what `begun` began, and is UTF-8 as far as it goes."""
    if len(text) == 1 and text < b"\x80":
        return not begun
    try:
        (begun + text).decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _ids(tokens: Sequence[int]) -> Ids:
    return np.asarray(tokens, dtype=np.int32)


_KNOWN: "WeakKeyDictionary[LlamaModel, Pieces]" = WeakKeyDictionary()


def pieces_of(model: LlamaModel) -> Pieces:
    """A model's pieces, looked up once."""
    known = _KNOWN.get(model)
    if known is None:
        known = _KNOWN[model] = Pieces(model)
    return known
