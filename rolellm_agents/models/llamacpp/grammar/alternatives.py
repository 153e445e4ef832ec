"""JSON Schema taken apart: references, `allOf`, `anyOf` and `oneOf` come down to a choice of shapes."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any
from urllib.parse import unquote

from rolellm_agents.models.llamacpp.grammar.comparing import apart
from rolellm_agents.models.llamacpp.grammar.keywords import Keywords, Schema, keywords_of
from rolellm_agents.models.llamacpp.grammar.rules import InexpressibleError
from rolellm_agents.models.llamacpp.grammar.shapes import Shape, shape_of

_MOST = 256
"""Alternatives at one place; llama.cpp follows them all at once."""
_Shapes = tuple[Shape, ...]


class Document:
    """One whole schema, in which references are looked up."""

    def __init__(self, root: Schema, *, roughly: bool = False) -> None:
        """Take a schema, which must not change from now on.

        Args:
            root: the whole.
            roughly: to compare shapes only: a reference within itself may be anything, and the
                alternatives of a `oneOf` are not compared in turn.
        """
        self._root = root
        self._rough = None if roughly else Document(root, roughly=True)
        self._known: dict[str, _Shapes] = {}
        self._being_known: set[str] = set()

    def shapes(self, schema: Schema, entered: tuple[str, ...] = ()) -> _Shapes:
        """The shapes of which a value must have one; none if no value will do.

        Args:
            schema: a part of the document, or put together from its parts.
            entered: references that are being looked up.

        Raises:
            InexpressibleError: it is wrong, or asks for what a grammar cannot promise.
        """
        if isinstance(schema, bool):
            return (Shape(),) if schema else ()
        words = keywords_of(schema)
        shapes: _Shapes = (shape_of(words),)
        if words.ref is not None:
            shapes = _products(shapes, self._referred(words.ref, entered))
        for part in words.all_of:
            shapes = _products(shapes, self.shapes(part, entered))
        if words.any_of is not None:
            shapes = _products(shapes, self._any_of(words.any_of, entered))
        if words.one_of is not None:
            shapes = _products(shapes, self._one_of(words, entered))
        return shapes

    def _any_of(self, parts: Iterable[Schema], entered: tuple[str, ...]) -> _Shapes:
        return tuple(shape for part in parts for shape in self.shapes(part, entered))

    def _one_of(self, words: Keywords, entered: tuple[str, ...]) -> _Shapes:
        options = [self.shapes(part, entered) for part in words.one_of or ()]
        if len(options) > _MOST:
            raise InexpressibleError(f"has more than {_MOST} alternatives; ask for less at once.")
        if words.discriminator is not None:
            # What tells the alternatives apart must be there to do so, though pydantic does not say it.
            tag = (Shape(required=(words.discriminator.property_name,)),)
            options = [_products(option, tag) for option in options]
        rough = self._rough
        for (first, some), (second, others) in combinations(enumerate(options, 1), 2):
            if rough is not None and not apart(some, others, rough.shapes):
                raise InexpressibleError(
                    f"has a oneOf whose alternatives {first} and {second} may both fit a value; use anyOf."
                )
        return tuple(shape for option in options for shape in option)

    def _referred(self, ref: str, entered: tuple[str, ...]) -> _Shapes:
        if ref in entered:
            raise InexpressibleError(f"has a “$ref” that leads back to itself, {ref}; take it out.")
        if ref in self._being_known:
            return (Shape(),)
        if ref not in self._known:
            self._being_known.add(ref)
            self._known[ref] = self.shapes(self._look_up(ref), (*entered, ref))
            self._being_known.remove(ref)
        return self._known[ref]

    def _look_up(self, ref: str) -> Schema:
        target: Any = self._root
        address, _, path = ref.partition("#")
        try:
            if address or (path and not path.startswith("/")):
                raise KeyError(ref)
            for step in unquote(path).split("/")[1:]:
                name = step.replace("~1", "/").replace("~0", "~")
                target = target[int(name)] if isinstance(target, list) else target[name]
        except (LookupError, ValueError, TypeError) as error:
            raise InexpressibleError(f"refers to {ref}, which is not in it; put it into $defs.") from error
        if not isinstance(target, bool | dict):
            raise InexpressibleError(f"refers to {ref}, which is no schema; put one there.")
        return target


def _products(some: _Shapes, others: _Shapes) -> _Shapes:
    """Each with each, as far as there are values of both."""
    met = tuple(shape for one in some for other in others if (shape := one.meet(other)).kinds)
    if len(met) > _MOST:
        raise InexpressibleError(f"has more than {_MOST} alternatives at one place; ask for less at once.")
    return met
