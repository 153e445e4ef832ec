"""Notices that the licence of a base requires for derived models."""

from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Final

_GEMMA: Final = "gemma"
"""The Gemma Terms of Use, as GGUF files and the Hugging Face hub call them."""


def notices_of(licence: str, *, name: str) -> Mapping[str, str]:
    """The texts that must accompany weights derived from a base model, by file name; usually none.

    Gemma's terms (section 3.1) require a notice, a copy of the terms, and a statement in changed files.

    Args:
        licence: the base model's licence, as its metadata names it.
        name: the name of the derived model.
    """
    if licence != _GEMMA:
        return {}
    notice = (files("rolellm_train") / "notices" / "gemma.txt").read_text(encoding="utf-8")
    terms = files("rolellm_agents.models.llamacpp.files") / "rolegemma-terms.txt"
    return {
        "NOTICE.txt": Template(notice).substitute(name=name),
        "gemma-terms.txt": terms.read_text(encoding="utf-8"),
    }
