"""All browser tabs: which process belongs to which tab, and how long it waits for its page."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from rolellm_tui.web.tab import Tab

_GRACE = 60.0
"""Seconds that an app waits for a page, while the page is reloaded or the network is gone."""
_MOST_WAITING = 4
"""Apps that wait at the same time; each may hold a model."""
_MOST_PLACES = 500
"""Tabs without a process whose places are remembered."""


class Tabs:
    """The apps of browser tabs, by the tabs' ids.

    A page names its tab by an id of 32 hexadecimal digits. If the page goes, the app waits for it to come
    back. If the app has ended, another process begins at the same place. The app of a page without an id
    ends with the page.
    """

    def __init__(self, new_tab: Callable[[str], Tab]) -> None:
        """Begin without tabs.

        Args:
            new_tab: creates a tab at a place.
        """
        self._new_tab = new_tab
        self._by_id: dict[str, Tab] = {}
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._places: dict[str, str] = {}

    @asynccontextmanager
    async def shown(
        self, name: str, websocket: web.WebSocketResponse, width: int, height: int
    ) -> AsyncIterator[Tab]:
        """Show the app of a tab in a page while the context lasts.

        Args:
            name: the tab's id as the page tells it, which may be anything.
            websocket: the connection to the page.
            width: of its terminal, in cells.
            height: of its terminal, in cells.
        """
        name = name if _is_id(name) else f"page {secrets.token_hex()}"
        tab = await self._tab(name)
        try:
            await tab.show_in(websocket, width, height)
            yield tab
        finally:
            await self._leave(name, tab, websocket)

    async def _tab(self, name: str) -> Tab:
        if waiting := self._waiting.pop(name, None):
            waiting.cancel()
        if (known := self._by_id.get(name)) is not None and known.has_ended:
            self._end(name)
        while ending := self._ending.get(name):
            await asyncio.wait([ending])
        if name not in self._by_id:
            self._by_id[name] = self._new_tab(self._places.pop(name, ""))
        return self._by_id[name]

    async def _leave(self, name: str, tab: Tab, websocket: web.WebSocketResponse) -> None:
        """Let the app wait, or end, unless another page shows it."""
        tab.leave(websocket)
        if tab.is_shown or self._by_id.get(name) is not tab:
            return
        if tab.has_ended or not _is_id(name):
            await asyncio.wait([self._end(name)])
            return
        self._waiting[name] = asyncio.get_running_loop().call_later(_GRACE, self._end, name)
        if len(self._waiting) > _MOST_WAITING:
            self._end(next(iter(self._waiting)))

    async def end_all(self) -> None:
        """End all apps."""
        for name in list(self._by_id):
            self._end(name)
        if self._ending:
            await asyncio.wait(self._ending.values())

    def _end(self, name: str) -> asyncio.Task[None]:
        """End the app of a tab, and remember its place."""
        if waiting := self._waiting.pop(name, None):
            waiting.cancel()
        tab = self._by_id.pop(name)
        task = self._ending[name] = asyncio.create_task(self._stop(name, tab))
        return task

    async def _stop(self, name: str, tab: Tab) -> None:
        try:
            await tab.stop()
        finally:
            del self._ending[name]
            if _is_id(name):
                self._places[name] = tab.place
            if len(self._places) > _MOST_PLACES:
                del self._places[next(iter(self._places))]


def _is_id(text: str) -> bool:
    return re.fullmatch("[0-9a-f]{32}", text) is not None
