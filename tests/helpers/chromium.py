"""A page in a real browser, at a width: what it says of itself, and what it complains of."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

_FRAME = """<!doctype html><meta charset="utf-8"><body style="margin:0">
<iframe id="page" src="{page}" style="width:{width}px;height:800px;border:0"></iframe>
<pre id="found"></pre>
<script>
document.getElementById("page").addEventListener("load", (event) => {{
  const page = event.target.contentDocument.documentElement;
  const folded = [...page.querySelectorAll("details")];
  if ({opened}) folded.forEach((one) => {{ one.open = true; }});
  const loaded = event.target.contentWindow.performance.getEntriesByType("resource");
  document.getElementById("found").textContent = JSON.stringify({{
    width: page.clientWidth, needed: page.scrollWidth, details: folded.length,
    text: page.innerText.length, remote: loaded.length,
  }});
}});
</script>"""


def measured_page(
    page: Path, width: int, folder: Path, *, opened: bool
) -> tuple[dict[str, Any], list[str]]:
    """What a browser finds of a page, and what it writes to its console; skipped where there is none.

    Args:
        page: an HTML file.
        width: in pixels; a frame has it, since a window cannot be as narrow as a telephone.
        folder: for the frame.
        opened: with all that is folded open.
    """
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    frame = folder / "frame.html"
    told = _FRAME.format(page=page.resolve().as_uri(), width=width, opened=json.dumps(opened))
    frame.write_text(told, encoding="utf-8")
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--allow-file-access-from-files",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'browser'}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            frame.resolve().as_uri(),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    assert found[1], done.stderr[-2000:]
    complaints = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(unescape(found[1])), complaints
