"""`rolellm mcp` as desktop programs start it, with the official client and with LangChain's."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import COMMAND, rolellm
from helpers.tool_calling_model import calling, tool_calling_model
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@asynccontextmanager
async def session(log: Path, *arguments: str) -> AsyncIterator[ClientSession]:
    """The official client of a process of its own, whose stderr goes to `log`."""
    command, *first = COMMAND
    server = StdioServerParameters(command=command, args=[*first, "mcp", *arguments], env=dict(os.environ))
    with log.open("w", encoding="utf-8") as errors:
        async with stdio_client(server, errors) as (read, write), ClientSession(read, write) as client:
            await client.initialize()
            yield client


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


@pytest.mark.core
async def test_a_conversation_is_gone_on_with_in_one_process(home: Path) -> None:
    async with session(home.parent / "log", "--model", "scripted:Elementary.|As I said.") as client:
        first = await client.call_tool("talk_with", {"character": "sherlock-holmes", "message": "How?"})
        assert not first.isError
        assert first.structuredContent
        assert first.structuredContent["answer"] == "Elementary."
        goes_on = {
            "character": "sherlock-holmes",
            "message": "Why?",
            "conversation": first.structuredContent["conversation"],
        }
        second = await client.call_tool("talk_with", goes_on)
    assert second.structuredContent == {**first.structuredContent, "answer": "As I said."}


@pytest.mark.core
def test_the_embedded_model_prints_nothing_between_the_messages(home: Path) -> None:
    talk = called("talk_with", character="sherlock-holmes", message="Who are you?")
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    program = (
        "import ctypes\n"
        "from rolellm_graphs.mcp import tools; real = tools.Tools.call\n"
        "async def noisy(self, *given):\n"
        "    print('from Python'); ctypes.CDLL(None).puts(b'from C'); ctypes.CDLL(None).fflush(None)\n"
        "    import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(input())'])\n"
        "    return await real(self, *given)\n"
        "tools.Tools.call = noisy\n"
        "from rolellm_tui.cli.main import main; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, "mcp", "--max-tokens", "8"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin
        assert process.stdout
        for message in (INITIALIZE, ready, talk):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(2)]
        rest, errors = process.communicate(timeout=120)
    told = [json.loads(line) for line in lines]
    assert [one["id"] for one in told] == [0, 1]
    assert told[1]["result"]["structuredContent"]["answer"]
    assert rest == ""
    assert "from Python" in errors
    assert "from C" in errors
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_reads(home: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        (*COMMAND, "mcp", "--model", "scripted:Hm."),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(INITIALIZE) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 0
        process.send_signal(number)
        assert process.wait(60) == -number
        assert process.stderr
        assert process.stderr.read() == ""


async def test_langchains_agents_get_the_tools(home: Path) -> None:
    """One session, so that all calls reach the same process."""
    command, *first = COMMAND
    client = MultiServerMCPClient(
        {
            "rolellm": {
                "transport": "stdio",
                "command": command,
                "args": [*first, "mcp", "--model", "scripted:Elementary."],
                "env": dict(os.environ),
            }
        }
    )

    talk = calling("talk_with", character="sherlock-holmes", message="Who was it?")
    model = tool_calling_model(talk, AIMessage("The butler."))
    async with client.session("rolellm") as connected:
        agent = create_agent(model, await load_mcp_tools(connected))
        answer = await agent.ainvoke({"messages": [HumanMessage("Who was it?")]})
    told, last = answer["messages"][-2:]
    assert told.text.startswith("Elementary.")
    assert last.text == "The butler."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--only", "sherlock-homes"), "did you mean sherlock-holmes"),
        (("--model", "nonsense"), "nonsense"),
        (("--http", "--host", "example.org"), "set a key with --api-key"),
    ],
)
def test_a_wrong_option_is_one_sentence(home: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = rolellm("mcp", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("package", "arguments", "extra"), [("mcp", ("mcp",), "mcp"), ("a2a", ("serve", "--a2a"), "a2a")]
)
def test_a_missing_package_is_told_with_its_extra(
    home: Path, package: str, arguments: tuple[str, ...], extra: str
) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; from rolellm_tui.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert f"pip install 'rolellm-agents[{extra}]'" in done.stderr
    assert done.stderr.count("\n") == 1
