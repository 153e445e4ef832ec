"""Values of a preset that have no effect or contradict each other."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from rolellm_agents.models.presets.preset import NEEDS, OFF, Preset

_ALWAYS_EXCLUDES_NOTHING = 0.5
"""XTC excludes all but one of the tokens above the threshold, and two cannot be above a half."""
_CUTS = ("top_k", "top_p", "min_p", "typical_p", "top_n_sigma", "xtc_probability", "dynatemp_range")
_PENALTIES = ("repeat_penalty", "frequency_penalty", "presence_penalty")


class PresetFinding(NamedTuple):
    """A sentence about a preset, and the sampler that it speaks of."""

    sentence: str
    sampler: str


def preset_findings(preset: Preset, taken: Collection[str], model: str) -> list[PresetFinding]:
    """What a user of the preset should know.

    Args:
        preset: a valid preset.
        taken: the samplers that the model in use takes.
        model: the name of the model in use.
    """
    return [
        *_conflicts(preset),
        *_without_effect(preset),
        *(
            PresetFinding(f"The model {model} does not take {name}; it is left out.", name)
            for name in preset.values
            if name not in taken
        ),
    ]


def _conflicts(preset: Preset) -> Iterator[PresetFinding]:
    values = preset.values
    if values.get("temperature") == 0:
        for name in _CUTS:
            if values.get(name, OFF[name]) != OFF[name]:
                yield PresetFinding(
                    f"{name} has no effect with temperature 0, which always takes the likeliest token.",
                    name,
                )
    if values.get("top_k") == 1:
        yield PresetFinding("top_k 1 always takes the likeliest token, like temperature 0.", "top_k")
    spread, temperature = values.get("dynatemp_range", 0), values.get("temperature")
    if temperature and spread > temperature:
        yield PresetFinding(
            f"dynatemp_range {spread:g} is larger than temperature {temperature:g}, so the temperature "
            "goes down to 0.",
            "dynatemp_range",
        )
    if values.get("xtc_probability") and values.get("xtc_threshold", 0) > _ALWAYS_EXCLUDES_NOTHING:
        yield PresetFinding("XTC never excludes a token with xtc_threshold above 0.5.", "xtc_threshold")
    if values.get("contrast") == 1:
        yield PresetFinding("contrast 1 is the model alone; 1.5 speaks more in character.", "contrast")


def _without_effect(preset: Preset) -> Iterator[PresetFinding]:
    values = preset.values
    for name, needed in NEEDS.items():
        if name in values and not values.get(needed):
            yield PresetFinding(f"{name} has no effect without {needed}.", name)
    if "repeat_last_n" in values and all(values.get(name) == OFF[name] for name in _PENALTIES):
        yield PresetFinding("repeat_last_n has no effect, because all penalties are off.", "repeat_last_n")
    if values.get("repeat_last_n") == 0:
        yield PresetFinding("repeat_last_n 0 switches the penalties off.", "repeat_last_n")
