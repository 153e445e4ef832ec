"""The app in a browser: one process per tab, protected by a token."""

import asyncio
import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import jinja2
from aiohttp import web
from aiohttp.typedefs import Handler
from textual_serve.server import Server, to_int

from rolellm_agents.files.ports import listen
from rolellm_tui.output import complain, print_text
from rolellm_tui.web.door import Door
from rolellm_tui.web.tab import Tab
from rolellm_tui.web.tabs import Tabs

_PATIENCE = 5.0
"""Seconds for requests to end when the server does."""
_HEARTBEAT = 15.0
"""Seconds between pings to the browser."""
_GOODBYE = 1.0
"""Seconds for a browser to confirm that a connection is closed."""
_FONT_SIZES = range(8, 49)

_NEEDS_THE_LINK = "Open the link that rolellm printed at startup."
_WRONG_HOST = "Unknown host name; open the link that rolellm printed at startup."
_WRONG_ORIGIN = "Only the page that rolellm serves may connect to it."
_WARNING = (
    "Anyone with this link can use your models and read your conversations. The connection is not "
    "encrypted."
)

# The page loads nothing from other servers, and no other page may embed it.
# The terminal in the page sets styles of its own.
_POLICY = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self' ws://{host}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_NOT_KEPT = {"Cache-Control": "no-store"}
# With an HTTP redirect, browsers would not send the cookie if the link was followed from a page of another
# site, because they treat the whole chain as a cross-site request.
_GO_IN = '<!DOCTYPE html><meta http-equiv="refresh" content="0; url={path}"><title>RoleLLM</title>'


def this_program(arguments: Sequence[str]) -> list[str]:
    """The command line that runs `rolellm` with these arguments in another process."""
    return [sys.executable, "-P", "-c", "from rolellm_tui.cli.main import main; main()", *arguments]


async def serve(arguments: Sequence[str], *, host: str, port: int | None) -> None:
    """Serve the app until a signal arrives, then end all tabs.

    Args:
        arguments: the arguments of `rolellm` for the app in each tab.
        host: a host name or address of this machine.
        port: the port, as for `listen`.

    Raises:
        SettingsError: the address or the port cannot be used.
    """
    with listen(host, port) as listener:
        door = Door(host, listener.getsockname()[1])
        application = AppServer(this_program(arguments), door).application()
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=_PATIENCE)
        try:
            await runner.setup()
            await web.SockSite(runner, listener).start()
            if not door.is_on_loopback:
                complain(_WARNING)
            print_text(f"{door.link}\nOpen this link in a browser. Press Ctrl-C to stop.")
            await _until_ended()
        finally:
            await runner.cleanup()


async def _until_ended() -> None:
    """Wait until a signal cancels the task."""
    task = asyncio.current_task()
    if task is not None and sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await asyncio.Event().wait()


class AppServer(Server):
    """textual-serve's server with access control, and a page that loads no external resources."""

    def __init__(self, program: Sequence[str], door: Door) -> None:
        """Create the server.

        Args:
            program: the command line that each tab runs.
            door: the address and the token.
        """
        super().__init__(_as_shell_command(program), host=door.host, port=door.port)
        self._door = door
        self._tabs = Tabs(self._new_tab)

    def application(self) -> web.Application:
        """Create the aiohttp application with its request handlers."""
        path = self._door.path
        application = web.Application(middlewares=[self._let_in])
        application.add_routes(
            [
                web.get(path, self.handle_index),
                web.get(f"{path}ws", self.handle_websocket),
                web.get(f"{path}download/{{key}}", self.handle_download),
                web.static(f"{path}static", self.statics_path),
            ]
        )
        application.on_response_prepare.append(self._add_headers)
        application.on_shutdown.append(self.on_shutdown)
        return application

    async def on_shutdown(self, app: web.Application) -> None:
        """End all tabs."""
        await self._tabs.end_all()

    async def handle_index(self, request: web.Request) -> web.Response:
        """The terminal page; a URL with the token sets the cookie and redirects."""
        if "token" in request.query:
            door = self._door
            to_page = _GO_IN.format(path=door.path)
            first = web.Response(text=to_page, content_type="text/html", headers=_NOT_KEPT)
            first.set_cookie(door.cookie, door.token, path=door.path, httponly=True, samesite="Strict")
            return first
        size = to_int(request.query.get("fontsize", ""), 16)
        nonce = secrets.token_urlsafe(16)
        page = self._page.render(
            host=request.host,
            path=self._door.path,
            nonce=nonce,
            font_size=min(max(size, _FONT_SIZES[0]), _FONT_SIZES[-1]),
        )
        policy = _POLICY.format(nonce=nonce, host=request.host)
        headers = {"Content-Security-Policy": policy} | _NOT_KEPT
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Show the app of the page's tab for as long as the page is connected."""
        websocket = web.WebSocketResponse(heartbeat=_HEARTBEAT, timeout=_GOODBYE)
        await websocket.prepare(request)
        width, height = (to_int(request.query.get(name, ""), 0) for name in ("width", "height"))
        name = request.query.get("tab", "")
        try:
            async with self._tabs.shown(name, websocket, width or 80, height or 24) as tab:
                await self._process_messages(websocket, tab)
        finally:
            await websocket.close()
        return websocket

    def _new_tab(self, place: str) -> Tab:
        return Tab(self.command, self.download_manager, place)

    @cached_property
    def _page(self) -> jinja2.Template:
        source = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
        return jinja2.Environment(autoescape=True).from_string(source)

    @web.middleware
    async def _let_in(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Middleware that rejects requests without the token."""
        if refusal := self._refusal(request):
            return web.Response(status=403, text=refusal + "\n")
        return await handler(request)

    def _refusal(self, request: web.Request) -> str | None:
        if not self._door.is_called(request.host):
            return _WRONG_HOST
        # Browsers tell it of every WebSocket, and of other requests where it matters.
        origin = f"http://{request.host}"
        if (
            request.headers.get("Origin", "" if request.path == f"{self._door.path}ws" else origin)
            != origin
        ):
            return _WRONG_ORIGIN
        in_url = request.query.get("token") if request.path == self._door.path else None
        token = request.cookies.get(self._door.cookie, "") if in_url is None else in_url
        return None if self._door.opens_with(token) else _NEEDS_THE_LINK

    async def _add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)


def _as_shell_command(program: Sequence[str]) -> str:
    """The shell command for textual-serve; `exec` replaces the shell."""
    return subprocess.list2cmdline(program) if os.name == "nt" else f"exec {shlex.join(program)}"
