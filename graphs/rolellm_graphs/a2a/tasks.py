"""The tasks that clients can ask for again, within bounds."""

from collections import OrderedDict

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import Artifact, Part, Task, TaskState

_KEPT = 1024
_RUNNING = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)


class BoundedTaskStore(InMemoryTaskStore):
    """Keeps the tasks that changed last, of all clients together; running tasks are always kept."""

    def __init__(self, kept: int = _KEPT) -> None:
        """Create an empty store.

        Args:
            kept: the maximum number of tasks.
        """
        super().__init__()
        self._kept = kept
        self._saved: OrderedDict[str, tuple[bool, ServerCallContext]] = OrderedDict()

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Save a task, each artifact's text in one part, and forget the oldest."""
        for artifact in task.artifacts:
            _join_text(artifact)
        await super().save(task, context)
        self._saved[task.id] = (task.status.state in _RUNNING, context)
        self._saved.move_to_end(task.id)
        ended = [name for name, (is_running, _) in self._saved.items() if not is_running]
        for name in ended[: max(0, len(self._saved) - self._kept)]:
            _, owner = self._saved.pop(name)
            await super().delete(name, owner)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Delete a task."""
        self._saved.pop(task_id, None)
        await super().delete(task_id, context)


def _join_text(artifact: Artifact) -> None:
    """Join the pieces of a streamed answer: clients read an artifact's parts as separate paragraphs."""
    if len(artifact.parts) > 1 and all(part.WhichOneof("content") == "text" for part in artifact.parts):
        text = "".join(part.text for part in artifact.parts)
        del artifact.parts[:]
        artifact.parts.append(Part(text=text))
