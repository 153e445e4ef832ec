"""What makes a test slow: seen by the names in its code, and in the fixtures and helpers that it calls."""

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import pytest

_PROCESSES = {"run", "Popen", "check_call", "check_output"}


def kinds_of(test: pytest.Function) -> frozenset[str]:
    """Which of the markers `app`, `model` and `process` a test deserves."""
    fixtures = [made.func for found in test._fixtureinfo.name2fixturedefs.values() for made in found]
    kinds = _kinds_of(_inner(test.function), *fixtures)
    return kinds | {"app"} if "snap_compare" in test.fixturenames else kinds


@cache
def _kinds_of(*functions: Callable[..., Any]) -> frozenset[str]:
    seen: set[FunctionType] = set()
    return frozenset(
        kind for function in functions for names in _names(function, seen) for kind in _kinds(names)
    )


def _kinds(names: set[str]) -> Iterator[str]:
    """The kinds of one function, by the names in it."""
    if "run_test" in names:
        yield "app"
    if "embedded_gguf" in names:
        yield "model"
    if "fork" in names or ("subprocess" in names and names & _PROCESSES) or "multiprocessing" in names:
        yield "process"


def _inner(test: Callable[..., Any]) -> Callable[..., Any]:
    """The function that Hypothesis runs, or the test itself."""
    return getattr(getattr(test, "hypothesis", None), "inner_test", test)


def _names(function: Callable[..., Any], seen: set[FunctionType]) -> Iterator[set[str]]:
    """The names in a function, and in the functions of its module and of `helpers` that it names."""
    plain = inspect.unwrap(getattr(function, "__func__", function))
    if not isinstance(plain, FunctionType) or plain in seen:
        return
    seen.add(plain)
    names = set(_names_in(plain.__code__))
    yield names
    for name in names:
        called = plain.__globals__.get(name)
        module = getattr(called, "__module__", None) or ""
        if callable(called) and (module == plain.__module__ or module.startswith("helpers")):
            parts = vars(called).values() if inspect.isclass(called) else [called]
            for part in parts:
                yield from _names(part, seen) if callable(part) else ()


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
