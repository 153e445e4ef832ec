"""A character as a bot in chat rooms, as on Discord or Matrix.

    python docs/examples/chat_room.py ws://127.0.0.1:8080/rooms

The server sends each post as JSON over a websocket: `{"room": …, "sender": …, "text": …}`. For another
service, replace `posts` and `post`. The bot hears everybody in a room, and answers when its name is
mentioned. `ROLELLM_MODEL` selects another model.
"""

import argparse
import asyncio
import sys
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from rolellm_agents import RoleLLMError
from rolellm_agents.config.settings import load_settings
from rolellm_graphs import RoleChatModel

REMEMBERED = 100
"""How many posts of a room the bot keeps."""


async def posts(server: aiohttp.ClientWebSocketResponse) -> AsyncIterator[dict[str, Any]]:
    async for received in server:
        yield received.json()


async def post(server: aiohttp.ClientWebSocketResponse, room: str, sender: str, text: str) -> None:
    await server.send_json({"room": room, "sender": sender, "text": text})


async def main(url: str) -> None:
    bot = RoleChatModel("sherlock-holmes", model=load_settings().model)
    name = bot.persona.name
    heard: dict[str, deque[BaseMessage]] = defaultdict(lambda: deque(maxlen=REMEMBERED))
    async with aiohttp.ClientSession() as client, client.ws_connect(url) as server:
        async for said in posts(server):
            room, sender, text = said["room"], said["sender"], said["text"]
            if sender == name:
                continue  # the server sends the bot's own posts, too
            heard[room].append(HumanMessage(text, name=sender))
            if name.split()[-1].lower() not in text.lower():
                continue
            try:
                answer = (await bot.ainvoke(list(heard[room]))).text
            except RoleLLMError as error:
                print(error, file=sys.stderr)
                continue
            heard[room].append(AIMessage(answer))
            await post(server, room, name, answer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Be a bot in chat rooms.")
    parser.add_argument("url", help="the websocket of the server with the rooms")
    try:
        asyncio.run(main(parser.parse_args().url))
    except aiohttp.ClientError as error:
        sys.exit(f"The server cannot be reached: {error}")
