"""A persona as a YAML file that a person can edit."""

from pathlib import Path
from typing import Any

import yaml

from rolellm_agents.errors import PersonaError
from rolellm_agents.files.yaml import MAX_BYTES, MAX_VALUES, parse_yaml
from rolellm_agents.persona import Persona
from rolellm_agents.text import one_line


def to_readable_yaml(persona: Persona, file: Path) -> str:
    """The persona as YAML that `read_persona` will read.

    `file` is the file that the text is for.

    Raises:
        PersonaError: the text would be too large, or could not be read for another reason.
    """
    try:
        _check_extent(persona, file)
        text = to_yaml(persona)
        parse_yaml(text, file, Persona, PersonaError)
    except PersonaError as error:
        raise PersonaError(
            f"{one_line(persona.name, 80)} cannot be written, because the file could not be read again: "
            f"{error}"
        ) from error
    return text


def _check_extent(persona: Persona, file: Path) -> None:
    """Raise for a persona that is certainly too large, before the YAML is made, which takes long."""
    values, size = _extent(persona.model_dump(mode="json"))
    if values > MAX_VALUES:
        raise PersonaError(f"{file} would hold {values:,} values, at most {MAX_VALUES:,} are read.")
    if size > MAX_BYTES:
        raise PersonaError(f"{file} would have more than {size:,} bytes, at most {MAX_BYTES:,} are read.")


def _extent(data: Any) -> tuple[int, int]:
    """The number of keys and values, and the bytes of all texts, which are fewer than those of the YAML."""
    values = size = 0
    waiting = [data]
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, str):
            size += len(value.encode(errors="surrogatepass"))
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
    return values, size


def to_yaml(persona: Persona) -> str:
    """The persona as YAML, with long texts folded and empty fields left out."""
    data = {
        key: value
        for key, value in persona.model_dump(mode="json").items()
        if value not in (None, "", [], {})
    }
    return yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=97)


class _Dumper(yaml.SafeDumper):
    """Dumps long texts as folded blocks and lists indented, without aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    is_long = len(text) > 70 and text == text.strip() and "\n" not in text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=">" if is_long else None)


_Dumper.add_representer(str, _text)
