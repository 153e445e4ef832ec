"""Feed the card readers, and all that follows them, with whatever brings new code to run.

    python tests/fuzz/fuzz_cards.py -max_total_time=3600 CORPUS

The first byte of an input says what the rest is: a file as it stands, or a card's JSON in one of the
containers. Only `CardError` may come out. A crash is written to a file; its bytes belong into
`tests/cards/test_findings.py`.
"""

import base64
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO

import atheris

with atheris.instrument_imports(include=["rolellm_agents.cards"]):
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
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
