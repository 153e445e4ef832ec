"""A GGUF file in memory: its weights, vocabulary, chat template and adapters."""

import ctypes
import math
import os
import threading
import warnings
import weakref
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from llguidance import LLTokenizer

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.bindings import llama_cpp
from rolellm_agents.models.llamacpp.files.gguf import check_gguf, identity, is_embedded
from rolellm_agents.models.llamacpp.files.gguf_header import check_header
from rolellm_agents.models.llamacpp.template import (
    CALL_ENDS,
    CALL_STARTS,
    ChatTemplate,
    usual_template,
)
from rolellm_agents.models.reasoning import CONTROL_TEXTS

_CONVERSATION: Final = (
    {"role": "system", "content": "You are Ada."},
    {"role": "user", "content": "Who are you?"},
    {"role": "assistant", "content": "Ada."},
    {"role": "user", "content": "Where?"},
)


class LlamaModel:
    """The weights of one file; immutable after loading, so threads may share it."""

    def __init__(self, path: Path, *, n_gpu_layers: int = 0) -> None:
        """Load the file.

        Args:
            path: a GGUF file.
            n_gpu_layers: layers on a GPU, when llama.cpp was built for one; -1 is all.

        Raises:
            ModelError: the file is missing, not a GGUF file, llama.cpp cannot load it, or its chat template
                cannot be used.
        """
        check_gguf(path)
        if not is_embedded(path):
            check_header(path)
        library.LOG.install()
        library.LOG.clear()
        self.path = path
        self.handle = llama_cpp.llama_model_load_from_file(os.fsencode(path), model_params(n_gpu_layers))
        if not self.handle:
            reason = library.LOG.first_error()
            advice = (
                "close other programs, or use a smaller model"
                if "allocate" in reason
                else "the file may be truncated or damaged, so download it again, or use another model"
            )
            raise ModelError(f"llama.cpp cannot load {path}: {reason}; {advice}.")
        self.close = weakref.finalize(self, llama_cpp.llama_model_free, self.handle)
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.handle)
        self.n_vocabulary = int(llama_cpp.llama_vocab_n_tokens(self.vocabulary))
        self.n_ctx_train = int(llama_cpp.llama_model_n_ctx_train(self.handle))
        self.adapters: dict[str, Any] = {}
        self._loading = threading.Lock()
        self._bos = self._piece_of_special(llama_cpp.llama_vocab_bos(self.vocabulary))
        self._shown = self._control_tokens((*CONTROL_TEXTS, CALL_STARTS, CALL_ENDS))
        self.template = ChatTemplate(
            self.metadata("tokenizer.chat_template") or usual_template(self.is_control_text),
            bos=self._bos,
            eos=self._piece_of_special(llama_cpp.llama_vocab_eos(self.vocabulary)),
        )
        # A template that cannot render a conversation is told now, and not at the first line.
        self.template.render(_CONVERSATION)

    @property
    def cache_bytes_per_token(self) -> int:
        """Bytes of one token's keys and values, at two bytes a number."""
        heads = llama_cpp.llama_model_n_head(self.handle)
        width = llama_cpp.llama_model_n_embd(self.handle) // max(heads, 1)
        architecture = self.metadata("general.architecture")
        key = int(self.metadata(f"{architecture}.attention.key_length") or width)
        value = int(self.metadata(f"{architecture}.attention.value_length") or width)
        shared = llama_cpp.llama_model_n_head_kv(self.handle)
        return math.prod((llama_cpp.llama_model_n_layer(self.handle), shared, key + value, 2))

    def tokenize(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """The model's tokens for `text`.

        Args:
            text: any text.
            add_special: put the beginning-of-text token first, if the model uses one.
            parse_special: parse `<|…|>` marks as control tokens and not as text.
        """
        encoded = text.encode("utf-8", errors="replace")
        room = len(encoded) + 2
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(
            self.vocabulary, encoded, len(encoded), tokens, room, add_special, parse_special
        )
        return list(tokens[:count])

    def prompt_tokens(self, text: str) -> list[int]:
        """The tokens of a rendered prompt, without a second beginning-of-text token if it has one."""
        return self.tokenize(text, add_special=not (self._bos and text.startswith(self._bos)))

    def bytes_of(self, token: int, *, special: bool = False) -> bytes:
        """A token's text, which may be a part of a character.

        Control tokens have none, unless `special` is set or they mark reasoning or calls of tools.
        """
        special = special or token in self._shown
        buffer = ctypes.create_string_buffer(256)
        length = llama_cpp.llama_token_to_piece(
            self.vocabulary, token, ctypes.cast(buffer, ctypes.c_char_p), len(buffer), 0, special
        )
        return buffer.raw[: max(length, 0)]

    def is_end(self, token: int) -> bool:
        """Whether the token ends an answer."""
        return bool(llama_cpp.llama_vocab_is_eog(self.vocabulary, token))

    def is_control_text(self, text: str) -> bool:
        """Whether `text` tokenizes as a single control token."""
        tokens = self.tokenize(text, add_special=False)
        return len(tokens) == 1 and bool(llama_cpp.llama_vocab_is_control(self.vocabulary, tokens[0]))

    def _control_tokens(self, texts: Iterable[str]) -> frozenset[int]:
        """Those of these texts that are control tokens and do not end an answer."""
        found = (self.tokenize(text, add_special=False) for text in texts if self.is_control_text(text))
        return frozenset(token for (token,) in found if not self.is_end(token))

    def load_adapter(self, path: Path) -> str:
        """Load LoRA weights from a GGUF file; they are freed with the model.

        Returns:
            Its name in `adapters`, which changes when the file is written again.

        Raises:
            ModelError: the file is missing or damaged, or does not fit the model.
        """
        check_gguf(path)
        check_header(path)
        name = identity(path)
        with self._loading:
            if name not in self.adapters:
                library.LOG.clear()
                handle = llama_cpp.llama_adapter_lora_init(self.handle, os.fsencode(path))
                if not handle:
                    raise ModelError(
                        f"The adapter {path} does not fit {self.path.name}: "
                        f"{library.LOG.first_error()}; use one that was made for this model."
                    )
                self.adapters[name] = handle
        return name

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The tokens that end an answer."""
        return tuple(token for token in range(self.n_vocabulary) if self.is_end(token))

    @cached_property
    def byte_tokens(self) -> dict[bytes, int]:
        """The tokens that are single bytes, by their byte."""
        texts = ((self.bytes_of(token), token) for token in reversed(range(self.n_vocabulary)))
        return {text: token for text, token in texts if len(text) == 1}

    @cached_property
    def guide(self) -> LLTokenizer:
        """Llguidance's tokenizer over the vocabulary; takes 0.25 s the first time."""
        # This imports llama_cpp, which `bindings` must import first.
        from llguidance.llamacpp import lltokenizer_from_vocab

        with warnings.catch_warnings():
            # llguidance calls a deprecated function of llama-cpp-python.
            warnings.simplefilter("ignore", DeprecationWarning)
            return lltokenizer_from_vocab(self.vocabulary, eos_token=list(self.ends))

    def metadata(self, key: str) -> str:
        """A value of the file's metadata; empty when the key is missing."""
        size = llama_cpp.llama_model_meta_val_str(self.handle, key.encode(), b"", 0)
        if size < 0:
            return ""
        buffer = ctypes.create_string_buffer(size + 1)
        llama_cpp.llama_model_meta_val_str(self.handle, key.encode(), buffer, size + 1)
        return buffer.value.decode("utf-8", "replace")

    def _piece_of_special(self, token: int) -> str:
        return "" if token < 0 else self.bytes_of(token, special=True).decode("utf-8", "replace")


def model_params(n_gpu_layers: int) -> Any:
    """llama.cpp's parameters for loading, with repacking only where it is safe."""
    params = llama_cpp.llama_model_default_params()
    params.use_extra_bufts = library.repacking_is_safe()
    params.n_gpu_layers = n_gpu_layers
    return params
