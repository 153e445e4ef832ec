"""Write the seeds of the fuzzers: a few small cards of every kind.

python tests/fuzz/make_corpus.py FOLDER
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.cards import book, compressed_text, entry, png, v2, v3

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
SEEDS: tuple[object, ...] = (
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


def main(folder: Path) -> None:
    """Each seed in each wrapping."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS):
        for wrapping in range(4):
            (folder / f"{number}-{wrapping}").write_bytes(bytes([wrapping]) + json.dumps(seed).encode())
    (folder / "png").write_bytes(b"\0" + png(("chara", b"e30=")))
    (folder / "ztxt").write_bytes(b"\4" + compressed_text(b"chara", b"e30="))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
