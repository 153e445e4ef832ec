"""A text area with Vim keys."""

from dataclasses import replace

from textual import events
from textual.reactive import var

from rolellm_tui.widgets.common.writing_area import WritingArea
from rolellm_tui.widgets.vim.machine import VimState, left_insert, pressed, snapshot, state_of

_MOVES = {"left": "h", "backspace": "h", "right": "l", "space": "l", "home": "0", "end": "$", "delete": "x"}
"""Keys with another name in normal mode."""


class VimArea(WritingArea):
    """A text area that has Vim's normal and insert mode if `vim_keys` is set; its subtitle is the mode."""

    vim_keys: var[bool] = var(False)

    _vim = VimState()

    def watch_vim_keys(self) -> None:
        """Begin in insert mode."""
        self.forget_vim()

    def forget_vim(self) -> None:
        """Begin in insert mode, with nothing to undo."""
        before, state = state_of(VimState(), self.text, self.cursor_location), self._vim
        self._vim = replace(
            before, register=state.register, find=state.find, before_insert=snapshot(before)
        )
        self._show_mode()

    def begin_writing(self) -> None:
        """Take the next letters as text."""
        if self._in_normal_mode:
            self._show_vim(pressed(replace(self._now, typed=""), "i"))

    @property
    def _in_normal_mode(self) -> bool:
        return self.vim_keys and self._vim.mode == "normal"

    @property
    def _now(self) -> VimState:
        return state_of(self._vim, self.text, self.cursor_location)

    async def _on_key(self, event: events.Key) -> None:
        if self.vim_keys and self._take_key(event):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    def _take_key(self, event: events.Key) -> bool:
        """Whether the key is Vim's, which has then been handled."""
        letter = event.character if event.is_printable else None
        if event.key.startswith("alt+") and letter:
            # Terminals send Alt+e as Escape and e, and cannot tell it from the two keys.
            self._press_escape()
            return self._press(letter)
        if event.key == "escape":
            return self._press_escape()
        key = "ctrl+r" if event.key == "ctrl+r" else _MOVES.get(event.key) or letter
        return self._in_normal_mode and self._press(key)

    def _press_escape(self) -> bool:
        """Leave insert mode or an unfinished command; whether there was one."""
        if self._in_normal_mode:
            unfinished, self._vim = self._vim.typed, replace(self._vim, typed="")
            self._show_mode()
            return bool(unfinished)
        self._show_vim(left_insert(self._now))
        return True

    def _press(self, key: str | None) -> bool:
        if key is None:
            return False
        self._show_vim(pressed(self._now, key))
        return True

    def _show_vim(self, state: VimState) -> None:
        self._vim = state
        self._show_mode()
        if state.text != self.text:
            self.replace(state.text, (0, 0), self.document.end)
        self.move_cursor(state.cursor)

    def _show_mode(self) -> None:
        mode = f"{self._vim.mode.upper()} {self._vim.typed}".rstrip()
        self.border_subtitle = mode if self.vim_keys else ""
