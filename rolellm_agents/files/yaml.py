"""Read YAML files that users write, and report errors with their line.

Files may be untrusted. Their size and depth are checked before any object is built, only plain data is
built, and aliases (with which a small file can expand to gigabytes) and duplicate keys are errors. Numbers
are those of YAML 1.2, decimal or hexadecimal with `0x`, of at most `MAX_DIGITS` characters. YAML 1.1's
other forms, such as base 60 (`1:30`) and `1_000`, are text.
"""

import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from yaml.reader import Reader

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.text import did_you_mean

MAX_BYTES = 8_000_000
MAX_DEPTH = 50
MAX_VALUES = 1_000_000
"""The most keys and values; 8 MB of empty lists would take gigabytes of memory."""
MAX_DIGITS = 300
"""The most characters of a number; the time to convert longer ones grows with the square of the length."""

Model = TypeVar("Model", bound=BaseModel)
_Location = tuple[int | str, ...]
# The loader in C is ten times as fast, but not all installations have it.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KEY = "[key]"
"""Pydantic's mark for an error in a key instead of its value."""
_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("map", "seq", "str")}
_TEXT_TAG = "tag:yaml.org,2002:str"
_INTEGER_TAG = "tag:yaml.org,2002:int"
_FLOAT_TAG = "tag:yaml.org,2002:float"
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|[0-9]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_FINITE_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class _Complaint(yaml.YAMLError):
    """An error on a line."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")


def read_yaml(path: Path, model: type[Model], failure: type[RoleLLMError]) -> Model:
    """Read `path` and validate it as `model`.

    The file is UTF-8 and has at most `MAX_BYTES` bytes. `failure` is the class of errors to raise.

    Raises:
        RoleLLMError: as `failure`, in one sentence with the file, the line and the key.
    """
    return parse_yaml(read_text(path, failure), path, model, failure)


def parse_yaml(text: str, path: Path, model: type[Model], failure: type[RoleLLMError]) -> Model:
    """Validate a text as `model`, as `read_yaml` does with the text of a file.

    `path` names the text in messages.

    Raises:
        RoleLLMError: as `failure`, in one sentence with the file, the line and the key.
    """
    if (size := len(text.encode(errors="surrogatepass"))) > MAX_BYTES:
        raise failure(_too_large(path, size))
    try:
        root = composed(text)
        data = None if root is None else plain_data(root)
    except yaml.YAMLError as error:
        raise failure(f"{path}{_yaml_complaint(error)}.") from error
    if not isinstance(data, dict):
        raise failure(f"{path} must hold keys and values, as in “name: …”.")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise failure(_validation_complaint(path, root, model, error)) from error


def composed(text: str) -> yaml.Node | None:
    """The nodes of a YAML text, with their places in it; None for an empty text.

    Raises:
        yaml.YAMLError: the text cannot be read.
    """
    _check_events(text)
    return yaml.compose(text, Loader=_Loader)


def line_of(text: str, location: Sequence[int | str]) -> int:
    """The line of the value at a location, or of the innermost part of it that the text contains; from 1.

    Raises:
        yaml.YAMLError: the text cannot be read.
    """
    return _place(composed(text), tuple(location))[1]


def plain_data(source: str | yaml.Node) -> Any:
    """The data of a YAML text or node, by the same rules as `parse_yaml`, without a model.

    Raises:
        yaml.YAMLError: the text cannot be read.
    """
    if isinstance(source, yaml.Node):
        return _build(_Loader(""), source)
    root = composed(source)
    return None if root is None else _build(_Loader(""), root)


def read_text(path: Path, failure: type[RoleLLMError]) -> str:
    """The text of a YAML file, of at most `MAX_BYTES` bytes.

    Raises:
        RoleLLMError: as `failure`: the file cannot be read, is too large, or is not UTF-8.
    """
    try:
        about = path.stat()
        if stat.S_ISFIFO(about.st_mode) or stat.S_ISCHR(about.st_mode):
            raise failure(f"{path} is not a file, so its size is unknown; name a file.")
        if about.st_size > MAX_BYTES:
            raise failure(_too_large(path, about.st_size))
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise failure(f"{path} is not UTF-8 text; save it as UTF-8.") from error
    except OSError as error:
        raise failure(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise failure(f"{path} cannot be read: {error}.") from error


def _too_large(path: Path, size: int) -> str:
    return f"{path} is too large: {size:,} bytes, at most {MAX_BYTES:,} are read."


def _check_events(text: str) -> None:
    """Raise on forbidden content before any object is built; parser events do not recurse."""
    if forbidden := Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, forbidden.start()) + 1
        raise _Complaint(line, f"the control character {forbidden.group()!r} is not allowed")
    depth = values = 0
    for event in yaml.parse(text, Loader=_Loader):
        values += isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent)
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise _Complaint(line, "aliases (*name) are not allowed")
        if values > MAX_VALUES:
            raise _Complaint(line, f"it holds too many values; at most {MAX_VALUES:,} are read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _Complaint(line, f"it is nested too deeply; at most {MAX_DEPTH} levels are read")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _build(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    """Build plain data from a node: dictionaries with text keys, lists and scalars."""
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        return _scalar(loader, node, line)
    if node.tag not in _PLAIN_TAGS:
        raise _Complaint(line, f"the tag {node.tag!r} is not allowed")
    if isinstance(node, yaml.SequenceNode):
        return [_build(loader, item) for item in node.value]
    data: dict[str, Any] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.tag != _TEXT_TAG or not isinstance(key.value, str):
            raise _Complaint(line, "a key must be text (put it in quotes)")
        if key.value in data:
            raise _Complaint(line, f"the key {key.value!r} occurs twice")
        data[key.value] = _build(loader, value)
    return data


def _scalar(loader: yaml.SafeLoader, node: yaml.ScalarNode, line: int) -> Any:
    if node.tag in (_INTEGER_TAG, _FLOAT_TAG):
        return _number(loader, node.value, line)
    try:
        return loader.construct_object(node)
    except yaml.MarkedYAMLError:
        raise
    except Exception as error:
        # The library's constructors pass on the errors of date() and similar functions.
        raise _unreadable(node.value, line) from error


def _number(loader: yaml.SafeLoader, written: str, line: int) -> int | float | str:
    """The number that is written, or the text where only YAML 1.1 reads a number."""
    if len(written) > MAX_DIGITS:
        raise _Complaint(
            line,
            f"the number {written[:20]}… has {len(written):,} characters, at most {MAX_DIGITS} are read "
            "(a text needs quotes)",
        )
    if _INTEGER.fullmatch(written):
        return int(written, 16 if "x" in written else 10)
    if _FLOAT.fullmatch(written):
        return float(written)
    if _NO_FINITE_NUMBER.fullmatch(written):
        return float(written.replace(".", ""))
    resolved = loader.resolve(yaml.ScalarNode, written, (True, False))  # type: ignore[no-untyped-call]
    if resolved in (_INTEGER_TAG, _FLOAT_TAG):
        return written
    raise _unreadable(written, line)


def _unreadable(value: str, line: int) -> _Complaint:
    return _Complaint(line, f"the value {value[:40]!r} cannot be read")


def _yaml_complaint(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f", line {error.problem_mark.line + 1}: {error.problem}"
    return ", " + " ".join(str(error).split())


def _validation_complaint(
    path: Path, root: yaml.Node | None, model: type[BaseModel], error: ValidationError
) -> str:
    problems = error.errors(include_url=False)
    # A key that is misspelt is also missing under its own name.
    problems.sort(key=lambda problem: problem["type"] == "missing")
    location, line = _place(root, problems[0]["loc"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{path}, line {line}: {_in_words(problems[0], location, model)}{more}."


def _in_words(problem: ErrorDetails, location: _Location, model: type[BaseModel]) -> str:
    key = _dotted(location)
    given = problem["input"]
    match problem["type"]:
        case "extra_forbidden":
            if len(location) > 1:
                return f"unknown key {key!r}"
            known = f" (known: {', '.join(model.model_fields)})"
            return f"unknown key {key!r}{did_you_mean(key, model.model_fields) or known}"
        case "missing":
            return f"the key {key!r} is missing"
        case "string_type" if given is None:
            return f"{key!r} is empty; give it a text"
        case "string_type":
            hint = " (put it in quotes)" if isinstance(given, bool | int | float) else ""
            return f"{key!r} must be text, not {_kind(given)}{hint}"
        case "value_error" if not key:  # of the whole file
            return str(problem["ctx"]["error"])
        case "value_error":
            return f"{key!r}: {problem['ctx']['error']}"
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


def _place(root: yaml.Node | None, location: _Location) -> tuple[_Location, int]:
    """The keys and indices of `location`, and the line of the innermost one that the file contains.

    Others are skipped: pydantic inserts marks, such as the member of a union that it tried.
    """
    node, line = root, 1
    found: list[int | str] = []
    for place, part in enumerate(location):
        child = _child(node, part)
        if child is not None:
            found.append(part)
            node, line = child
        elif place == len(location) - 1 and part != _KEY:
            found.append(part)  # the key that is missing
    return tuple(found), line


def _child(node: yaml.Node | None, part: int | str) -> tuple[yaml.Node, int] | None:
    """The value of a key or an index, and the line on which it begins."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == part:
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line + 1
    return None
