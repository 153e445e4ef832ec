"""GGUF files made at test time: a model of random weights whose step takes far less than a millisecond."""

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

from rolellm_agents.models.llamacpp.template import CHATML

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CONTROL = (END_OF_TEXT, TURN_START, TURN_END)
PIECES = (
    *(
        '"}',
        '",',
        ' "',
        '{"',
        '":',
        '": ',
        '": "',
        '", "',
        '"]',
        '"]}',
        "}}",
        '"}}',
        "},",
        "],",
        "[]",
        "{}",
    ),
    *(", ", ": ", "[[", "[{", "]]", '["', '""', '\\"', "\\\\", "\\n", ': {"', ', {"', '}, {"', '"},'),
    *("  ", "    ", "        ", "\n\n", "\n  ", " \n", "\t\t", "\r\n"),
    *("00", "12", "-1", "0.", ".5", "1e", "e+", "10", "1,", "1}", "1]", "2024", "-01", "T00", "99", "999"),
    *(
        "true",
        "false",
        "null",
        "tr",
        "fa",
        "nul",
        "l}",
        "e}",
        "e,",
        "null}",
        "name",
        "type",
        "value",
        "kind",
    ),
    *(
        "the",
        " the",
        "and",
        " and",
        "er",
        "in",
        "a",
        " a",
        "hello",
        "aaaa",
        "abc",
        "A1",
        "zz",
        "name",
        "id",
    ),
    *(
        "é",
        "ü",
        "ß",
        "ж",
        "да",
        "中",
        "中文",
        "。",
        "”",
        "“",
        "😀",
        "😀😀",
        'é"',
        '中"',
        "…",
        "\u00a0",
        "\u200b",
    ),
)
"""Beside the 256 single bytes: marks that stand together, runs of white space, characters of many bytes."""
_HEADS = 2


def make_tiny_gguf(
    path: Path,
    *,
    seed: int,
    layers: int = 2,
    width: int = 32,
    n_ctx: int = 4096,
    template: str = CHATML,
    marks: Sequence[str] = (),
) -> Path:
    """Write a Llama model of random weights, with a vocabulary of its own and ChatML.

    Args:
        path: the file to write.
        seed: of the weights; the same seed gives the same file.
        layers: how many.
        width: of the embedding; a multiple of four.
        n_ctx: the context it claims to be trained with.
        template: the chat template.
        marks: further control tokens.

    Returns:
        `path`.
    """
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"tiny-{seed}")
    writer.add_block_count(layers)
    writer.add_context_length(n_ctx)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(2 * width)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // _HEADS)
    tokens = _add_vocabulary(writer, (*CONTROL, *marks))
    writer.add_vocab_size(tokens)
    writer.add_chat_template(template)
    for name, tensor in _weights(seed, tokens, layers, width).items():
        writer.add_tensor(name, tensor)
    return _finish(writer, path)


def make_tiny_adapter(
    path: Path, base: Path, *, seed: int, rank: int = 2, scale: float = 1.0, alpha: float = 16.0
) -> Path:
    """Write a LoRA adapter of random weights for a model of `make_tiny_gguf`.

    Args:
        path: the file to write.
        base: the model it is for.
        seed: of the weights; the same seed gives the same file.
        rank: of the matrices.
        scale: how strong it is; 0 changes nothing, 1 changes the words.
        alpha: `adapter.lora.alpha`; llama.cpp multiplies with `alpha / rank`, which is undone here.

    Returns:
        `path`.
    """
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    for tensor in gguf.GGUFReader(base).tensors:
        if ".attn_q." in tensor.name or ".attn_v." in tensor.name or ".ffn_down." in tensor.name:
            into, out = (int(size) for size in tensor.shape)
            writer.add_tensor(f"{tensor.name}.lora_a", _normal(random, (rank, into), into**-0.5))
            strength = scale * rank / alpha
            writer.add_tensor(f"{tensor.name}.lora_b", _normal(random, (out, rank), strength))
    return _finish(writer, path)


def _add_vocabulary(writer: gguf.GGUFWriter, marks: Sequence[str]) -> int:
    """Byte-level BPE: control tokens, the bytes, then each piece and what it is merged from."""
    written = _byte_letters()
    tokens = [*marks, *written]
    merges: list[str] = []
    for piece in PIECES:
        letters = "".join(written[byte] for byte in piece.encode())
        for end in range(2, len(letters) + 1):
            if letters[:end] not in tokens:
                tokens.append(letters[:end])
                merges.append(f"{letters[: end - 1]} {letters[end - 1]}")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    control, normal = int(gguf.TokenType.CONTROL), int(gguf.TokenType.NORMAL)
    writer.add_token_types([control if token in marks else normal for token in tokens])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(tokens.index(END_OF_TEXT))
    writer.add_eos_token_id(tokens.index(TURN_END))
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    return len(tokens)


def _byte_letters() -> Sequence[str]:
    """GPT-2's printable letter for each byte."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) if byte in plain else chr(256 + others.index(byte)) for byte in range(256)]


def _weights(seed: int, tokens: int, layers: int, width: int) -> dict[str, npt.NDArray[np.float32]]:
    random = np.random.default_rng(seed)
    square, wide, narrow = (width, width), (2 * width, width), (width, 2 * width)
    weights = {"token_embd.weight": _normal(random, (tokens, width), 1.0)}
    for layer in range(layers):
        for part, shape in (
            *(("attn_q", square), ("attn_k", square), ("attn_v", square), ("attn_output", square)),
            *(("ffn_gate", wide), ("ffn_up", wide), ("ffn_down", narrow)),
        ):
            weights[f"blk.{layer}.{part}.weight"] = _normal(random, shape, shape[1] ** -0.5)
        for part in ("attn_norm", "ffn_norm"):
            weights[f"blk.{layer}.{part}.weight"] = np.ones(width, np.float32)
    weights["output_norm.weight"] = np.ones(width, np.float32)
    # Twice the usual strength: the likeliest of some 500 tokens is then no mere chance.
    weights["output.weight"] = _normal(random, (tokens, width), 2 * width**-0.5)
    return weights


def _normal(
    random: np.random.Generator, shape: tuple[int, int], deviation: float
) -> npt.NDArray[np.float32]:
    return (random.standard_normal(shape) * deviation).astype(np.float32)


def _finish(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
