"""Files beside an export: parity report, model card, Modelfile, notices."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Final

from rolellm_agents.models.llamacpp.template import ChatTemplate
from rolellm_train.base.notices import notices_of
from rolellm_train.export.model_card import ModelCard, model_card
from rolellm_train.export.modelfile import modelfile
from rolellm_train.export.parity import Parity
from rolellm_train.export.parity_report import parity_markdown
from rolellm_train.export.reference import Reference
from rolellm_train.export.work import ADAPTER_FILE, BASE_FILE, ExportWork

_BEST_FIRST: Final = ("q8_0", "f16", "q4_k_m")
"""The weight formats, best first; Q8_0 is as good as F16 and half as large."""


def write_texts(
    work: ExportWork,
    reference: Reference,
    parities: Sequence[Parity],
    files: Mapping[str, int],
    *,
    licence: str,
    base_licence: str,
) -> None:
    """Write `parity.md`, `README.md`, `Modelfile`, and the notices that the base's licence requires.

    Args:
        work: the running export.
        reference: the outputs of transformers.
        parities: the results of the parity check.
        files: the files' sizes in bytes, by name.
        licence: the model's licence.
        base_licence: the base model's licence.

    Raises:
        OSError: the disk is full.
    """
    versions = f"transformers {version('transformers')}, llama-cpp-python {version('llama-cpp-python')}"
    card = ModelCard(work.name, work.base.name, licence, work.source, files, parities)
    texts = {
        "parity.md": parity_markdown(parities, dtype=reference.dtype, versions=versions),
        "README.md": model_card(card),
        "Modelfile": _modelfile(work, reference, files),
        **notices_of(base_licence, name=work.name),
    }
    for name, text in texts.items():
        (work.out / name).write_text(text, encoding="utf-8")


def _modelfile(work: ExportWork, reference: Reference, files: Mapping[str, int]) -> str:
    merged = [name for weights in _BEST_FIRST if (name := f"{work.name}-{weights}.gguf") in files]
    base = f"./{BASE_FILE}" if BASE_FILE in files else str(work.base.gguf)
    return modelfile(
        model=f"./{merged[0]}" if merged else base,
        adapter=None if merged else f"./{ADAPTER_FILE}",
        template=ChatTemplate(reference.template, bos=reference.bos, eos=reference.eos),
        bos=reference.bos if reference.adds_bos else "",
        ends=reference.ends,
    )
