"""Strategies, directors, judges and more that other installed packages provide through entry points."""

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from rolellm_agents.errors import PluginError
from rolellm_agents.text import one_line

Group = Literal[
    "rolellm.strategies",
    "rolellm.directors",
    "rolellm.judges",
    "rolellm.metrics",
    "rolellm.providers",
    "rolellm.recall",
]


def plugin_names(group: Group) -> list[str]:
    """The names that installed packages provide in a group, sorted; nothing is imported."""
    return sorted({found.name for found in _entry_points(group)})


def load_plugin(group: Group, name: str) -> Callable[..., Any] | None:
    """Import what an installed package provides under a name.

    Returns:
        None if no package provides it.

    Raises:
        PluginError: two packages provide it, it cannot be imported, or it is not callable.
    """
    found = _named(group, name)
    if not found:
        return None
    packages = sorted({_package(one) for one in found})
    if len(packages) > 1:
        raise PluginError(
            f"The packages {' and '.join(packages)} both provide {name!r} for {group}; uninstall one."
        )
    try:
        loaded = found[0].load()
    except Exception as error:  # the package's code may raise anything
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise PluginError(
            f"The package {packages[0]} provides {name!r} for {group}, but {found[0].value} cannot be "
            f"imported ({reason}); repair, update or uninstall the package."
        ) from error
    if not callable(loaded):
        raise PluginError(
            f"The package {packages[0]} provides {name!r} for {group}, but {found[0].value} is not "
            "callable; repair, update or uninstall the package."
        )
    return loaded  # type: ignore[no-any-return]  # checked just above


def plugin_version(group: Group, name: str) -> str:
    """Package and version that provide a name, for provenance; empty if no package does."""
    found = next(iter(_named(group, name)), None)
    return f"{_package(found)} {found.dist.version}" if found and found.dist else ""


def qualified_name(provided: object) -> str:
    """`module.name` of a function or class, or of an object's class, as records name it."""
    named = provided if hasattr(provided, "__qualname__") else type(provided)
    return f"{named.__module__}.{named.__qualname__}"


def _named(group: Group, name: str) -> list[EntryPoint]:
    return [found for found in _entry_points(group) if found.name == name]


def _entry_points(group: Group) -> tuple[EntryPoint, ...]:
    return _scanned(group, tuple(sys.path))


@lru_cache(maxsize=32)
def _scanned(group: Group, _path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """A scan reads the metadata of every installed package, which takes some 15 ms."""
    return tuple(entry_points(group=group))


def _package(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist else "of an unknown name"
