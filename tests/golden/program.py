"""How the golden files run the program: its commands in this process, and what its models are sent.

The other modules of this folder read their inputs from here and give texts back, by file name.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.here import rolellm_here
from helpers.user_files import write_persona
from langchain_core.messages import BaseMessage

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import RecordingChatModel

INPUTS = Path(__file__).with_name("inputs")

Files = dict[str, str]
"""Texts by the names of the files they are recorded in."""
Prompt = dict[str, Any]

_VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|\+00:00| UTC)?"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d ?@ ?\d\dh ?\d\dm ?\d\ds( ?\d+ms)?"), "<time>"),
    (re.compile(r"[A-Z][a-z]+ \d{1,2}, \d{4} \d{1,2}:\d\d ?[ap]m"), "<time>"),
    (re.compile(r'"(seconds|ms|\w+_s)": [\d.]+'), r'"\1": "<time>"'),
    (re.compile(r'\\"(seconds|\w+_s)\\":[\d.]+'), r'\\"\1\\":<time>'),
    (re.compile(r"^\| seconds \|.*|<td class=\"words\">seconds</td>.*", re.MULTILINE), "<seconds>"),
    (
        re.compile(r"answers in [\d.]+ s, [\d.]+ a second(, [\d.]+ tokens a second)?"),
        "answers in <time>",
    ),
)


def input_text(name: str) -> str:
    """The text of a file under `inputs`."""
    return (INPUTS / name).read_text(encoding="utf-8")


def write_cast() -> None:
    """Put the inputs' personas into the user's folder: `holmes`, `libai` and the imported card `ada`."""
    for name in ("holmes", "libai"):
        write_persona(input_text(f"{name}.yaml"), f"{name}.yaml")
    command("persona", "import", str(INPUTS / "keeper.json"))


def command(*arguments: str, may_find: bool = False) -> str:
    """What `rolellm` prints; it must succeed, unless finding something is what it is for."""
    done = rolellm_here(*arguments)
    assert done.returncode == 0 or (may_find and not done.stderr), (arguments, done.stdout, done.stderr)
    return done.stdout


@contextmanager
def recorded_prompts() -> Iterator[list[Prompt]]:
    """Note every prompt that a scripted model is sent, in order."""
    prompts: list[Prompt] = []
    answer = vars(RecordingChatModel)["_chunks"]

    def note(
        model: RecordingChatModel,
        messages: Sequence[BaseMessage],
        stop: Sequence[str] | None,
        options: Mapping[str, Any],
        should_stop: Callable[[], bool],
    ) -> Any:
        plain = {key: value for key, value in options.items() if _is_plain(value)}
        prompts.append({"messages": shown(messages), "stop": stop, "options": plain})
        return answer(model, messages, stop, options, should_stop)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RecordingChatModel, "_chunks", note)
        yield prompts


def shown(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages as JSON: who speaks, under what name, the text, and our marks."""
    return [
        {
            "role": message.type,
            **({"name": message.name} if message.name else {}),
            **({"marks": message.additional_kwargs} if message.additional_kwargs else {}),
            "content": message.text,
        }
        for message in messages
    ]


def as_json(value: Any) -> str:
    """JSON as the golden files have it; the order of keys is the program's."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


class Plain:
    """Takes out of a text what differs from run to run: places, times and ids that are drawn.

    An id becomes its number in the order in which ids are seen, so that what refers to what is still told.
    """

    def __init__(self, place: Path, ids: Sequence[str] = ()) -> None:
        """Begin to number.

        Args:
            place: the folder that all files of this run are in.
            ids: that the program has drawn, in an order that is always the same.
        """
        self._place = place
        self._ids = {one: f"<id {number}>" for number, one in enumerate(dict.fromkeys(ids), 1)}

    def __call__(self, text: str) -> str:
        """The text without them."""
        for folder, name in ((user_paths().personas.parent, "<home>"), (self._place, "<place>")):
            # In Markdown an underscore is escaped.
            text = text.replace(str(folder), name).replace(str(folder).replace("_", r"\_"), name)
        for id_, name in self._ids.items():
            text = text.replace(id_, name)
        for pattern, name in _VOLATILE:
            text = pattern.sub(name, text)
        return text


def without(value: Any, keys: Sequence[str]) -> Any:
    """A JSON value in which all that stands under some keys is only told to be there."""
    if isinstance(value, dict):
        return {key: "<left out>" if key in keys else without(one, keys) for key, one in value.items()}
    return [without(one, keys) for one in value] if isinstance(value, list) else value


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True
