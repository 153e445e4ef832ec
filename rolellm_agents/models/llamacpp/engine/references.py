"""The places in a JSON Schema to which its references point."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from rolellm_agents.errors import AnswerFormatError
from rolellm_agents.models.llamacpp.engine.schema_parts import Place, definitions_of, parts_of
from rolellm_agents.text import one_line

_SHOWN = 80
_DIGITS = 9


class References:
    """Finds the targets of references in one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        """Read nothing yet."""
        self._root = root
        self._places: dict[str, Place] = {}

    def place_of(self, ref: str) -> Place:
        """The place to which a reference points: one for each target, however it is written.

        Raises:
            AnswerFormatError: the reference is no pointer and no anchor, or it has no target.
        """
        if ref not in self._places:
            try:
                place = self._parsed(ref)
                self.at(place)
            except LookupError as error:
                raise AnswerFormatError(
                    f"The answer's schema refers to “{one_line(ref, _SHOWN)}”, which is not in it; add it."
                ) from error
            self._places[ref] = place
        return self._places[ref]

    def at(self, place: Place) -> Any:
        """The part of the schema at a place.

        Raises:
            LookupError: there is none.
        """
        target: Any = self._root
        for step in place:
            if isinstance(target, Mapping):
                target = target[step]
            elif isinstance(target, list) and _is_index(step):
                target = target[int(step)]
            else:
                raise LookupError(step)
        return target

    def _parsed(self, ref: str) -> Place:
        address, _, fragment = ref.partition("#")
        fragment = unquote(fragment)
        if address:
            raise LookupError(address)
        if fragment and not fragment.startswith("/"):
            return self._anchors[fragment]
        steps = fragment.split("/")[1:]
        return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)

    @cached_property
    def _anchors(self) -> dict[str, Place]:
        return dict(_anchors(self._root))


def _anchors(root: Mapping[str, Any]) -> Iterator[tuple[str, Place]]:
    waiting: list[tuple[Place, Any]] = [((), root)]
    while waiting:
        place, schema = waiting.pop()
        if isinstance(schema, Mapping) and isinstance(schema.get("$anchor"), str):
            yield schema["$anchor"], place
        for parts in (parts_of(schema), definitions_of(schema)):
            waiting += [((*place, *within), part) for within, part in parts]


def _is_index(step: str) -> bool:
    """Whether a step of a pointer is a place in a list; leading zeros would give one place two names."""
    return step.isascii() and step.isdecimal() and len(step) < _DIGITS and str(int(step)) == step
