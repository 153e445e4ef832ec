"""Vim itself, to compare with."""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

_SCRIPT = """\
set nocompatible encoding=utf-8 noautoindent nosmartindent startofline cpoptions=aABceFs undolevels=1000
let outcomes = []
for [lines, keys] in json_decode(join(readfile('IN'), ''))
  enew!
  setlocal undolevels=-1
  call setline(1, lines)
  setlocal undolevels=1000
  call cursor(1, 1)
  call setreg('"', 'seed', 'v')
  call setcharsearch({'char': '☃', 'forward': 1, 'until': 0})
  silent! call feedkeys(keys, 'ntx')
  call add(outcomes, [getline(1, '$'), line('.') - 1, charcol('.') - 1])
endfor
call writefile([json_encode(outcomes)], 'OUT')
qa!
"""

Outcome = tuple[str, tuple[int, int]]
"""A text, with the row and the column of the cursor."""


def vim_outcomes(cases: Sequence[tuple[str, str]]) -> list[Outcome]:
    """What Vim makes of texts and keys, one after the other, where `p` puts “seed” at first."""
    with tempfile.TemporaryDirectory() as folder:
        given, outcome, script = (Path(folder) / name for name in ("in.json", "out.json", "compare.vim"))
        # The last Escape leaves insert mode and unfinished commands.
        given.write_text(json.dumps([[text.split("\n"), f"{keys}\x1b"] for text, keys in cases]), "utf-8")
        script.write_text(_SCRIPT.replace("IN", str(given)).replace("OUT", str(outcome)), "utf-8")
        command = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", str(script)]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        made = json.loads(outcome.read_text("utf-8"))
    return [("\n".join(lines), (row, column)) for lines, row, column in made]
