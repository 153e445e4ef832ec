"""The model card of an export in Hugging Face's format: a YAML header, then Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from rolellm_agents.text import one_line
from rolellm_train.export.facts import ExportSource
from rolellm_train.export.parity import Parity, failure_of


@dataclass(frozen=True)
class ModelCard:
    """The contents of a model card."""

    name: str
    base: str
    licence: str
    source: ExportSource
    files: Mapping[str, int]
    """Sizes in bytes by name."""
    parities: Sequence[Parity]


def model_card(card: ModelCard) -> str:
    """Write the card as Markdown with its YAML header."""
    head = _yaml(_head(card))
    sections = [
        f"# {one_line(card.name, 120)}",
        f"{one_line(card.base, 120)}, tuned to speak in role by {card.source.method}. An instruction "
        "describes the character, and the model answers as that character.",
        f"## Use\n\n```console\n$ rolellm say sherlock-holmes 'Who are you?' --model {card.name}\n"
        f"$ ollama create {card.name} -f Modelfile\n```",
        f"## Files\n\n{_files(card)}",
        f"## Parity with what was tuned\n\n{_parity(card)}\n\n`parity.md` and `parity.json` have the rest.",
        f"## Training\n\n{_training(card.source)}",
        f"## Scores\n\n{_scores(card.source)}",
        "## Limits\n\nWhat it says is invented, in the manner of somebody who may have lived: it is no "
        "source of facts, and no word of the person it speaks as. Characters belong to the authors of "
        "their works. The licences of the base and of the data bind what is made of them.",
    ]
    return f"---\n{head}\n---\n\n" + "\n\n".join(sections) + "\n"


def _head(card: ModelCard) -> dict[str, Any]:
    language = card.source.recipe.get("language")
    head: dict[str, Any] = {
        "base_model": card.base,
        "license": card.licence,
        "language": [language] if language else None,
        "pipeline_tag": "text-generation",
        "tags": ["role-playing", "rolellm", *([] if card.source.is_complete else ["lora"]), "gguf"],
        "datasets": list(card.source.data) or None,
        "recipe": card.source.recipe.get("id"),
    }
    return {key: value for key, value in head.items() if value}


def _yaml(head: Mapping[str, Any]) -> str:
    """Write a value as YAML; Chinese stays readable unless the text would not survive a round trip."""
    text = yaml.safe_dump(dict(head), allow_unicode=True, sort_keys=False)
    if yaml.safe_load(text) != head:
        text = yaml.safe_dump(dict(head), sort_keys=False)
    return text.strip()


def _files(card: ModelCard) -> str:
    rows = "\n".join(f"| {name} | {size / 1e6:,.1f} |" for name, size in card.files.items())
    return f"| file | MB |\n|---|---:|\n{rows}"


def _parity(card: ModelCard) -> str:
    return "\n".join(
        f"- {parity.file}{f' over {parity.over}' if parity.over else ''}: top-1 agreement "
        f"{parity.agreement:.4f} at {parity.positions:,} tokens of {parity.chats} chats; "
        f"{failure_of(parity) or 'passed'}"
        for parity in card.parities
    )


def _training(source: ExportSource) -> str:
    settings = {"data": ", ".join(source.data), **source.recipe}
    rows = "\n".join(
        f"| {one_line(str(key), 60)} | {_cell(value)} |"
        for key, value in settings.items()
        if value not in ("", None)
    )
    return f"| | |\n|---|---|\n{rows}" if rows else "Nothing was recorded of it."


def _scores(source: ExportSource) -> str:
    if not source.scores:
        return "None were recorded."
    rows = "\n".join(f"| {name} | {value:.4g} |" for name, value in source.scores.items())
    return f"| measure | |\n|---|---:|\n{rows}"


def _cell(value: object) -> str:
    return one_line(str(value), 300).replace("|", "\\|")
