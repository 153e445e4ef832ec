"""Read a YAML file written by a person, and say on which line it is wrong.

Files may come from strangers: size is bounded before parsing, only plain data is built, aliases
(which can blow up a small file) are refused, and so is a key that stands twice.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rolellm_agents.errors import RoleLLMError

MAX_BYTES = 1_000_000

Model = TypeVar("Model", bound=BaseModel)
_Location = tuple[int | str, ...]
_CONSTRUCTED: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_CONSTRUCTED):  # type: ignore[misc, valid-type]  # whichever of two loaders is there
    """A safe loader that knows no aliases."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.YAMLError(f"line {mark.line + 1}: aliases (*name) are not allowed")
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


def read_yaml(path: Path, model: type[Model], failure: type[RoleLLMError]) -> Model:
    """Read `path` and validate it as `model`.

    Args:
        path: a UTF-8 file of at most `MAX_BYTES` bytes.
        model: the pydantic model the document must fit.
        failure: the error to raise.

    Raises:
        RoleLLMError: as `failure`, in one sentence with the file, the line and the key.
    """
    text = _read_text(path, failure)
    try:
        root, data = _parse(text)
    except yaml.YAMLError as error:
        raise failure(f"{path}{_yaml_complaint(error)}.") from error
    except RecursionError as error:
        raise failure(f"{path} is nested too deeply to be read.") from error
    if not isinstance(data, dict):
        raise failure(f"{path} must hold keys and values, as in “name: …”.")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise failure(_validation_complaint(path, root, model, error)) from error


def _read_text(path: Path, failure: type[RoleLLMError]) -> str:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise failure(f"{path} is too large: {size:,} bytes, at most {MAX_BYTES:,} are read.")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise failure(f"{path} is not UTF-8 text; save it as UTF-8.") from error
    except OSError as error:
        raise failure(f"{path} cannot be read: {error.strerror}.") from error


def _parse(text: str) -> tuple[yaml.Node | None, Any]:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None, None
        _refuse_repeated_keys(root)
        return root, loader.construct_document(root)
    finally:
        loader.dispose()


def _refuse_repeated_keys(root: yaml.Node) -> None:
    for node in _walk(root):
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, _ in node.value:
                if key.value in seen:
                    line = key.start_mark.line + 1
                    raise yaml.YAMLError(f"line {line}: the key {key.value!r} stands twice")
                if isinstance(key.value, str):
                    seen.add(key.value)


def _walk(node: yaml.Node) -> Iterator[yaml.Node]:
    yield node
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _walk(key)
            yield from _walk(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _walk(item)


def _yaml_complaint(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f", line {error.problem_mark.line + 1}: {error.problem}"
    return ", " + " ".join(str(error).split())


def _validation_complaint(
    path: Path, root: yaml.Node | None, model: type[BaseModel], error: ValidationError
) -> str:
    problems = error.errors(include_url=False)
    first = problems[0]
    line = _line_of(root, first["loc"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{path}, line {line}: {_in_words(first, model)}{more}."


def _in_words(problem: ErrorDetails, model: type[BaseModel]) -> str:
    key = _dotted(problem["loc"])
    given = problem["input"]
    match problem["type"]:
        case "extra_forbidden":
            known = f" (known: {', '.join(model.model_fields)})" if len(problem["loc"]) == 1 else ""
            return f"unknown key {key!r}{known}"
        case "missing":
            return f"the key {key!r} is missing"
        case "string_type" if given is None:
            return f"{key!r} is empty; give it a text"
        case "string_type":
            hint = " (put it in quotes)" if isinstance(given, bool | int | float) else ""
            return f"{key!r} must be text, not {_kind(given)}{hint}"
        case _:
            return f"{key!r}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def _kind(value: object) -> str:
    kinds = {bool: "yes/no", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return kinds.get(type(value), f"a {type(value).__name__}")


def _dotted(location: _Location) -> str:
    dotted = ""
    for part in location:
        dotted += f"[{part}]" if isinstance(part, int) else f".{part}" if dotted else part
    return dotted


def _line_of(root: yaml.Node | None, location: _Location) -> int:
    """The line of the innermost part of `location` that stands in the file."""
    node, line = root, 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == part]
            if not found:
                break
            key, node = found[0]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            if part >= len(node.value):
                break
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line
