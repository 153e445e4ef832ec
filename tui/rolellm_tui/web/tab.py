"""The app of a browser tab, which outlives the pages that show it."""

import asyncio
import json
from contextlib import suppress

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from rolellm_tui.places import PLACE_VARIABLE
from rolellm_tui.web.driver import PLACE, SHOW_AGAIN

SHOWN_ELSEWHERE = 4001
"""The code of a connection that is closed because another page shows the app; `page.html` knows it."""
_PATIENCE = 5.0
"""Seconds for an app to quit."""
_DRIVER = "rolellm_tui.web.driver:TabDriver"


class Tab(AppService):
    """A process with the app, and the page that shows it, if there is one."""

    def __init__(self, command: str, downloads: DownloadManager, place: str) -> None:
        """Create the tab; `show_in` starts the process.

        Args:
            command: the shell command of the app.
            downloads: for files from the app.
            place: where the app begins, as `Place.to_json` writes it; empty for its usual start.
        """
        super().__init__(
            command,
            write_bytes=self._draw,
            write_str=self._tell,
            close=self._leave_page,
            download_manager=downloads,
        )
        self.place = place
        """Where the user is."""
        self.has_ended = False
        """Whether the app has ended; its process may last a moment longer."""
        self._websocket: web.WebSocketResponse | None = None
        self._moving = asyncio.Lock()
        self._stopping = asyncio.Lock()

    @property
    def is_shown(self) -> bool:
        """Whether a page shows the app."""
        return self._websocket is not None

    async def show_in(self, websocket: web.WebSocketResponse, width: int, height: int) -> None:
        """Show the app in a page, and no longer in the one before; the first page starts the process.

        Args:
            websocket: the connection to the page.
            width: of its terminal, in cells.
            height: of its terminal, in cells.
        """
        async with self._moving:
            before, self._websocket = self._websocket, websocket
            if before is not None:
                await before.close(code=SHOWN_ELSEWHERE)
            if self._process is None:
                await self.start(width, height)
            else:
                await self.set_terminal_size(width, height)
                await self.send_meta({"type": SHOW_AGAIN})

    def leave(self, websocket: web.WebSocketResponse) -> None:
        """Show the app no longer in a page that is gone."""
        if self._websocket is websocket:
            self._websocket = None

    async def on_meta(self, data: bytes) -> None:
        """Handle a message of the app."""
        told = json.loads(data)
        if told["type"] == PLACE:
            self.place = told["place"]
            return
        self.has_ended = self.has_ended or told["type"] == "exit"
        await super().on_meta(data)

    async def run(self) -> None:
        """Forward output of the app until it ends, and close the page."""
        await super().run()
        self.has_ended = True
        await self.remote_close()

    async def stop(self) -> None:
        """Ask the app to quit, and kill it if it does not."""
        async with self._stopping:
            if (process := self._process) is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE):
                        await self.send_meta({"type": "quit"})
                        await process.wait()
                if process.returncode is None:
                    process.kill()
            await super().stop()
            if process is not None:
                # Its end is told by another thread; a loop that closes before leaves its pipes open.
                await process.wait()

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        """Environment of the app process."""
        environment = super()._build_environment(width, height)
        return environment | {"TEXTUAL_DRIVER": _DRIVER, PLACE_VARIABLE: self.place}

    # An app without a page, and one that is told to end, goes on drawing where nobody reads.

    async def _draw(self, data: bytes) -> None:
        if self._websocket is not None:
            with suppress(ConnectionResetError):
                await self._websocket.send_bytes(data)

    async def _tell(self, text: str) -> None:
        if self._websocket is not None:
            with suppress(ConnectionResetError):
                await self._websocket.send_str(text)

    async def _leave_page(self) -> None:
        if self._websocket is not None:
            await self._websocket.close()
