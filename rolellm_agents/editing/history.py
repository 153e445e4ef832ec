"""The states of a form, for undo and redo."""

from collections.abc import Callable

from rolellm_agents.editing.form import Data, Path


class EditHistory:
    """A sequence of states. Changes of one value in a row count as one step."""

    def __init__(self, data: Data) -> None:
        """Begin with a state."""
        self.data = data
        """The present state."""
        self._past: list[Data] = []
        self._future: list[Data] = []
        self._last: Path | None = None

    def change(self, data: Data, path: Path | None = None) -> None:
        """Add a state; `path` is the value that was typed, None for a step of its own."""
        if path is None or path != self._last:
            self._past.append(self.data)
        self._last = path
        self._future.clear()
        self.data = data

    def amend(self, amended: Callable[[Data], Data]) -> None:
        """Change all states, by what no undo may revert."""
        self.data = amended(self.data)
        self._past[:] = map(amended, self._past)
        self._future[:] = map(amended, self._future)

    def undo(self) -> bool:
        """Return to the state before; False if there is none."""
        return self._step(self._past, self._future)

    def redo(self) -> bool:
        """Return to the state that was undone; False if there is none."""
        return self._step(self._future, self._past)

    def _step(self, source: list[Data], target: list[Data]) -> bool:
        if not source:
            return False
        target.append(self.data)
        self.data = source.pop()
        self._last = None
        return True
