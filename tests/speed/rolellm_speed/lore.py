"""Measures how long it takes to find the keys of a large lorebook in a long chat."""

import re
from collections.abc import Callable
from random import Random
from time import perf_counter

from rolellm_agents.cards.lore.activation import activate
from rolellm_agents.cards.lore.keys import KeyIndex, LoreKey, Matching, parse_key
from rolellm_agents.cards.lore.lorebook import Lorebook, LoreEntry
from rolellm_agents.cards.lore.scan import Haystack, ScanMessage, Window
from rolellm_agents.cards.lore.scene import LoreScene, LoreSettings

_KEYS = 4
_WORDS_IN_A_MESSAGE = 60
_CHARACTERS_IN_A_TOKEN = 5


def measure_lore(entries: int = 1000, tokens: int = 10_000, times: int = 7) -> dict[str, float]:
    """Time the search for plain keys, four for each entry, in the complete chat.

    Args:
        entries: number of the lorebook's entries.
        tokens: number of the chat's tokens.
        times: number of repetitions, of which the fastest counts.

    Returns:
        Milliseconds: `prepare` parses the keys and builds the automaton, once for a lorebook; `scan` finds
        all keys with it; `activate` is a complete activation after that; `loop` is a `re.search` for each
        key of each entry, with precompiled expressions. Also the numbers of keys that `scan` and `loop`
        found, and the number of the chat's characters.
    """
    draw = Random(0)
    words = [
        "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(4, 10))) for _ in range(20_000)
    ]
    chat = _chat(draw, words, tokens * _CHARACTERS_IN_A_TOKEN)
    texts = [draw.choice(words) for _ in range(entries * _KEYS)]
    book = Lorebook(
        tuple(
            LoreEntry(str(at), "Some words about it.", tuple(texts[at * _KEYS : (at + 1) * _KEYS]))
            for at in range(entries)
        )
    )
    keys = _prepare(texts)
    patterns = [re.compile(re.escape(text), re.IGNORECASE) for text in texts]
    joined = "\n".join(message.text for message in chat)
    settings = LoreSettings(scan_depth=len(chat), include_names=False)
    return {
        "prepare": _best(lambda: _prepare(texts), times),
        "scan": _best(lambda: _scan(chat, keys), times),
        "activate": _best(lambda: activate([book], LoreScene(chat), settings), times),
        "loop": _best(lambda: _loop(patterns, joined), times),
        "found_by_scan": _scan(chat, keys),
        "found_by_loop": _loop(patterns, joined),
        "characters": len(joined),
    }


def _chat(draw: Random, words: list[str], characters: int) -> list[ScanMessage]:
    messages: list[ScanMessage] = []
    while characters > 0:
        text = " ".join(draw.choices(words, k=_WORDS_IN_A_MESSAGE))[:characters]
        messages.append(ScanMessage("", text, "user"))
        characters -= len(text)
    return messages


def _prepare(texts: list[str]) -> list[LoreKey]:
    parse_key.cache_clear()
    keys = [key for text in texts if (key := parse_key(text))]
    KeyIndex(frozenset(key.head for key in keys))
    return keys


def _scan(chat: list[ScanMessage], keys: list[LoreKey]) -> int:
    haystack = Haystack(chat, frozenset(key.head for key in keys), names=False)
    window, matching = Window(0), Matching(case_sensitive=False, whole_words=False)
    return sum(haystack.find(key, window, matching) is not None for key in keys)


def _loop(patterns: list[re.Pattern[str]], text: str) -> int:
    return sum(pattern.search(text) is not None for pattern in patterns)


def _best(measured: Callable[[], object], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        begun = perf_counter()
        measured()
        best = min(best, perf_counter() - begun)
    return best * 1000
