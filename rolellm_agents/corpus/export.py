"""The corpus as a data set for other programs: JSONL files and a data card in Hugging Face's layout."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml

from rolellm_agents.corpus.conversations import PersonaCorpus
from rolellm_agents.corpus.scenes import CorpusScene
from rolellm_agents.corpus.splits import (
    SPLITS,
    Split,
    SplitConversation,
    split_conversations,
    split_of_scene,
)
from rolellm_agents.datasets.writing import json_line
from rolellm_agents.errors import CorpusError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.persona import Persona

LICENCE: Final = "apache-2.0"
CARD: Final = "README.md"
_TEMPLATE: Final = "card.md"


@dataclass(frozen=True)
class ExportedCorpus:
    """What `export_corpus` wrote."""

    conversations: Mapping[Split, int]
    exchanges: Mapping[Split, int]
    scenes: Mapping[Split, int]
    files: tuple[Path, ...]


def export_corpus(
    out: Path,
    corpora: Sequence[PersonaCorpus],
    scenes: Sequence[CorpusScene],
    personas: Mapping[str, Persona],
) -> ExportedCorpus:
    """Write the corpus as JSONL files with a data card.

    Args:
        out: a new or empty folder.
        corpora: the conversations.
        scenes: the scenes.
        personas: by id.

    Raises:
        CorpusError: the folder has files already or cannot be written, or a persona is unknown.
    """
    _check_empty(out)
    conversations = split_conversations(corpora, personas)
    by_split = {split: [one for one in scenes if split_of_scene(one) == split] for split in SPLITS}
    rows_of_file: dict[str, list[dict[str, Any]]] = {
        "personas.jsonl": [_persona_row(personas[corpus.persona]) for corpus in corpora],
        **{
            f"conversations/{split}.jsonl": [_row(one) for one in conversations if one.split == split]
            for split in SPLITS
        },
        **{f"scenes/{split}.jsonl": [_scene_row(one) for one in by_split[split]] for split in SPLITS},
    }
    exported = ExportedCorpus(
        conversations=Counter(one.split for one in conversations),
        exchanges=_exchanges(conversations),
        scenes={split: len(found) for split, found in by_split.items()},
        files=tuple(out / name for name in [*rows_of_file, CARD]),
    )
    for name, rows in rows_of_file.items():
        write_atomically(out / name, "".join(map(json_line, rows)), CorpusError)
    write_atomically(out / CARD, _card(exported), CorpusError)
    return exported


def _check_empty(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise CorpusError(f"{out} has files already; name a new folder.")


def _exchanges(conversations: Sequence[SplitConversation]) -> Mapping[Split, int]:
    counted: Counter[Split] = Counter()
    for one in conversations:
        counted[one.split] += len(one.conversation.exchanges)
    return counted


def _persona_row(persona: Persona) -> dict[str, Any]:
    return {
        "id": persona.id,
        "name": persona.name,
        "language": persona.language,
        "description": persona.description,
        "catchphrases": list(persona.catchphrases),
    }


def _row(one: SplitConversation) -> dict[str, Any]:
    messages: list[dict[str, str]] = []
    for exchange in one.conversation.exchanges:
        messages.append({"role": "user", "content": exchange.user})
        messages.append({"role": "assistant", "content": exchange.reply})
    return {
        "id": f"{one.persona.id}-{one.conversation.line}",
        "persona": one.persona.id,
        "language": one.persona.language,
        "topics": list(one.conversation.topics),
        "messages": messages,
        "source": f"{one.persona.language}/{one.persona.id}.md, line {one.conversation.line}",
    }


def _scene_row(one: CorpusScene) -> dict[str, Any]:
    scene = one.loaded.scene
    return {
        "id": scene.id,
        "title": scene.title,
        "language": scene.language,
        "setting": scene.setting,
        "characters": [
            {
                "id": seat.id,
                "name": seat.name,
                "present": seat.present,
                "goals": list(seat.goals),
                "secrets": list(seat.secrets),
            }
            for seat in scene.cast
        ],
        "lines": [
            {key: line[key] for key in ("speaker", "kind", "audience", "text")} for line in one.lines
        ],
    }


def _card(exported: ExportedCorpus) -> str:
    head = {
        "pretty_name": "The cast's corpus",
        "language": ["en", "zh"],
        "license": LICENCE,
        "task_categories": ["text-generation"],
        "tags": ["role-playing", "dialogue", "rolellm"],
        "configs": [
            {
                "config_name": kind,
                "data_files": [{"split": split, "path": f"{kind}/{split}.jsonl"} for split in SPLITS],
            }
            for kind in ("conversations", "scenes")
        ],
    }
    rows = "\n".join(
        f"| `{split}` | {exported.conversations.get(split, 0):,} | {exported.exchanges.get(split, 0):,} "
        f"| {exported.scenes.get(split, 0):,} |"
        for split in SPLITS
    )
    table = f"| Split | Conversations | Exchanges | Scenes |\n| --- | --- | --- | --- |\n{rows}\n"
    about = (files("rolellm_agents.corpus") / _TEMPLATE).read_text("utf-8")
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n{about}\n## Numbers\n\n{table}"
