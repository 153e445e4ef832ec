"""Import of SillyTavern's Quick Reply sets as own commands."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rolellm_agents.config.paths import make_folder, user_paths
from rolellm_agents.errors import SettingsError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.text import one_line
from rolellm_tui.slash.commands import FORMS
from rolellm_tui.slash.own import OwnCommand, has_content, own_commands, parse_own_commands

_SAME = {"/continue": "/continue", "/regenerate": "/again"}
"""Commands of SillyTavern without arguments, and ours."""
_MOST_BYTES = 1_000_000
_AUTOMATIC = ("executeOnStartup", "executeOnUser", "executeOnAi", "executeOnChatChange")


@dataclass(frozen=True)
class ImportedReplies:
    """What was imported of a set."""

    names: tuple[str, ...]
    notes: tuple[str, ...]
    """One sentence for each part that was left out."""


def is_quick_reply_set(path: Path) -> bool:
    """Whether a file is a Quick Reply set."""
    return path.suffix.lower() == ".json" and _document(path) is not None


def import_quick_replies(path: Path) -> ImportedReplies:
    """Append the quick replies of a set to the user's own commands.

    Raises:
        SettingsError: the file is no set, or `commands.yaml` cannot be read or extended.
        StorageError: the folder cannot be created.
    """
    document = _document(path)
    if document is None:
        raise SettingsError(f"{path} is not a Quick Reply set; it needs a qrList.")
    target = user_paths().commands_file
    names = {*FORMS, *(one.name for one in own_commands())}
    notes: list[str] = []
    items = list(_converted(document["qrList"], names, notes))
    if items:
        before = target.read_text(encoding="utf-8-sig") if target.exists() else ""
        text = _appended(before, items)
        _check_appended(text, before, items, target)
        make_folder(target.parent)
        write_atomically(target, text, SettingsError, private=True)
    return ImportedReplies(tuple(item["name"] for item in items), tuple(notes))


def _appended(before: str, items: list[dict[str, Any]]) -> str:
    """The text of a file with further commands; comments and order stay."""
    if not has_content(before):
        return f"{before.rstrip()}\ncommands:\n{_indented(items, 2)}".lstrip("\n")
    root = yaml.compose(before, Loader=yaml.SafeLoader)
    listed = root.value[0][1] if isinstance(root, yaml.MappingNode) and root.value else None
    if isinstance(listed, yaml.SequenceNode) and listed.flow_style:
        bracket = listed.end_mark.index - 1
        comma = ", " if listed.value else ""
        added = ", ".join(json.dumps(item, ensure_ascii=False) for item in items)
        return f"{before[:bracket]}{comma}{added}{before[bracket:]}"
    column = listed.start_mark.column if isinstance(listed, yaml.SequenceNode) else 2
    return f"{before.rstrip()}\n{_indented(items, column)}"


def _indented(items: list[dict[str, Any]], column: int) -> str:
    listed = yaml.safe_dump(items, allow_unicode=True, sort_keys=False, width=97)
    return "".join(f"{' ' * column}{line}\n" if line else "\n" for line in listed.splitlines())


def _settled(commands: Iterable[OwnCommand]) -> list[OwnCommand]:
    """The commands without line breaks at the ends of texts, which a block scalar at the end may gain."""
    return [
        one.model_copy(
            update={"put": one.put.rstrip("\n"), "steps": tuple(step.rstrip("\n") for step in one.steps)}
        )
        for one in commands
    ]


def _check_appended(text: str, before: str, items: list[dict[str, Any]], target: Path) -> None:
    """Check that the file has its old commands and the new ones.

    Raises:
        SettingsError: it has not, because of how the file is written.
    """
    wanted = (*parse_own_commands(before, target), *(OwnCommand(**item) for item in items))
    try:
        is_whole = _settled(parse_own_commands(text, target)) == _settled(wanted)
    except SettingsError:
        is_whole = False
    if not is_whole:
        raise SettingsError(
            f"Commands cannot be appended to {target} as it is written; write one “- name: …” below the "
            "other, and nothing after the last."
        )


def quick_reply_sets(source: Path) -> list[Path]:
    """The Quick Reply sets in a folder and its subfolders; for a file, the file itself if it is one."""
    files = sorted(source.rglob("*.json")) if source.is_dir() else [source]
    return [file for file in files if file.is_file() and is_quick_reply_set(file)]


def _document(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    is_set = isinstance(document, dict) and isinstance(document.get("qrList"), list)
    return document if is_set else None


def _converted(replies: list[Any], taken: set[str], notes: list[str]) -> Iterator[dict[str, Any]]:
    for number, reply in enumerate(replies, 1):
        about = reply if isinstance(reply, dict) else {}
        label, message = str(about.get("label") or ""), str(about.get("message") or "").strip()
        shown = one_line(label, 40) or f"number {number}"
        content = _content(message)
        if content is None:
            why = "it uses STscript" if message else "it has no text"
            notes.append(f"The quick reply “{shown}” was left out: {why}.")
            continue
        if any(about.get(key) for key in _AUTOMATIC):
            notes.append(f"The quick reply “{shown}” does not start by itself here.")
        name = _free_name(label, number, taken)
        taken.add(name)
        title = one_line(str(about.get("title") or label), 60)
        button = not about.get("isHidden")
        yield {"name": name, "about": title, **content, **({"button": True} if button else {})}


def _content(message: str) -> dict[str, Any] | None:
    """The steps or the text to put; None for what is more than a text or a simple command."""
    if not message.startswith("/"):
        return {"steps": [message]} if message else None
    if message in _SAME:
        return {"steps": [_SAME[message]]}
    word, _, rest = message.partition(" ")
    is_script = not rest.strip() or re.search(r"[|\n]|\{:|^\s*\w+=", rest)
    if is_script or word not in ("/note", "/setinput"):
        return None
    return {"put": rest.strip()} if word == "/setinput" else {"steps": [f"/note {rest.strip()}"]}


def _free_name(label: str, number: int, taken: set[str]) -> str:
    base = re.sub(r"[^\w-]+", "-", label.casefold()).strip("-_") or f"reply-{number}"
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}-{count}"
    return name
