"""A persona as a YAML file that a person can edit."""

from typing import Any

import yaml

from rolellm_agents.persona import Persona


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
