"""A persona's memories in a LangGraph store: what each user and the persona have said to each other."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import uuid4

from langgraph.config import get_config
from langgraph.store.base import BaseStore, SearchItem

from rolellm_agents.persona import Persona
from rolellm_agents.recall import Passage, RecalledPassage, Recaller, RecallOptions

_SEARCHED: Final = 400
"""How many exchanges are read from a store that cannot search by meaning."""
_SHOWN: Final = 3
"""The most exchanges in a prompt, so that they do not crowd out the persona."""


class Exchange(NamedTuple):
    """What somebody and the persona have said to each other, as the store keeps it."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]


class StoredMemories:
    """The memories of a store, for one call at a time.

    The namespace is `("memories", PERSONA, USER)`. USER is the configurable value `user_id`, or the user's
    name. The value of an item has its `text` and the `thread` in which it was said.
    """

    def __init__(self, store: BaseStore) -> None:
        """Use a store; with an index, it searches by meaning, and otherwise words are compared."""
        self._store = store

    def near(self, persona: Persona, user: str, line: str) -> list[RecalledPassage]:
        """The exchanges of other conversations that are near a line, best first."""
        found = self._store.search(_namespace(persona, user), query=line, limit=_SEARCHED)
        return _near(found, persona, line)

    async def near_async(self, persona: Persona, user: str, line: str) -> list[RecalledPassage]:
        """The same for async callers."""
        found = await self._store.asearch(_namespace(persona, user), query=line, limit=_SEARCHED)
        return await asyncio.to_thread(_near, found, persona, line)

    def keep(self, persona: Persona, user: str, said: str, answer: str) -> None:
        """Store an exchange; `said` names its speakers."""
        self._store.put(*_exchange(persona, user, said, answer))

    async def keep_async(self, persona: Persona, user: str, said: str, answer: str) -> None:
        """The same for async callers."""
        await self._store.aput(*_exchange(persona, user, said, answer))


def _exchange(persona: Persona, user: str, said: str, answer: str) -> Exchange:
    text = f"{said}\n{persona.name}: {answer}"
    return Exchange(_namespace(persona, user), str(uuid4()), {"text": text, "thread": _thread()})


def _near(found: Sequence[SearchItem], persona: Persona, line: str) -> list[RecalledPassage]:
    thread = _thread()
    others = [one for one in found if not thread or one.value.get("thread") != thread]
    if others and others[0].score is not None:
        return [_recalled(one) for one in others[:_SHOWN]]
    passages = [
        Passage("memory", str(one.value.get("text", "")), _source(one.created_at), place)
        for place, one in enumerate(others)
    ]
    near = Recaller(passages, persona, "bm25", RecallOptions(k=_SHOWN)).recall(line)
    return [item for item in near if item["kind"] == "passage"]


def _recalled(item: SearchItem) -> RecalledPassage:
    return RecalledPassage(
        kind="passage",
        of="memory",
        text=str(item.value.get("text", "")),
        source=_source(item.created_at),
        score=item.score or 0.0,
        why="near in the store",
    )


def _source(created: datetime) -> str:
    return f"conversation of {created.date().isoformat()}"


def _thread() -> str:
    return str(get_config().get("configurable", {}).get("thread_id") or "")


def _namespace(persona: Persona, user: str) -> tuple[str, ...]:
    who = get_config().get("configurable", {}).get("user_id") or user
    # Stores refuse full stops in a namespace.
    return ("memories", persona.id.replace(".", "_"), str(who).replace(".", "_"))
