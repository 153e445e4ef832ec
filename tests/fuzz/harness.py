"""What the fuzzers share: coverage by atheris where it is installed, and their loop."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext


def instrumented(*packages: str) -> AbstractContextManager[object]:
    """Let atheris see which code of these packages runs; imports belong into this context."""
    try:
        import atheris
    except ImportError:
        return nullcontext()
    context: AbstractContextManager[object] = atheris.instrument_imports(include=list(packages))
    return context


def fuzz(one_input: Callable[[bytes], None]) -> None:
    """Run the function on inputs until libFuzzer's options, the arguments of the process, end it."""
    import atheris

    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
