"""A Jinja sandbox whose renderings are bounded in time and memory.

Jinja's own sandbox keeps a template from Python, but not from looping without end or filling the memory.
Operators, calls and output pass through methods of the environment; filters and tests are wrapped; and
`counting` puts the rest into the syntax tree.
"""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from itertools import islice
from types import BuiltinMethodType
from typing import Any, Final

from jinja2 import TemplateError, nodes, pass_context
from jinja2.ext import Extension
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from rolellm_agents.models.llamacpp.jinja import growth
from rolellm_agents.models.llamacpp.jinja.counting import JOINED, SLICED, STEP, WEIGHED, CountingTransformer
from rolellm_agents.models.llamacpp.jinja.meter import (
    CONTAINERS,
    METER,
    SCALARS,
    LimitError,
    OperationMeter,
)

MOST_SOURCE: Final = 200_000
"""Characters of a template; the longest published one has 17,000."""
_FILTERS: Final = (
    "abs attr batch capitalize count d default dictsort e escape first float groupby indent int items join "
    "last length list lower map max min reject rejectattr replace reverse round safe select selectattr "
    "slice sort string title tojson trim truncate unique upper"
)
"""The names of the filters that templates may use; no published template uses another one of Jinja's."""
_SHALLOW: Final = (
    "attr",
    "count",
    "d",
    "default",
    "first",
    "items",
    "last",
    "length",
    "list",
    "reverse",
    "safe",
)
"""Filters that do not look into the values of a container."""
_COMPARING: Final = "== eq equalto != ne > gt greaterthan >= ge < lt lessthan <= le in"
"""Tests that look into the values of a container."""
_OF_JINJA: Final = frozenset({"_loop_vars", "_block_vars", "caller"})
"""Arguments that Jinja adds to calls."""
_MOST_ITEMS: Final = 100_000
"""The longest list that a filter may make of a generator."""


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox in which renderings take from a budget; they run inside `bounded`."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, *, extensions: Sequence[str | type[Extension]]) -> None:
        """Create a sandbox with the options of Hugging Face's chat templates."""
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=extensions,
            # Constants are not computed while compiling, where no budget is.
            optimized=False,
            finalize=_output,
        )
        del self.globals["lipsum"]
        self.filters = {name: _bounded_filter(name, self.filters[name]) for name in _FILTERS.split()}
        self.filters |= {STEP: _step, WEIGHED: _weighed, SLICED: _sliced, JOINED: _joined}
        tests: dict[str, Any] = self.tests
        self.tests = {name: _bounded_test(name, test) for name, test in tests.items()}

    def add_filter(self, name: str, function: Callable[..., Any]) -> None:
        """Add a filter, or replace one; its result must not be larger than what the budget allows."""
        self.filters[name] = _bounded_filter(name, function)

    def parse_bounded(self, source: str) -> nodes.Template:
        """The syntax tree of a template, with what counts its steps.

        Raises:
            TemplateError: the source is no template, or is too long or too deeply nested.
        """
        if len(source) > MOST_SOURCE:
            raise LimitError(f"it has more than {MOST_SOURCE:,} characters")
        try:
            tree: nodes.Template = CountingTransformer().visit(self.parse(source))
        except RecursionError as error:
            raise LimitError("it is nested too deeply") from error
        return tree

    def compile_bounded(self, tree: nodes.Template) -> Any:
        """The template of a syntax tree.

        Raises:
            TemplateError: it cannot be compiled, for example because it is nested too deeply.
        """
        try:
            return self.from_string(tree)
        except (RecursionError, SyntaxError, MemoryError, ValueError, TypeError) as error:
            # Python's compiler has limits for nested blocks and expressions.
            raise TemplateError(f"{type(error).__name__}: {error}") from error

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute an operator whose result is not too large."""
        meter = METER.get()
        if operator == "+" and type(left) is str and type(right) is str:
            meter.check(len(left) + len(right))
            return left + right
        weights = meter.touch(left), meter.touch(right)
        meter.check(growth.of_operator(operator, left, right, *weights))
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call a function, a method or a macro with arguments whose result is not too large."""
        meter = METER.get()
        meter.take(1)
        given = [*args, *(value for key, value in kwargs.items() if key not in _OF_JINJA)]
        for value in given:
            growth.check_number(value)
            if not isinstance(value, Namespace):
                meter.touch(value, deep=False)
        if isinstance(__obj, BuiltinMethodType):
            growth.check_method(meter, __obj, given)
        result = super().call(__context, __obj, *args, **kwargs)
        return _seen(meter, result)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Look up an item, whose key may be expensive to hash."""
        if type(argument) not in (str, int):
            METER.get().touch(argument)
        return super().getitem(obj, argument)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`str.format` for formats and values whose result is not too large."""
        formatted = super().wrap_str_format(value)
        if formatted is None:
            return None
        text = str(value.__self__)

        def checked(*args: Any, **kwargs: Any) -> str:
            meter = METER.get()
            meter.check(growth.of_braces(text, sum(map(meter.touch, (*args, *kwargs.values())))))
            return formatted(*args, **kwargs)

        return update_wrapper(checked, formatted)


def _bounded_filter(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that takes from the budget what it costs."""
    deep = name not in _SHALLOW
    skipped = 1 if hasattr(function, "jinja_pass_arg") else 0

    def filtered(*args: Any, **kwargs: Any) -> Any:
        meter = METER.get()
        value, *options = args[skipped:]
        options += kwargs.values()
        weight = meter.touch(value, deep=deep)
        for option in options:
            growth.check_number(option)
            meter.touch(option)
        if name in growth.FILTERS:
            meter.check(growth.FILTERS[name](meter, value, weight, options))
        return _seen(meter, function(*args, **kwargs))

    return update_wrapper(filtered, function)


def _bounded_test(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A test that takes from the budget what it costs."""
    deep = name in _COMPARING.split()
    skipped = 1 if hasattr(function, "jinja_pass_arg") else 0

    def tested(*args: Any, **kwargs: Any) -> Any:
        meter = METER.get()
        for value in args[skipped:]:
            if deep:
                meter.touch(value)
            else:
                meter.take(1 + (len(value) >> 6) if type(value) is str else 1)
        return function(*args, **kwargs)

    return update_wrapper(tested, function)


def _seen(meter: OperationMeter, result: Any) -> Any:
    """A result that has been paid for; a generator becomes a list."""
    kind = type(result)
    if kind is str:
        meter.take(len(result) >> 6)
    elif hasattr(result, "__next__"):
        result = list(islice(result, _MOST_ITEMS + 1))
        if len(result) > _MOST_ITEMS:
            raise LimitError("it makes a list that no conversation needs")
        meter.take(len(result) >> 2)
    elif kind not in SCALARS and isinstance(result, CONTAINERS):
        meter.take(len(result) >> 2)
    return result


@pass_context  # with the context, Jinja does not call it while compiling
def _output(context: Context, value: Any) -> Any:
    """A value as it is written."""
    if type(value) is str:
        METER.get().take(1 + (len(value) >> 6))
    elif not isinstance(value, Undefined):
        METER.get().touch(value)
    return value


def _step(cost: int) -> bool:
    METER.get().take(cost)
    return True


def _weighed(value: Any) -> Any:
    METER.get().touch(value)
    return value


def _sliced(value: Any) -> Any:
    METER.get().touch(value, deep=False)
    return value


def _joined(values: Sequence[Any]) -> str:
    meter = METER.get()
    meter.check(sum(meter.touch(value) for value in values))
    return "".join(map(str, values))
