"""Find a role among a script's speakers by name, part of a name, or alias."""

from collections.abc import Sequence

from rolellm_agents.errors import ScriptError
from rolellm_agents.scripts.people import split_title
from rolellm_agents.scripts.script import Script
from rolellm_agents.text import did_you_mean

_FEWEST = 2
_SHOWN = 8


def names_of(script: Script, role: str, also: Sequence[str] = ()) -> tuple[str, ...]:
    """The names under which a role speaks in a script.

    “Hamlet” finds `HAMLET`; “Claudius” finds `KING CLAUDIUS`; “Elizabeth Bennet” finds `Elizabeth`, and not
    `Mrs. Bennet`. An exact match excludes matches of parts.

    `also` are other names of the role, exactly as in the script.

    Raises:
        ScriptError: the role speaks at most once, or the name is ambiguous.
    """
    counted = script.speakers()
    named = _exact(counted, role) or _by_part(counted, role)
    if len(named) > 1:
        choices = " or ".join(f"{name} ({counted[name]} speeches)" for name in named)
        raise ScriptError(
            f"In {script.title}, {role!r} may be {choices}; give one of them with --role, "
            "and the others with --alias if they are the same person."
        )
    others = [name for alias in also for name in (_exact(counted, alias) or _unknown(script, alias))]
    names = tuple(dict.fromkeys([*named, *others]))
    if not names:
        _unknown(script, role)
    spoken = sum(counted[name] for name in names)
    if spoken < _FEWEST:
        raise ScriptError(
            f"{role} speaks only once in {script.title}, which is too little for a profile; "
            "choose another role, or give the other names it speaks under with --alias."
        )
    return names


def _exact(names: Sequence[str] | dict[str, int], role: str) -> list[str]:
    return [name for name in names if name.casefold() == role.casefold().strip()]


def _by_part(names: Sequence[str] | dict[str, int], role: str) -> list[str]:
    """Names whose words contain the role's or are contained in them; the same title goes before none."""
    role_title, role_words = _words(role)
    found = []
    for name in names:
        title, words = _words(name)
        if words and role_words and (words <= role_words or role_words <= words):
            found.append((title, name))
    untitled = [name for title, name in found if not title]
    same_title = [name for title, name in found if title and title == role_title]
    return same_title or untitled or [name for _, name in found]


def _words(name: str) -> tuple[str, set[str]]:
    title, words = split_title(name.title() if name.isupper() else name)
    return title, {word.strip(".,").casefold() for word in words} - {"the", "of", "de"}


def _unknown(script: Script, role: str) -> list[str]:
    counted = script.speakers()
    most = ", ".join(f"{name} ({times})" for name, times in counted.most_common(_SHOWN))
    raise ScriptError(
        f"{role} never speaks in {script.title}{did_you_mean(role, counted)}; "
        f"those who speak most are {most}."
    )
