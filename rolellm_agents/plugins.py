"""Plugins: strategies, directors, judges and more that installed packages provide as entry points."""

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
    "rolellm.turn_kinds",
]


def plugin_names(group: Group) -> list[str]:
    """The names that installed packages provide in a group, sorted. This imports none of the packages."""
    return sorted({found.name for found in _entry_points(group)})


def load_plugin(group: Group, name: str) -> Callable[..., Any] | None:
    """Import the plugin of a name, which is a function, a class, or an object that is called like one.

    Returns:
        The imported object; None if no package provides the name.

    Raises:
        PluginError: two packages provide the name, or the plugin cannot be imported or is not callable.
    """
    loaded = load_object(group, name)
    if loaded is not None and not callable(loaded):
        raise unusable(group, name, "is not callable")
    return loaded


def load_object(group: Group, name: str) -> object | None:
    """Import the object of a name, whatever it is.

    Returns:
        The imported object; None if no package provides the name.

    Raises:
        PluginError: two packages provide the name, or the object cannot be imported.
    """
    found = _named(group, name)
    if not found:
        return None
    packages = sorted({_package(entry_point) for entry_point in found})
    if len(packages) > 1:
        raise PluginError(
            f"The packages {' and '.join(packages)} both provide {name!r} for {group}; uninstall one."
        )
    try:
        loaded = found[0].load()
    except Exception as error:  # the package's code may raise anything
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise unusable(group, name, f"cannot be imported ({reason})") from error
    return loaded  # type: ignore[no-any-return]  # whatever the package has there


def unusable(group: Group, name: str, reason: str) -> PluginError:
    """The error for a plugin that cannot be used, with its package.

    Args:
        group: the plugin's group.
        name: the plugin's name.
        reason: continues a sentence about the plugin, for example “is not callable”.
    """
    found = _named(group, name)[0]
    return PluginError(
        f"The package {_package(found)} provides {name!r} for {group}, but {found.value} {reason}; "
        "repair, update or uninstall the package."
    )


def plugin_version(group: Group, name: str) -> str:
    """The package that provides a name, with its version, for provenance; empty if no package does."""
    found = next(iter(_named(group, name)), None)
    return f"{_package(found)} {found.dist.version}" if found and found.dist else ""


def qualified_name(provided: object) -> str:
    """`module.name` of a function or class, or of an object's class, for records."""
    named = provided if hasattr(provided, "__qualname__") else type(provided)
    return f"{named.__module__}.{named.__qualname__}"


def _named(group: Group, name: str) -> list[EntryPoint]:
    return [found for found in _entry_points(group) if found.name == name]


def _entry_points(group: Group) -> tuple[EntryPoint, ...]:
    return _scanned(group, tuple(sys.path))


@lru_cache(maxsize=32)
def _scanned(group: Group, _path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Cached, because a scan reads the metadata of all installed packages, which takes about 15 ms."""
    return tuple(entry_points(group=group))


def _package(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist else "of an unknown name"
