"""What a person writes by hand into their folders, and what is found there afterwards."""

from pathlib import Path

from rolellm_agents.config.paths import user_paths
from rolellm_agents.transcript import Message, Transcript

ADA = """\
id: ada
name: Ada
description: Ada is a mathematician.
greeting: Good day.
tags: [cartographer]
"""
"""A persona so short that even the embedded model reads it at once."""


def write_persona(text: str = ADA, name: str = "ada.yaml") -> Path:
    """Put a persona file into the user's folder."""
    return _write(user_paths().personas / name, text)


def write_config(text: str) -> Path:
    """Write `config.toml`."""
    return _write(user_paths().settings_file, text)


def write_models(text: str) -> Path:
    """Write `models.toml`."""
    return _write(user_paths().models_file, text)


def conversation_ids(persona: str | None = None) -> list[str]:
    """The ids of all conversations that were kept, the latest first."""
    with Transcript(user_paths().transcript) as transcript:
        return [one.id for one in transcript.conversations(persona)]


def kept(conversation: str) -> list[Message]:
    """What was kept of a conversation, as it stands."""
    with Transcript(user_paths().transcript) as transcript:
        return transcript.path(conversation, transcript.latest_branch(conversation))


def lines(messages: list[Message]) -> list[tuple[str, str, str]]:
    """Speaker, text and status of each message."""
    return [(message.speaker, message.text, message.status) for message in messages]


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file
