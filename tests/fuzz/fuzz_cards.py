"""Feed the card readers, and all that follows them, with whatever brings new code to run.

    python tests/fuzz/fuzz_cards.py -max_total_time=3600 CORPUS

The first byte of an input says what the rest is: a file as it stands, or a card's JSON in one of the
containers. Only `CardError` may come out.
"""

import base64
import json
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.harness import fuzz, instrumented

with instrumented("rolellm_agents.cards"):
    from helpers.cards import book, compressed_text, entry, png, v2, v3

    from rolellm_agents.cards import (
        Card,
        CardError,
        LoreScene,
        LoreSettings,
        MacroScope,
        ScanMessage,
        activate,
        diff,
        lint,
        read_cards_of,
        read_lorebook,
        substitute,
        to_json,
        to_png,
        tokens_by_part,
        unknown_macros,
    )
    from rolellm_agents.cards.json_text import read_json
    from rolellm_agents.cards.png import plain_picture, with_texts

_DECORATED = (
    "@@depth 2\n@@@role user\n@@activate_only_after 2\n@@additional_keys oil,wick\nThe lamp burns {{char}}."
)
_BOOK = book(
    entry(keys=["lamp", "/la(m+)p/i"], secondary_keys=["oil"], selective=True),
    entry(content=_DECORATED, constant=True),
    entry(
        extensions={
            "position": 4,
            "depth": 1,
            "group": "a",
            "sticky": 2,
            "probability": 50,
            "selectiveLogic": 3,
        }
    ),
)
_WORLD = {
    "entries": {"0": {"uid": 0, "key": ["lamp"], "keysecondary": ["oil"], "content": "Oil.", "position": 4}}
}
_SEEDS: tuple[object, ...] = (
    v2(character_book=_BOOK),
    v3(
        character_book=_BOOK,
        nickname="A.",
        assets=[{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}],
    ),
    {
        "name": "Ada",
        "first_mes": "{{random:a,b}} {{// no}} {{reverse:{{user}}}}",
        "mes_example": "<START>\n{{user}}: Hi",
    },
    _WORLD,
    {"type": "risu", "data": [{"key": "lamp", "content": "Oil."}]},
    {"lorebookVersion": 4, "entries": [{"keys": ["lamp"], "text": "Oil."}]},
    {"kind": "character", "name": "Ada", "persona": {"attributes": {"a": ["b"]}}},
    {"char_name": "Ada", "char_persona": "x"},
)
PICTURE = plain_picture(1, 2, 3, 2, 2)
CHAT = [
    ScanMessage("Ada", "The lamp burns. aaaaaaaaaaaaaaaa!", "assistant"),
    ScanMessage("User", "What lamp?", "user"),
]


def _as_is(content: bytes) -> bytes:
    return content


def _in_png(content: bytes) -> bytes:
    text = ("chara", base64.b64encode(content))
    return with_texts(PICTURE, lambda _: False, [text], "fuzz")


def _raw_in_png(content: bytes) -> bytes:
    return with_texts(PICTURE, lambda _: False, [("ccv3", content)], "fuzz")


def _in_charx(content: bytes) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("card.json", content)
    return held.getvalue()


def _as_png(content: bytes) -> bytes:
    return PICTURE[:33] + content + PICTURE[33:]


WRAPPINGS: tuple[Callable[[bytes], bytes], ...] = (_as_is, _in_png, _raw_in_png, _in_charx, _as_png)


def seeds() -> dict[str, bytes]:
    """Small cards of every kind, in each wrapping."""
    found = {
        f"{number}-{wrapping}": bytes([wrapping]) + json.dumps(seed).encode()
        for number, seed in enumerate(_SEEDS)
        for wrapping in range(4)
    }
    chunk = compressed_text(b"chara", b"e30=")
    return {**found, "png": b"\0" + png(("chara", b"e30=")), "ztxt": b"\4" + chunk}


def one_input(given: bytes) -> None:
    """Read, look at everything, write, and read again."""
    if not given:
        return
    wrapped = WRAPPINGS[given[0] % len(WRAPPINGS)](given[1:])
    try:
        cards = read_cards_of(wrapped, "fuzz")
    except CardError:
        cards = []
    for card in cards:
        _use(card)
    try:
        book = read_lorebook(read_json(given[1:], "fuzz"))
    except CardError:
        return
    activate([book], LoreScene(CHAT), LoreSettings(recursive=True, min_activations=2))


def _use(card: Card) -> None:
    lint(card)
    tokens_by_part(card, len)
    scope = MacroScope(char=card.char_name, mes_examples=card.examples)
    for text in (card.description, card.examples, *card.greetings[:3]):
        substitute(text, scope)
        unknown_macros(text)
    try:
        if card.lorebook is not None:
            activate([card.lorebook], LoreScene(CHAT), LoreSettings(recursive=True))
        for spec in ("v2", "v3"):
            to_json(card, spec)
            (again,) = read_cards_of(to_png(card, spec), "fuzz")
            diff(card, again)
    except CardError:
        return


if __name__ == "__main__":
    fuzz(one_input)
