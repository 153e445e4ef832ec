"""Interviews: several characters answer the same questions, each in a conversation of its own.

    python docs/examples/interviews.py interviews.jsonl

The interviews run at the same time, and each is written as one line of JSON when it is complete. A second
run goes on with those that are missing. `ROLELLM_MODEL` selects another model than the bundled one.
"""

import argparse
import asyncio
import json
from pathlib import Path

from langchain_core.messages import BaseMessage, HumanMessage

from rolellm_agents import get_model
from rolellm_agents.config.settings import load_settings
from rolellm_graphs import RoleChatModel

CHARACTERS = ("sherlock-holmes", "jack-sparrow", "john-keating")
QUESTIONS = ("Where do you come from?", "What do you fear?", "And what would you do against it?")
AT_ONCE = 4


async def interview(character: RoleChatModel) -> list[tuple[str, str]]:
    """The questions with the character's answers, who remembers the earlier ones."""
    said: list[BaseMessage] = []
    for question in QUESTIONS:
        said.append(HumanMessage(question))
        said.append(await character.ainvoke(said))
    return [(asked.text, answered.text) for asked, answered in zip(said[::2], said[1::2], strict=True)]


def finished(file: Path) -> set[str]:
    """The characters whose interviews are in the file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {json.loads(line)["character"] for line in lines}


async def main(file: Path) -> None:
    done = finished(file)
    model = get_model(load_settings().model, conversations=AT_ONCE)
    places = asyncio.Semaphore(AT_ONCE)

    async def write(name: str) -> None:
        async with places:
            answers = await interview(RoleChatModel(name, model=model))
        with file.open("a", encoding="utf-8") as written:
            written.write(json.dumps({"character": name, "answers": answers}, ensure_ascii=False) + "\n")
        print(name)

    await asyncio.gather(*(write(name) for name in CHARACTERS if name not in done))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Interview three characters.")
    parser.add_argument("file", type=Path, help="where the interviews are written, as JSON lines")
    asyncio.run(main(parser.parse_args().file))
