"""The steps of an export. Each writes files to the export folder."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rolellm_agents.models.llamacpp.template import TEMPLATES
from rolellm_train.base.base import FoundBase, write_base
from rolellm_train.base.gguf_metadata import Fact, write_with_metadata
from rolellm_train.base.peft_adapter import PeftAdapter, check_fits
from rolellm_train.base.sentencepiece_file import copy_sentencepiece, write_sentencepiece
from rolellm_train.base.tuned import load_tuned, save_merged
from rolellm_train.export.converters import OnMessage
from rolellm_train.export.converting import QUANTIZED, convert_adapter, convert_model, quantize
from rolellm_train.export.facts import ExportSource
from rolellm_train.export.parity import REQUIRED, Parity, compare
from rolellm_train.export.parity_chats import COUNT, parity_chats
from rolellm_train.export.reference import POSITIONS, Reference, record_reference

ADAPTER_FILE: Final = "adapter.gguf"
BASE_FILE: Final = "base-f16.gguf"
_VOCABULARY: Final = 300_000
"""Size of the largest vocabularies, in tokens."""
_NARROWEST: Final = 64
"""The minimum number of weights per token of the vocabulary."""


@dataclass
class ExportWork:
    """A running export."""

    source: ExportSource
    adapter: PeftAdapter | None
    """None if all weights were tuned."""
    base: FoundBase
    base_weights: int
    name: str
    merged: Sequence[str]
    """Weight formats of merged models."""
    converters: Path
    out: Path
    """The export folder."""
    on_message: OnMessage
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration of each step, in seconds."""

    @property
    def place(self) -> Path:
        """The folder for temporary files."""
        return self.out / "work"

    @property
    def base_folder(self) -> Path:
        """The folder of the base model for transformers."""
        return self.place / "base"

    @property
    def merged_folder(self) -> Path:
        """The folder of the complete tuned model for transformers."""
        return self.place / "merged"

    @contextmanager
    def step(self, name: str, message: str) -> Iterator[None]:
        """Report a step and measure its duration."""
        self.on_message(message)
        began = time.monotonic()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - began, 1)


def room_needed(base: FoundBase, weights: int, merged: Sequence[str]) -> int:
    """Estimate the temporary disk space of an export, in bytes.

    Args:
        base: the base model.
        weights: the number of its weights.
        merged: the weight formats of the merged models.
    """
    unpacked = 4 * weights if base.gguf else 0
    in_f16 = 2 * weights
    # The model for transformers, two copies in F16 (with and without metadata), and the quantized files.
    merged_files = (4 + 2 + 2 + len(set(merged) & set(QUANTIZED))) * weights if merged else 0
    vocabulary = min(_VOCABULARY, weights // _NARROWEST)
    return unpacked + in_f16 + merged_files + 4 * COUNT * POSITIONS * vocabulary


@dataclass(frozen=True)
class AdapterFiles:
    """The GGUF files of an adapter and of the base model that it needs."""

    adapter: Path
    base_f16: Path


def prepare_complete(work: ExportWork) -> None:
    """Link a completely tuned model for transformers and the converters.

    Raises:
        ModelError: it is damaged.
    """
    with work.step("model", "Preparing the tuned model."):
        write_base(FoundBase(work.name, folder=work.source.weights.resolve()), work.merged_folder)


def write_adapter(work: ExportWork, adapter: PeftAdapter, facts: Mapping[str, Fact]) -> AdapterFiles:
    """Write the GGUF adapter, and the base model in F16 for the parity check.

    Raises:
        ModelError: the adapter was made for another base model, or one of the two cannot be converted.
    """
    with work.step("base", f"Preparing the base model {work.base.name}."):
        write_base(work.base, work.base_folder)
        check_fits(adapter, work.base_folder, work.base.name)
    base_f16 = _base_in_f16(work)
    with work.step("adapter", "Converting the adapter."):
        raw, file = work.place / ADAPTER_FILE, work.out / ADAPTER_FILE
        convert_adapter(work.converters, adapter.folder, work.base_folder, raw)
        write_with_metadata(raw, file, facts)
    return AdapterFiles(file, base_f16)


def _base_in_f16(work: ExportWork) -> Path:
    with work.step("base in F16", "Converting the base model to F16 for the comparison."):
        file = work.place / BASE_FILE
        if work.base.gguf is not None:
            # Only 16-bit weights, and nothing that a converter could misread.
            quantize(work.base.gguf, file, "f16")
        else:
            convert_model(work.converters, work.base_folder, file)
    return file


def record(work: ExportWork) -> Reference:
    """Compute the reference with transformers, and write the merged model if requested.

    Raises:
        ModelError: transformers cannot load the tuned model.
    """
    with work.step("transformers", f"Computing {COUNT} chats with transformers."):
        template = TEMPLATES.get(work.source.template)
        adapter = work.adapter.folder if work.adapter else None
        folder = work.base_folder if adapter else work.merged_folder
        tuned = load_tuned(folder, adapter, template=template, weights=work.base_weights)
        reference = record_reference(tuned, parity_chats(), work.place / "logits")
    if work.merged and work.adapter:
        with work.step("merging", "Merging the adapter into the base model."):
            save_merged(tuned, work.merged_folder)
    return reference


def write_merged(work: ExportWork, facts: Mapping[str, Fact], template: str) -> dict[str, Path]:
    """Write the merged models, by weight format.

    Args:
        work: the running export.
        facts: the metadata of the files.
        template: the chat template of the training.

    Raises:
        ModelError: llama.cpp cannot convert or quantize them.
    """
    if not work.merged:
        return {}
    with work.step("merged", "Converting the complete model to F16."):
        raw = work.place / "merged-raw.gguf"
        if work.base.gguf is not None:
            write_sentencepiece(work.base.gguf, work.merged_folder)
        elif work.base.folder is not None:
            copy_sentencepiece(work.base.folder, work.merged_folder)
        convert_model(work.converters, work.merged_folder, raw)
        in_f16 = (work.out if "f16" in work.merged else work.place) / f"{work.name}-f16.gguf"
        metadata = {**facts, "tokenizer.chat_template": template}
        write_with_metadata(raw, in_f16, metadata, tokenizer=work.base.gguf)
        raw.unlink()
    files = {"f16": in_f16} if "f16" in work.merged else {}
    for weights in QUANTIZED:
        if weights in work.merged:
            with work.step(weights, f"Quantizing it to {weights}."):
                files[weights] = work.out / f"{work.name}-{weights}.gguf"
                quantize(in_f16, files[weights], weights)
    return files


def verify(
    work: ExportWork, reference: Reference, adapter: AdapterFiles | None, merged: Mapping[str, Path]
) -> list[Parity]:
    """Compare all written files with the reference.

    Args:
        work: the running export.
        reference: the outputs of transformers.
        adapter: the files of the adapter, unless all weights were tuned.
        merged: the merged models by weight format.

    Raises:
        ModelError: llama.cpp cannot load or run a model.
    """
    parities: list[Parity] = []
    with work.step("llama.cpp", "Computing the same chats with llama.cpp."):
        if adapter is not None:
            parities.append(compare(reference, adapter.base_f16, adapter.adapter, required=REQUIRED["f16"]))
            if work.base.gguf is not None:
                parities.append(compare(reference, work.base.gguf, adapter.adapter, required=None))
        parities += [
            compare(reference, file, required=REQUIRED[weights]) for weights, file in merged.items()
        ]
    return parities
