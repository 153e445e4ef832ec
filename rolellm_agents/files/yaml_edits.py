"""Change data in a YAML text, and leave comments, order, quotes and the text of all other values alone.

The changed values are replaced at their place in the text. The result is read again and compared with the
wanted data. Where a value cannot be replaced at its place, the key at the top level that holds it is
written anew.
"""

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import yaml

from rolellm_agents.files.yaml import composed, plain_data

_WIDTH = 97
_LONG = 70
"""Texts with more characters are written as folded blocks."""
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]*(?P<comment>[ \t]+#[^\n]*)?")


class _Edit(NamedTuple):
    """Characters to replace."""

    start: int
    end: int
    text: str


class _CannotEditError(Exception):
    """The value cannot be replaced at its place."""


def edited_yaml(text: str, wanted: Mapping[str, Any]) -> str:
    """The text with the least changes after which it holds `wanted`.

    Args:
        text: valid YAML with a mapping, as `parse_yaml` accepts it.
        wanted: plain data with text keys.

    Raises:
        ValueError: no text that holds this data can be written.
    """
    if plain_data(text) == wanted:
        return text
    for write in (_in_place, _by_top_key, lambda _, data: _dump(data)):
        try:
            result = write(text, wanted)
            if plain_data(result) == wanted:
                return result
        except (_CannotEditError, yaml.YAMLError):
            continue
    raise ValueError("the data cannot be written as YAML")


def _in_place(text: str, wanted: Mapping[str, Any]) -> str:
    return _Editor(text, is_fine=True).edited(wanted)


def _by_top_key(text: str, wanted: Mapping[str, Any]) -> str:
    return _Editor(text, is_fine=False).edited(wanted)


class _Editor:
    """Collects the edits of one text; `is_fine` says whether to edit inside of collections."""

    def __init__(self, text: str, *, is_fine: bool) -> None:
        self._text = text
        self._is_fine = is_fine
        self._edits: list[_Edit] = []

    def edited(self, wanted: Mapping[str, Any]) -> str:
        root = composed(self._text)
        if not isinstance(root, yaml.MappingNode) or root.flow_style:
            raise _CannotEditError
        self._mapping(root, wanted)
        result = self._text
        for edit in sorted(self._edits, reverse=True):
            result = result[: edit.start] + edit.text + result[edit.end :]
        return result

    def _value(self, node: yaml.Node, wanted: Any, replace: Callable[[], None]) -> None:
        """Edit inside of a collection where possible; else call `replace`."""
        if plain_data(node) == wanted and type(plain_data(node)) is type(wanted):
            return None
        if self._is_fine and isinstance(node, yaml.MappingNode) and isinstance(wanted, dict) and wanted:
            if not node.flow_style:
                return self._mapping(node, wanted)
            if [key.value for key, _ in node.value] == list(wanted):
                for key, value in node.value:
                    self._flow_value(value, wanted[key.value])
                return None
        elif self._is_fine and isinstance(node, yaml.SequenceNode) and isinstance(wanted, list) and wanted:
            if not node.flow_style:
                return self._sequence(node, wanted)
            if len(node.value) == len(wanted):
                for item, new in zip(node.value, wanted, strict=True):
                    self._flow_value(item, new)
                return None
        replace()
        return None

    def _flow_value(self, node: yaml.Node, wanted: Any) -> None:
        def replace() -> None:
            self._edits.append(_Edit(node.start_mark.index, node.end_mark.index, _flow(wanted)))

        self._value(node, wanted, replace)

    def _mapping(self, node: yaml.MappingNode, wanted: Mapping[str, Any]) -> None:
        present = {key.value: (key, value) for key, value in node.value}
        for name, (key, value) in present.items():
            if name in wanted:
                self._value(value, wanted[name], self._value_replacement(key, value, wanted[name]))
            elif self._is_first_of_item(node, key):
                raise _CannotEditError  # its line holds the dash as well
            else:
                self._edits.append(
                    _Edit(self._line_start(key), self._line_end(_end(self._text, value)), "")
                )
        added = {name: value for name, value in wanted.items() if name not in present}
        if added:
            self._append(node.value[-1][1], _dump(added), node.start_mark.column)

    def _value_replacement(self, key: yaml.Node, value: yaml.Node, wanted: Any) -> Callable[[], None]:
        def replace() -> None:
            colon = self._text.index(":", key.end_mark.index) + 1
            dumped = _restyled("k", value, wanted, _WIDTH - key.start_mark.column)[2:]
            self._replace(colon, value, _indented(dumped, key.start_mark.column))

        return replace

    def _sequence(self, node: yaml.SequenceNode, wanted: list[Any]) -> None:
        column = node.start_mark.column
        present = [repr(plain_data(item)) for item in node.value]
        matcher = SequenceMatcher(None, present, [repr(item) for item in wanted], autojunk=False)
        for tag, first, last, new_first, new_last in matcher.get_opcodes():
            if tag == "equal":
                continue
            common = min(last - first, new_last - new_first)
            for item, new in zip(node.value[first : first + common], wanted[new_first:], strict=False):
                self._value(item, new, self._item_replacement(node, item, new))
            for item in node.value[first + common : last]:
                start = self._dash(node, item)
                if self._text[self._start_of_line(start) : start].strip():
                    raise _CannotEditError
                end = self._line_end(_end(self._text, item))
                self._edits.append(_Edit(self._start_of_line(start), end, ""))
            if added := wanted[new_first + common : new_last]:
                dumped = _dump(added)
                if first + common:
                    self._append(node.value[first + common - 1], dumped, column)
                else:
                    self._insert(self._dash(node, node.value[0]), dumped, column)

    def _item_replacement(
        self, node: yaml.SequenceNode, item: yaml.Node, wanted: Any
    ) -> Callable[[], None]:
        def replace() -> None:
            column = node.start_mark.column
            dumped = _restyled(None, item, wanted, _WIDTH - column)[1:]
            self._replace(self._dash(node, item) + 1, item, _indented(dumped, column))

        return replace

    def _replace(self, start: int, old: yaml.Node, dumped: str) -> None:
        """Replace a value from `start` on, and keep the comment in its line."""
        end = max(_end(self._text, old), start)
        rest = self._text[end : self._end_of_line(end)]
        comment = rest if rest.strip() else ""
        if isinstance(old, yaml.ScalarNode) and old.style in ("|", ">"):
            header = _BLOCK_HEADER.match(self._text, old.start_mark.index)
            comment = (header and header["comment"]) or ""
        first, *others = dumped.split("\n")
        if comment and others and re.fullmatch(r"[ \t]*([|>][-+0-9]*)?", first):
            first += comment
            comment = ""
        self._edits.append(_Edit(start, end + len(rest), "\n".join([first, *others]) + comment))

    def _append(self, last: yaml.Node, dumped: str, column: int) -> None:
        """Insert lines after a value."""
        end = self._line_end(_end(self._text, last))
        break_ = "" if self._text[:end].endswith("\n") else "\n"
        self._edits.append(_Edit(end, end, break_ + " " * column + _indented(dumped, column) + "\n"))

    def _insert(self, before: int, dumped: str, column: int) -> None:
        if self._text[self._start_of_line(before) : before].strip():
            raise _CannotEditError
        start = self._start_of_line(before)
        self._edits.append(_Edit(start, start, " " * column + _indented(dumped, column) + "\n"))

    def _dash(self, node: yaml.SequenceNode, item: yaml.Node) -> int:
        """The index of the dash before an item."""
        column, start = node.start_mark.column, item.start_mark.index
        line = self._start_of_line(start)
        while line >= self._start_of_line(node.start_mark.index):
            at = line + column
            is_first = at == node.start_mark.index
            if self._text[at : at + 1] == "-" and (is_first or not self._text[line:at].strip()):
                return at
            line = self._start_of_line(line - 1) if line else -1
        raise _CannotEditError

    def _is_first_of_item(self, node: yaml.MappingNode, key: yaml.Node) -> bool:
        start: int = key.start_mark.index
        return bool(self._text[self._start_of_line(start) : start].strip())

    def _line_start(self, node: yaml.Node) -> int:
        return self._start_of_line(node.start_mark.index)

    def _start_of_line(self, index: int) -> int:
        return self._text.rfind("\n", 0, index) + 1

    def _end_of_line(self, index: int) -> int:
        end = self._text.find("\n", index)
        return len(self._text) if end < 0 else end

    def _line_end(self, index: int) -> int:
        """The index after the line break."""
        return min(self._end_of_line(index) + 1, len(self._text))


def _end(text: str, node: yaml.Node) -> int:
    """The index after the last visible character of a value; marks lie behind comments that follow."""
    if isinstance(node, yaml.ScalarNode):
        start, end = node.start_mark.index, node.end_mark.index
        return start + len(text[start:end].rstrip()) if node.style in ("|", ">") else int(end)
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(text, last[1] if isinstance(last, tuple) else last)


def _indented(dumped: str, column: int) -> str:
    """All lines but the first moved to a column, without the line break at the end."""
    first, *others = dumped.rstrip("\n").split("\n")
    return "\n".join([first, *(" " * column + line if line else line for line in others)])


class _Text(str):
    """A text with the style in which it was written."""

    style: str | None = None


def _restyled(key: str | None, old: yaml.Node, wanted: Any, width: int) -> str:
    """`wanted` as the value of a key or of an item of a list, in the style of the old value."""
    # An empty collection has brackets in any style.
    is_flow = isinstance(old, yaml.CollectionNode) and old.flow_style and old.value
    if is_flow and isinstance(wanted, dict | list):
        return f"{'-' if key is None else f'{key}:'} {_flow(wanted)}"
    if isinstance(old, yaml.ScalarNode) and isinstance(wanted, str):
        wanted = _Text(wanted)
        # A short plain text that has grown becomes a block.
        wanted.style = old.style or _style(wanted)
    return _dump([wanted] if key is None else {key: wanted}, width)


def _style(text: str) -> str | None:
    if text != text.strip():
        return None
    if "\n" in text:
        return "|"
    return ">" if len(text) > _LONG else None


def _dump(data: Any, width: int = _WIDTH) -> str:
    dumped: str = yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=width)
    return dumped


def _flow(value: Any) -> str:
    dumped: str = yaml.dump(
        [value],
        Dumper=_FlowDumper,
        default_flow_style=True,
        allow_unicode=True,
        sort_keys=False,
        width=1_000_000,
    )
    return dumped.strip()[1:-1]


class _FlowDumper(yaml.SafeDumper):
    """Dumps without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Dumper(_FlowDumper):
    """Dumps lists indented, and long texts as blocks."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, False)


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = text.style if isinstance(text, _Text) else _style(text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style=style)


_Dumper.add_representer(str, _represent)
_Dumper.add_representer(_Text, _represent)
