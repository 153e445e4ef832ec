"""`rolellm chat --web`: the app in browsers, and nobody there but who has the link."""

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

import aiohttp
import psutil
import pytest
from helpers.commands import rolellm
from helpers.user_files import conversation_ids, kept, lines, write_models, write_persona
from helpers.web_app import PATIENCE, rolellm_web, until
from helpers.web_app import served as server_of
from yarl import URL

from rolellm_agents.errors import SettingsError
from rolellm_agents.files.ports import listen
from rolellm_tui.web import tab as tab_module
from rolellm_tui.web.door import Door
from rolellm_tui.web.server import serve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

NOTHING = (sys.executable, "-c", "")
STRANGE = """It's "one" $HOME `id`; two & 三 \\ --web %s"""
"""What a shell would make something else of."""


@asynccontextmanager
async def served(program: Sequence[str] = NOTHING) -> AsyncIterator[tuple[Door, aiohttp.ClientSession]]:
    """A server in this process, and a browser that has not been there yet."""
    async with (
        server_of(program) as (_, door),
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        yield door, browser


@asynccontextmanager
async def tab(link: str) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A browser that opened the link, and the app in it."""
    address = link.partition("?")[0]
    origin = "/".join(link.split("/")[:3])
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(link) as first:
            assert first.status == HTTPStatus.OK
        async with browser.ws_connect(f"{address}ws?width=90&height=30", origin=origin) as app:
            yield app


async def seen(app: aiohttp.ClientWebSocketResponse, *texts: str) -> None:
    """Wait until the app has drawn all of these."""
    drawn = b""
    async with asyncio.timeout(PATIENCE):
        while not all(text.encode() in drawn for text in texts):
            message = await app.receive()
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), drawn.decode()
            drawn += message.data if isinstance(message.data, bytes) else b""


async def closed(app: aiohttp.ClientWebSocketResponse) -> None:
    """Wait until the server closes the connection."""
    async with asyncio.timeout(PATIENCE):
        async for _ in app:
            pass


def apps_of(process: int) -> list[psutil.Process]:
    """The processes that the server has started."""
    return psutil.Process(process).children(recursive=True)


def all_gone(processes: Sequence[psutil.Process]) -> bool:
    """Wait for their end, which comes soon."""
    return not psutil.wait_procs(processes, timeout=PATIENCE)[1]


# The page


async def test_the_link_becomes_a_cookie_that_nobody_else_gets_and_the_url_loses_the_token() -> None:
    async with served() as (door, browser):
        async with browser.get(door.link) as first:
            told = await first.text()
            cookie = first.headers["Set-Cookie"]
            assert first.status == HTTPStatus.OK
        async with browser.get(f"{door.address}") as second:
            page = await second.text()
            assert second.status == HTTPStatus.OK
            assert "Set-Cookie" not in second.headers

    assert cookie.split("; ")[0] == f"rolellm-{door.port}={door.token}"
    assert {"HttpOnly", "SameSite=Strict", f"Path={door.path}"} <= set(cookie.split("; "))
    assert f'<meta http-equiv="refresh" content="0; url={door.path}">' in told
    assert door.token not in told + page
    assert f'"ws://127.0.0.1:{door.port}{door.path}ws"' in page


async def test_another_port_of_this_machine_does_not_get_the_cookie() -> None:
    """Cookies belong to a host with all its ports, so the path keeps them apart."""
    async with served() as (door, browser), served() as (other, _):
        await browser.get(door.link)
        assert browser.cookie_jar.filter_cookies(URL(door.address))[door.cookie].value == door.token
        for elsewhere in (door.origin, other.origin, other.address, f"{door.origin}/download/0123"):
            assert browser.cookie_jar.filter_cookies(URL(elsewhere)) == {}
        assert door.path != other.path
        async with browser.get(f"{door.origin}/") as refused:
            assert refused.status == HTTPStatus.FORBIDDEN
            assert door.path not in await refused.text()


async def test_the_page_loads_all_it_needs_from_here_and_may_load_nothing_else() -> None:
    async with served() as (door, browser):
        await browser.get(door.link)
        async with browser.get(f"{door.address}") as page:
            html = await page.text()
            policy = page.headers["Content-Security-Policy"]
            cached = page.headers["Cache-Control"]
        needed = re.findall(r"""(?:src|href)="([^"]+)"|url\("([^"]+)"\)""", html)
        sources = [one or other for one, other in needed]
        statuses = []
        for source in sources:
            if not source.startswith("data:"):
                async with browser.get(f"{door.address}{source}") as part:
                    statuses.append(part.status)
        async with browser.get(f"{door.address}static/css/xterm.css") as style:
            styles = await style.text()

    assert len(statuses) == 4  # a script, a style, and two fonts
    assert set(statuses) == {HTTPStatus.OK}
    assert "http://" not in html
    assert "https://" not in html
    assert "url(" not in styles
    assert cached == "no-store"
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    nonce = re.search('<script nonce="([^"]+)"', html)
    assert nonce is not None
    assert rules == {
        "default-src": "'none'",
        "script-src": f"'self' 'nonce-{nonce[1]}'",
        "style-src": "'self' 'unsafe-inline'",
        "font-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self' ws://127.0.0.1:{door.port}",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


@pytest.mark.parametrize(("asked", "given"), [("20", 20), ("1", 8), ("999", 48), ("", 16), ('"x', 16)])
async def test_letters_may_be_larger(asked: str, given: int) -> None:
    async with served() as (door, browser):
        await browser.get(door.link)
        async with browser.get(f"{door.address}", params={"fontsize": asked}) as page:
            assert f'data-font-size="{given}"' in await page.text()


# Who may come in


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/?token=", "/?token=wrong", "/static/js/textual.js", "/static/../page.html"),
        *("/static", "/download/0123", "/ws", "/nothing", "/?token=wrong&token=again"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_without_the_token_everything_is_refused_in_a_sentence(method: str, path: str) -> None:
    async with served() as (door, browser):
        browser.headers.update(Origin=door.origin)
        browser.cookie_jar.update_cookies({door.cookie: door.token[:-1]})
        async with browser.request(method, f"{door.address}{path.removeprefix('/')}") as refused:
            told = await refused.text()

    assert refused.status == HTTPStatus.FORBIDDEN
    assert refused.content_type == "text/plain"
    assert told == ("Open the link that rolellm printed at startup.\n")
    assert "Set-Cookie" not in refused.headers


async def test_the_token_in_the_url_opens_the_page_and_nothing_else() -> None:
    async with served() as (door, browser):
        refused = await browser.get(f"{door.address}static/js/textual.js?token={door.token}")

    assert refused.status == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("host", ["evil.example", "localhost:{port}", "127.0.0.1", "[::1]:{port}", ""])
@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/textual.js"])
async def test_under_another_name_everything_is_refused_even_with_the_token(path: str, host: str) -> None:
    async with served() as (door, browser):
        await browser.get(door.link)
        headers = {"Host": host.format(port=door.port), "Origin": door.origin}
        async with browser.get(f"{door.address}{path.removeprefix('/')}", headers=headers) as refused:
            told = await refused.text()

    assert refused.status == HTTPStatus.FORBIDDEN
    assert told.startswith("Unknown host name; ")


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
async def test_a_page_from_elsewhere_cannot_connect(origin: str | None) -> None:
    async with served() as (door, browser):
        await browser.get(door.link)
        told = origin and origin.format(port=door.port)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await browser.ws_connect(f"{door.address}ws", origin=told)

    assert refused.value.status == HTTPStatus.FORBIDDEN


# The app in a tab


async def test_one_talks_in_a_browser_with_the_same_options_and_home() -> None:
    write_persona()
    options = ("--model", f"scripted:{STRANGE}", "--strategy", "system")
    async with rolellm_web("ada", *options) as (_, link), tab(link) as app:
        await seen(app, "Good day.")
        await app.send_json(["stdin", "Hello, 福尔摩斯\r"])
        await until(
            lambda: (
                (STRANGE, "complete")
                in [(message.text, message.status) for one in conversation_ids() for message in kept(one)]
            )
        )
        await app.send_json(["stdin", "\x11"])  # Ctrl-Q
        await closed(app)

    (conversation,) = conversation_ids("ada")
    said = kept(conversation)
    assert lines(said) == [
        ("ada", "Good day.", "complete"),
        ("user", "Hello, 福尔摩斯", "complete"),
        ("ada", STRANGE, "complete"),
    ]
    assert said[-1].made_by["strategy"] == "system"


@pytest.mark.core
@pytest.mark.process
async def test_each_tab_is_an_app_of_its_own_and_ends_with_it() -> None:
    write_persona()
    async with rolellm_web("ada", "--model", "scripted:Hi.") as (process, link):
        async with tab(link) as one, tab(link) as other:
            # Together, because a client answers the server's pings only while it receives.
            await asyncio.gather(seen(one, "Good day."), seen(other, "Good day."))
            apps = apps_of(process.pid)
            assert len(apps) == 2
        assert all_gone(apps)
        assert process.returncode is None


@pytest.mark.process
@pytest.mark.parametrize(
    ("sent", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
async def test_when_it_ends_every_app_ends_and_what_was_said_is_kept(
    sent: signal.Signals, exit_code: int
) -> None:
    write_persona()
    words = " ".join(f"word{number}" for number in range(2000))
    write_models(f'[models.slow]\nspec = "scripted:{words}"\nseconds_per_word = 0.05\n')
    async with rolellm_web("ada", "--model", "slow") as (process, link):
        async with tab(link) as app:
            await seen(app, "Good day.")
            await app.send_json(["stdin", "Tell me a story.\r"])
            await seen(app, "word2")
            apps = apps_of(process.pid)
            process.send_signal(sent)
            if sent != signal.SIGKILL:
                await closed(app)
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
        assert await asyncio.to_thread(all_gone, apps)

    assert len(apps) == 1
    assert process.returncode == exit_code
    assert (out.decode(), err.decode()) == ("Open this link in a browser. Press Ctrl-C to stop.\n", "")
    (conversation,) = conversation_ids()
    answer = kept(conversation)[-1]
    assert answer.text.startswith("word0 word1 word2")
    assert answer.status == "stopped"


async def test_an_app_that_does_not_begin_closes_its_tab_and_says_why_in_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = (sys.executable, "-c", "import sys; sys.exit('There is no such thing.')")
    async with served(program) as (door, _), tab(door.link) as app:
        await closed(app)

    assert "There is no such thing." in capsys.readouterr().out


DELIVERING = """
import io
from textual.app import App

class Delivering(App):
    def on_mount(self):
        self.deliver_text(io.StringIO("Good day, 福尔摩斯."), save_filename="chat.txt")

Delivering().run()
"""


async def test_a_file_from_the_app_goes_to_whoever_has_the_token() -> None:
    async with served((sys.executable, "-c", DELIVERING)) as (door, stranger), tab(door.link) as app:
        told = ""
        async with asyncio.timeout(PATIENCE):
            while not told.startswith('["deliver_file_start"'):
                message = await app.receive()
                told = message.data if message.type == aiohttp.WSMsgType.TEXT else ""
        url = f"{door.address}download/{json.loads(told)[1]}"
        async with stranger.get(url) as refused:
            assert refused.status == HTTPStatus.FORBIDDEN
        async with stranger.get(url, cookies={door.cookie: door.token}) as file:
            assert await file.text() == "Good day, 福尔摩斯."

    assert file.status == HTTPStatus.OK
    assert file.headers["Content-Disposition"] == "attachment; filename=chat.txt"
    assert file.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


async def test_an_app_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tab_module, "_PATIENCE", 0.2)
    deaf = "import time; print('__GANGLION__', flush=True); time.sleep(600)"
    async with served((sys.executable, "-c", deaf)) as (door, _):
        async with tab(door.link):
            await until(lambda: deaf_apps(deaf))
            apps = deaf_apps(deaf)
        assert await asyncio.to_thread(all_gone, apps)


def deaf_apps(program: str) -> list[psutil.Process]:
    """The processes that run a program of ours."""
    return [one for one in apps_of(psutil.Process().pid) if program in one.cmdline()]


# Where it is served


def test_a_port_that_is_taken_is_passed_over_unless_it_was_asked_for() -> None:
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        ports = [one.getsockname()[1] for one in (first, second)]
        with pytest.raises(SettingsError) as refused:
            listen("127.0.0.1", ports[0])

    assert len(set(ports)) == 2
    assert ports[0] >= 8000
    assert str(refused.value) == (
        f"127.0.0.1 cannot be listened on at port {ports[0]} (Address already in use); "
        "choose another with --host and --port."
    )


@pytest.mark.parametrize("host", ["no-such-name.invalid", "x" * 80, "192.0.2.1"])
def test_a_host_that_is_not_ours_is_told(host: str) -> None:
    with pytest.raises(SettingsError, match=f"^{host} cannot be listened on"):
        listen(host, None)


def test_ipv6_is_served_too() -> None:
    with listen("::1", 0) as listening:
        assert listening.family == socket.AF_INET6


@pytest.mark.parametrize(("host", "is_warned"), [("127.0.0.1", False), ("0.0.0.0", True)])  # noqa: S104
async def test_whoever_opens_it_to_others_is_warned_in_a_sentence(
    host: str, is_warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    serving = asyncio.create_task(serve(["--version"], host=host, port=0))
    out = err = ""
    while "?token=" not in out:
        await asyncio.sleep(0)
        assert not serving.done()
        more = capsys.readouterr()
        out, err = out + more.out, err + more.err
    serving.cancel()
    with suppress(asyncio.CancelledError):
        await serving

    warning = (
        "rolellm: Anyone with this link can use your models and read your conversations. The "
        "connection is not encrypted.\n"
    )
    assert err == (warning if is_warned else "")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("ada", "--model", "workstation", "--web"), "rolellm: There is no model 'workstation'; "),
        (("nobody-at-all", "--web"), "rolellm: There is no persona 'nobody-at-all'; "),
        (("ada", "--port", "8000"), "It requires --web."),
        (("ada", "--host", "localhost"), "It requires --web."),
        (("ada", "--web", "--plain"), "It cannot be combined with --web."),
    ],
)
def test_what_cannot_be_served_is_told_before_anything_is(arguments: Sequence[str], complaint: str) -> None:
    write_persona()

    said: subprocess.CompletedProcess[str] = rolellm("chat", *arguments)

    assert (said.returncode, said.stdout) == (2, "")
    assert complaint in said.stderr
