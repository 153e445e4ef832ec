"""Each program in docs/examples does what it says, run as its readers run it."""

import asyncio
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tokenize
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from helpers.tiny_gguf import make_tiny_gguf
from helpers.user_files import write_models

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
PATIENCE = 120.0
AI_TALK = "As an AI, I have no childhood."


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader is, and where alone anything may be written."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    place = tmp_path / "place"
    place.mkdir()
    return place


def run(
    example: str,
    *arguments: str,
    place: Path,
    model: str,
    said: str = "",
    env: Mapping[str, str] | None = None,
    code: int = 0,
) -> str:
    """Run an example to its end, and give what it prints, or what it complains of."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example), *arguments],
        input=said,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=place,
        env={**os.environ, "ROLELLM_MODEL": model, **(env or {})},
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if code:
        return done.stderr
    assert done.stderr == ""
    return done.stdout


def name_model(name: str, spec: str, **options: float) -> str:
    """Name a model in the user's `models.toml`."""
    told = "".join(f"{key} = {value}\n" for key, value in options.items())
    write_models(f'[models.{name}]\nspec = "{spec}"\n{told}')
    return name


# A model behind an API, which says what it is told to and keeps what it was asked


@contextmanager
def api(*replies: dict[str, Any]) -> Iterator[tuple[dict[str, str], list[dict[str, Any]]]]:
    """A server in OpenAI's form that gives `replies` in turn; its environment, and what it is asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/apply-template":  # llama-server alone has it
                self.send_error(404)
                return
            message = {"role": "assistant", "content": None, **replies[len(asked)]}
            asked.append(body)
            whole = {"id": "c", "created": 1, "model": "told"}
            choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
            if body.get("stream"):
                chunk = {
                    **whole,
                    "object": "chat.completion.chunk",
                    "choices": [{**choice, "delta": message}],
                }
                self.reply("text/event-stream", f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n")
            else:
                answer = {**whole, "object": "chat.completion", "choices": [{**choice, "message": message}]}
                self.reply("application/json", json.dumps(answer))

        def reply(self, kind: str, body: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield {"OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}/v1"}, asked
        finally:
            server.shutdown()
            thread.join()


def says(text: str) -> dict[str, Any]:
    return {"content": text}


def calls(tool: str, **arguments: str) -> dict[str, Any]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"id": "call-1", "type": "function", "index": 0, "function": function}]}


def prompt_of(body: dict[str, Any]) -> str:
    return "\n".join(message["content"] or "" for message in body["messages"])


# The examples


class TestChatInTenLines:
    def test_it_has_ten_lines(self) -> None:
        source = (EXAMPLES / "chat_in_ten_lines.py").read_text(encoding="utf-8")
        code = source.split('"""', 2)[2]
        ignored = {tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.DEDENT, tokenize.NEWLINE}
        tokens = tokenize.generate_tokens(io.StringIO(code).readline)
        assert len({token.start[0] for token in tokens if token.type not in ignored}) == 10

    @pytest.mark.core
    def test_the_embedded_model_answers_as_the_character(self, home: Path, place: Path) -> None:
        model = name_model("short", "llamacpp:smollm2", temperature=0, max_tokens=12)
        out = run("chat_in_ten_lines.py", place=place, model=model, said="Who are you?\n\n")
        assert re.fullmatch(r"\nYou: \S[^\n]{10,}[\s\S]*\nYou: ", out)

    def test_it_is_told_what_was_said_before(self, place: Path) -> None:
        with api(says("Elementary."), says("As I said.")) as (env, asked):
            out = run("chat_in_ten_lines.py", place=place, model="openai:m", said="How?\nWhy?\n\n", env=env)
        assert out == "\nYou: Elementary.\nYou: As I said.\nYou: "
        assert [message["content"] for message in asked[1]["messages"][-3:]] == [
            "How?",
            "Elementary.",
            "Why?",
        ]
        assert all(body["stream"] for body in asked)
        assert "Sherlock Holmes" in prompt_of(asked[1])


class TestSupervisor:
    @pytest.mark.core
    def test_each_line_goes_to_whom_the_supervisor_names(self, place: Path) -> None:
        told = (
            says('{"to": "jack-sparrow"}'),
            says("Gone, mate."),
            says('{"to": "sherlock-holmes"}'),
            says("The cook took it."),
        )
        with api(*told) as (env, asked):
            said = "Where is the rum?\nWho took it?\n\n"
            out = run("supervisor.py", place=place, model="openai:m", said=said, env=env)
        assert out == "You: jack-sparrow: Gone, mate.\nYou: sherlock-holmes: The cook took it.\nYou: "
        form = asked[0]["response_format"]["json_schema"]["schema"]
        assert form["properties"]["to"]["enum"] == ["sherlock-holmes", "jack-sparrow"]
        assert "Black Pearl" in prompt_of(asked[1])
        assert "Baker Street" in prompt_of(asked[3])
        heard = "User: Where is the rum?\nJack Sparrow: Gone, mate.\nUser: Who took it?"
        assert asked[3]["messages"][-1] == {"role": "user", "content": heard}, "they share one conversation"

    def test_the_embedded_model_hands_over_to_one_of_the_two(self, home: Path, place: Path) -> None:
        model = name_model("short", "llamacpp:smollm2", temperature=0, max_tokens=12)
        out = run("supervisor.py", place=place, model=model, said="Where is the rum?\n\n")
        assert re.match(r"You: (sherlock-holmes|jack-sparrow): \S", out)


class TestPersonaAsATool:
    @pytest.mark.core
    def test_the_agent_asks_a_character_and_reports(self, place: Path) -> None:
        question = "Who was at my window?"
        told = (
            calls("ask_sherlock-holmes", question=question),
            says("A man with a limp."),
            says("Holmes says that he limps."),
        )
        with api(*told) as (env, asked):
            out = run("persona_as_a_tool.py", question, place=place, model="openai:m", env=env)
        tools = [tool["function"]["name"] for tool in asked[0]["tools"]]
        assert tools == ["ask_sherlock-holmes", "ask_jack-sparrow"]
        assert "Baker Street" in prompt_of(asked[1])
        assert asked[2]["messages"][-1]["content"] == "A man with a limp."
        assert out.endswith("Holmes says that he limps.\n")

    def test_a_model_that_calls_no_tools_is_refused_in_a_sentence(self, place: Path) -> None:
        said = run("persona_as_a_tool.py", "Who?", place=place, model="scripted:No.", code=1)
        assert said == "This model calls no tools; name one that does in ROLELLM_MODEL.\n"


class TestSceneWithAPerson:
    def play(self, place: Path, model: str, *said: str, **options: Any) -> str:
        lines = "".join(f"{line}\n" for line in said)
        return run("scene_with_a_person.py", "evening.db", place=place, model=model, said=lines, **options)

    def test_it_is_stopped_and_gone_on_with_in_another_process(self, place: Path) -> None:
        begun = self.play(place, "scripted:Find a stool of your own.", "My van died.", "")
        replies = "Then call a tow truck.|Fourteen stools.|I saw better acting in Topeka."
        later = self.play(place, f"scripted:{replies}", "I did.", "Twice.")
        again = self.play(place, "scripted:Nobody asks this.")
        assert [path.name for path in place.iterdir()] == ["evening.db"]
        assert later.startswith(begun.replace("You: ", "")), "what was said is shown again"
        assert "juno-macguff: My van died." in later
        assert later.endswith("\n\nI saw better acting in Topeka.\n")
        assert again == later.replace("You: ", "")

    def test_where_a_model_failed_it_goes_on_with_another(self, place: Path) -> None:
        broken = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        assert "Connection error" in self.play(place, "openai:m", "Hi.", "", code=1, env=broken)
        later = self.play(place, "scripted:Find a stool.", "")
        assert later.endswith("juno-macguff: Hi.\nwalt-kowalski: Find a stool.\nYou: ")


class TestTutor:
    @pytest.mark.core
    def test_the_character_is_told_the_notes_that_are_near(self, place: Path) -> None:
        with api(says("It turns!"), says("Fourteen, gentlemen.")) as (env, asked):
            said = "What is the volta?\nWhat is a trochee?\n\n"
            out = run("tutor.py", "lessons.db", place=place, model="openai:m", said=said, env=env)
        assert re.search(r"You: It turns!\n\nFrom the notes on: .*\bVolta\b", out)
        assert re.search(r"You: Fourteen, gentlemen\.\n\nFrom the notes on: .*\bTrochee\b", out)
        first, second = map(prompt_of, asked)
        assert "You teach from these notes:" in first
        assert "Volta: the turn in a sonnet's thought." in first
        assert "Trochee: " not in first
        assert "Trochee: the iamb turned around" in second
        assert second.count("It turns!") == 1, "this lesson is the conversation, and no memory"
        assert "Welton Academy" in second

    @pytest.mark.core
    def test_the_next_lesson_remembers_this_one(self, place: Path) -> None:
        said = "My dog Brutus ate my sonnet.\n\n"
        run("tutor.py", "lessons.db", place=place, model="scripted:Poor dog!", said=said)
        with api(says("He has eaten worse.")) as (env, asked):
            said = "Has Brutus eaten my homework?\n\n"
            run("tutor.py", "lessons.db", place=place, model="openai:m", said=said, env=env)
        (later,) = map(prompt_of, asked)
        assert "My dog Brutus ate my sonnet." in later
        assert "Poor dog!" in later


class TestChatRoom:
    async def posts_of(
        self, place: Path, env: Mapping[str, str], *posts: tuple[str, str, str]
    ) -> list[Any]:
        """What the bot posts when a stand-in for a chat server sends `posts` and closes after the last."""
        told: list[Any] = []

        async def rooms(request: web.Request) -> web.WebSocketResponse:
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            for room, sender, text in posts:
                await socket.send_json({"room": room, "sender": sender, "text": text})
                if "Holmes" in text and sender != "Sherlock Holmes":
                    told.append(await socket.receive_json())
            await socket.close()
            return socket

        app = web.Application()
        app.router.add_get("/rooms", rooms)
        server = TestServer(app)
        await server.start_server()
        try:
            url = str(server.make_url("/rooms")).replace("http", "ws", 1)
            options: dict[str, Any] = {"place": place, "model": "openai:m", "env": env}
            await asyncio.to_thread(run, "chat_room.py", url, **options)
        finally:
            await server.close()
        return told

    @pytest.mark.core
    async def test_it_hears_everybody_and_answers_who_names_it(self, place: Path) -> None:
        posts = (
            ("tea", "Ada", "The silver is gone."),
            ("sea", "Jack", "Somebody drank the rum."),
            ("tea", "Ben", "Ask Holmes, he will know."),
            ("tea", "Sherlock Holmes", "The cook, as Holmes said."),
            ("tea", "Ada", "Why, Mr Holmes?"),
        )
        with api(says("The cook."), says("Her shoes.")) as (env, asked):
            told = await self.posts_of(place, env, *posts)
        assert [(one["room"], one["text"]) for one in told] == [("tea", "The cook."), ("tea", "Her shoes.")]
        last = prompt_of(asked[1])
        assert "Ada: The silver is gone." in last
        assert "The cook." in last
        assert "rum" not in last.partition("The silver is gone.")[2]


class TestGameLoop:
    def test_a_character_opens_the_gate_by_a_tool(self, place: Path) -> None:
        told = (says("Who goes there?"), calls("open_gate"), says("Pass, friend."))
        with api(*told) as (env, asked):
            said = "A friend.\nI bring a letter.\n"
            out = run("game_loop.py", place=place, model="openai:m", said=said, env=env)
        assert out.endswith("Lincoln: Pass, friend.\nThe gate is open. You win.\n")
        assert {tool["function"]["name"] for tool in asked[0]["tools"]} == {"open_gate", "lose_patience"}
        assert "Your patience is 4." in prompt_of(asked[0])
        assert "Your patience is 3." in prompt_of(asked[1])

    def test_patience_ends(self, place: Path) -> None:
        told = (calls("lose_patience"), says("Hm."), calls("lose_patience"), says("Go."))
        with api(*told) as (env, _):
            out = run("game_loop.py", place=place, model="openai:m", said="Bah.\nBah.\n", env=env)
        assert out.endswith("The gate stays shut.\n")

    def test_a_model_that_calls_no_tools_is_refused_in_a_sentence(self, place: Path) -> None:
        told = run("game_loop.py", place=place, model="scripted:No.", said="Hi.\n", code=1)
        assert told == "This model calls no tools; name one that does in ROLELLM_MODEL.\n"


class TestInterviews:
    def test_a_second_run_goes_on_with_what_is_missing(self, place: Path) -> None:
        run("interviews.py", "all.jsonl", place=place, model="scripted:Yes.")
        file = place / "all.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines()
        assert {json.loads(line)["character"] for line in lines} == {
            "sherlock-holmes",
            "jack-sparrow",
            "john-keating",
        }
        assert [answer for _, answer in json.loads(lines[0])["answers"]] == ["Yes."] * 3
        file.write_text("".join(f"{line}\n" for line in lines[:2]), encoding="utf-8")
        out = run("interviews.py", "all.jsonl", place=place, model="scripted:No.")
        assert out.strip() == json.loads(lines[2])["character"]
        assert file.read_text(encoding="utf-8").splitlines()[:2] == lines[:2]

    def test_the_embedded_model_is_interviewed(self, home: Path, place: Path) -> None:
        tiny = make_tiny_gguf(home.parent / "tiny.gguf", seed=1)
        run(
            "interviews.py",
            "all.jsonl",
            place=place,
            model=name_model("tiny", f"llamacpp:{tiny}", max_tokens=8),
        )
        assert len((place / "all.jsonl").read_text(encoding="utf-8").splitlines()) == 3


class TestBatchEvaluation:
    def evaluate(self, place: Path, model: str) -> tuple[str, dict[str, Any]]:
        out = run("batch_evaluation.py", "scores.json", place=place, model=model)
        assert [path.name for path in place.iterdir()] == ["scores.json"]
        rows = json.loads((place / "scores.json").read_text(encoding="utf-8"))
        return out, {row["persona"]: row for row in rows}

    def test_the_table_and_the_file_tell_the_same(self, place: Path) -> None:
        out, rows = self.evaluate(place, "scripted:My dear Watson, the game is afoot.")
        assert out.splitlines() == [
            "                       in role   AI talk   phrases  likelier",
            "sherlock-holmes           100%        0%      100%         –",
            "jack-sparrow              100%        0%        0%         –",
            "john-keating              100%        0%        0%         –",
        ]
        assert rows["sherlock-holmes"]["catchphrases"] == 1
        assert rows["jack-sparrow"]["catchphrases"] == 0
        assert [*rows["john-keating"]["answers"].values()] == ["My dear Watson, the game is afoot."] * 3

    def test_an_assistant_that_shows_through_is_seen(self, place: Path) -> None:
        out, rows = self.evaluate(place, f"scripted:{AI_TALK}")
        assert {(row["in_role"], row["ai_talk"]) for row in rows.values()} == {(0, 1)}
        assert re.findall(r"(\d+)% +(\d+)% +0%", out) == [("0", "100")] * 3

    def test_a_model_in_this_process_says_how_much_likelier_its_persona_makes_them(
        self, home: Path, place: Path
    ) -> None:
        tiny = make_tiny_gguf(home.parent / "tiny.gguf", seed=1)
        out, rows = self.evaluate(place, name_model("tiny", f"llamacpp:{tiny}", max_tokens=8))
        for name, row in rows.items():
            assert len(row["answers"]) == 3
            assert f"{row['likelihood']:+.2f}" in out.partition(name)[2].splitlines()[0]


# A page in a browser


@contextmanager
def served(folder: str, place: Path, **env: str) -> Iterator[str]:
    """An example's server as a process of its own, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES / folder), "app:app", "--port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
        env={**os.environ, **env},
    )
    assert process.stderr is not None
    try:
        told = ""
        for line in process.stderr:
            told += line
            if found := re.search(r"running on (http://\S+)", line):
                yield found[1]
                return
        raise AssertionError(told)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


class Tab:
    """A page in a headless Chromium, spoken to over its DevTools socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._asked = 0
        self.complaints: list[str] = []

    async def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        told = await self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def until(self, expression: str, look: str = "null") -> list[Any]:
        """Wait until `expression` holds; what `look` was meanwhile, and is then."""
        seen = []
        while True:
            holds = await self.ask(expression)
            seen.append(await self.ask(look))
            if holds:
                return seen
            await asyncio.sleep(0.02)

    async def command(self, method: str, **params: Any) -> Any:
        self._asked += 1
        await self._socket.send_json({"id": self._asked, "method": method, "params": params})
        while (told := await self._socket.receive_json()).get("id") != self._asked:
            if told["method"] in {"Runtime.exceptionThrown", "Log.entryAdded"}:
                self.complaints.append(json.dumps(told["params"]))
        return told["result"]


@asynccontextmanager
async def tab(url: str, folder: Path) -> AsyncIterator[Tab]:
    """The page at `url`; skipped where there is no Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0")
    process = await asyncio.create_subprocess_exec(
        *(browser, *options, f"--user-data-dir={folder}", "about:blank"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        async with (
            asyncio.timeout(PATIENCE),
            aiohttp.ClientSession() as client,
            client.ws_connect(await page_socket(client, folder)) as socket,
        ):
            page = Tab(socket)
            for domain in ("Page", "Runtime", "Log"):
                await page.command(f"{domain}.enable")
            await page.command("Page.navigate", url=url)
            await page.until("document.readyState === 'complete' && document.forms.length > 0")
            yield page
    finally:
        process.kill()
        await process.wait()


async def page_socket(client: aiohttp.ClientSession, folder: Path) -> str:
    """Where the browser's first page is spoken to."""
    told = folder / "DevToolsActivePort"
    while not (told.exists() and told.read_text().count("\n")):  # noqa: ASYNC110 - the browser writes it
        await asyncio.sleep(0.05)
    port = told.read_text().splitlines()[0]
    async with client.get(f"http://127.0.0.1:{port}/json/list") as response:
        pages = await response.json()
    return next(str(page["webSocketDebuggerUrl"]) for page in pages if page["type"] == "page")


class TestCharactersOnAPage:
    SHOWN = "[...document.querySelectorAll('p')].map(one => one.textContent)"
    DONE = "!document.querySelector('button').disabled"

    async def say(self, page: Tab, line: str, to: str = "sherlock-holmes") -> list[list[str]]:
        """Say a line to somebody; what the page shows from then on until the answer has ended."""
        await page.ask(f"document.forms[0].to.value = {json.dumps(to)}")
        await page.ask(f"document.forms[0].line.value = {json.dumps(line)}")
        await page.ask("document.forms[0].querySelector('button').click()")
        return await page.until(self.DONE, self.SHOWN)

    @pytest.mark.core
    async def test_the_answer_grows_on_the_page_and_nothing_comes_from_elsewhere(
        self, home: Path, place: Path
    ) -> None:
        answer = "The <b>dog</b> did nothing. 狗什么也没做。"
        model = name_model("slow", f"scripted:{answer}|Good night.", seconds_per_word=0.3)
        with served("characters_on_a_page", place, ROLELLM_MODEL=model) as url:
            async with tab(url, home.parent / "browser") as page:
                seen = await self.say(page, "What of the dog?")
                whole = f"Sherlock Holmes: {answer}"
                assert seen[-1] == ["What of the dog?", whole]
                growing = {shown[1] for shown in seen if shown[1] not in ("Sherlock Holmes: ", whole)}
                assert growing
                assert all(whole.startswith(part) for part in growing)
                later = await self.say(page, "And you?", to="jack-sparrow")
                assert later[-1][2:] == ["And you?", "Jack Sparrow: Good night."]
                assert await page.ask("said.map(one => [one.name, one.content])") == [
                    [None, "What of the dog?"],
                    ["sherlock-holmes", answer],
                    [None, "And you?"],
                    ["jack-sparrow", "Good night."],
                ]
                loaded = await page.ask("performance.getEntriesByType('resource').map(one => one.name)")
                assert set(loaded) == {f"{url}/answer/sherlock-holmes", f"{url}/answer/jack-sparrow"}
                assert page.complaints == []

    async def test_an_answer_that_breaks_off_is_told_and_forgotten(self, home: Path, place: Path) -> None:
        env = {"ROLELLM_MODEL": "openai:m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        with served("characters_on_a_page", place, **env) as url:
            async with tab(url, home.parent / "browser") as page:
                seen = await self.say(page, "What of the dog?")
                assert "(The answer broke off: " in seen[-1][1]
                assert await page.ask("said.length") == 0

    async def test_each_hears_the_others_and_nothing_else(self, place: Path) -> None:
        said = [
            {"content": "How?"},
            {"content": "Elementary.", "name": "sherlock-holmes"},
            {"content": "And you, Jack?"},
            {"content": "Rum.", "name": "jack-sparrow"},
            {"content": "Well?"},
        ]
        async with aiohttp.ClientSession() as client:
            with (
                api(says("As I said.")) as (env, asked),
                served("characters_on_a_page", place, ROLELLM_MODEL="openai:m", **env) as url,
            ):
                async with client.post(f"{url}/answer/sherlock-holmes", json=said) as response:
                    assert await response.text() == "As I said."
                system = [{"content": "You are a pirate.", "role": "system"}]
                async with client.post(f"{url}/answer/shrek", json=system) as refused:
                    assert refused.status == HTTPStatus.UNPROCESSABLE_ENTITY
                async with client.post(f"{url}/answer/nobody", json=said) as refused:
                    assert refused.status == HTTPStatus.UNPROCESSABLE_ENTITY
        (told,) = asked
        assert [(one["role"], one["content"]) for one in told["messages"][-3:]] == [
            ("user", "How?"),
            ("assistant", "Elementary."),
            ("user", "User: And you, Jack?\nJack Sparrow: Rum.\nUser: Well?"),
        ]


# All of them


def examples() -> list[str]:
    """The examples' names: each a program, or a folder with one."""
    found = [path for path in EXAMPLES.iterdir() if path.suffix == ".py" or path.is_dir()]
    return sorted(path.stem for path in found if path.name != "__pycache__")


@pytest.mark.parametrize("example", examples())
def test_each_example_has_tests(example: str) -> None:
    tests = globals().get("Test" + "".join(map(str.capitalize, example.split("_"))))
    assert tests is not None
    assert [name for name in vars(tests) if name.startswith("test_")]


def test_the_readme_has_a_line_for_each_example() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"^\| \[\w+\]\((\w+)[./]", readme, re.MULTILINE)
    assert sorted(linked) == examples()
    targets = re.findall(r"\]\(([^)#]+)", readme)
    assert all((EXAMPLES / target).exists() for target in targets)
