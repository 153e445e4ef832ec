"""A preset tried: its findings, and the values with which the model in use would sample."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from textual.content import Content

from rolellm_agents.editing.form import Data
from rolellm_agents.editing.places import place_of_error
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.errors import SettingsError
from rolellm_agents.models.presets.editing import edited_preset
from rolellm_agents.models.presets.findings import preset_findings
from rolellm_agents.models.presets.preset import SAMPLERS, Preset
from rolellm_agents.text import plain
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.editor.trial import FoundPlace, Trial, not_yet, without_path


@dataclass(frozen=True)
class ModelSampling:
    """What the model in use takes."""

    name: str
    taken: frozenset[str]
    own: Mapping[str, Any]
    """The values of the model itself and of the settings, without a preset."""


def try_preset(document: YamlDocument, data: Data, model: ModelSampling) -> Trial:
    """Check a preset, and list the values that it gives to a model."""
    try:
        preset = edited_preset(document, data)
    except SettingsError as error:
        problem = FoundPlace(without_path(error, document), place_of_error(str(error)), True)
        return Trial((problem,), not_yet("preset"))
    found = tuple(
        FoundPlace(one.sentence, (one.sampler,)) for one in preset_findings(preset, model.taken, model.name)
    )
    return Trial(found, _values(preset, model), f"{counted(len(preset.values), 'value')} in the preset")


def _values(preset: Preset, model: ModelSampling) -> Content:
    head = (f"{model.name} samples with\n", "bold $text-accent")
    return Content.assemble(head, *_lines(preset, model))


def _lines(preset: Preset, model: ModelSampling) -> Iterator[str | tuple[str, str]]:
    for name in SAMPLERS:
        if name not in model.taken:
            if name in preset.values:
                yield (f"{name}: not taken by this model\n", "$text-warning")
        elif name in preset.values:
            yield plain(f"{name}: {_shown(preset.values[name])}\n")
        else:
            yield (f"{name}: {_shown(model.own.get(name))}, its own\n", "$foreground-muted")


def _shown(value: Any) -> str:
    if value is None:
        return "not sent"
    if isinstance(value, list | tuple):
        return ", ".join(map(repr, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
