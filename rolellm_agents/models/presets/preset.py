"""A sampler preset, which is read from one YAML file.

```yaml
name: Storyteller
about: Long answers, and no phrase twice.
temperature: 0.9
min_p: 0.08
dry_multiplier: 0.8
max_tokens: 400
```
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from rolellm_agents.persona import Line

Number = Annotated[float, Field(allow_inf_nan=False)]
Penalty = Annotated[float, Field(ge=-2, le=2, allow_inf_nan=False)]


class Preset(BaseModel):
    """Sampling values under a name. A value that is None stays the model's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Line
    about: str = ""
    temperature: Number | None = Field(default=None, ge=0, le=5)
    top_k: StrictInt | None = Field(default=None, ge=0)
    top_p: Number | None = Field(default=None, gt=0, le=1)
    min_p: Number | None = Field(default=None, ge=0, le=1)
    typical_p: Number | None = Field(default=None, gt=0, le=1)
    top_n_sigma: Number | None = Field(default=None, ge=0)
    xtc_probability: Number | None = Field(default=None, ge=0, le=1)
    xtc_threshold: Number | None = Field(default=None, ge=0, le=1)
    dynatemp_range: Number | None = Field(default=None, ge=0, le=5)
    dynatemp_exponent: Number | None = Field(default=None, ge=0)
    repeat_penalty: Number | None = Field(default=None, gt=0, le=3)
    repeat_last_n: StrictInt | None = Field(default=None, ge=0)
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    dry_multiplier: Number | None = Field(default=None, ge=0)
    dry_base: Number | None = Field(default=None, ge=1)
    dry_allowed_length: StrictInt | None = Field(default=None, ge=0)
    contrast: Number | None = Field(default=None, ge=0, le=5)
    contrast_floor: Number | None = Field(default=None, gt=0, le=1)
    max_tokens: StrictInt | None = Field(default=None, ge=1)
    stop: tuple[str, ...] = ()

    @property
    def active(self) -> dict[str, Any]:
        """The values that have an effect: without those of samplers that are off."""
        values = self.values
        return {
            name: value
            for name, value in values.items()
            if value != OFF.get(name) and (name not in NEEDS or values.get(NEEDS[name]))
        }

    @property
    def values(self) -> dict[str, Any]:
        """The sampling values that the preset sets, by sampler, as `get_model` takes them."""
        set_here = {name: getattr(self, name) for name in SAMPLERS}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in set_here.items()
            if value not in (None, ())
        }


SAMPLERS: Mapping[str, str] = {
    "temperature": "Temperature; 0 always takes the likeliest token",
    "dynatemp_range": "Range of the dynamic temperature; 0 is off",
    "dynatemp_exponent": "Exponent of the dynamic temperature",
    "top_k": "Top K: so many of the likeliest tokens; 0 is off",
    "top_p": "Top P: the likeliest tokens with this probability together; 1 is off",
    "min_p": "Min P: at least this share of the likeliest token's probability; 0 is off",
    "typical_p": "Typical P; 1 is off",
    "top_n_sigma": "Top N sigma: standard deviations below the best; 0 is off",
    "xtc_probability": "XTC: probability of excluding the likeliest tokens; 0 is off",
    "xtc_threshold": "XTC: tokens from this probability on can be excluded",
    "repeat_penalty": "Repeat penalty; 1 is off",
    "repeat_last_n": "Tokens of the answer that the penalties count",
    "frequency_penalty": "Frequency penalty; 0 is off",
    "presence_penalty": "Presence penalty; 0 is off",
    "dry_multiplier": "DRY: strength against repeated phrases; 0 is off, 0.8 is usual",
    "dry_base": "DRY: growth with the length of the phrase",
    "dry_allowed_length": "DRY: longest phrase that may be repeated, in tokens",
    "contrast": "Contrast with a prompt without the persona; 0 and 1 are off, 1.5 speaks more in character",
    "contrast_floor": "Contrast: least share of the likeliest token's probability",
    "max_tokens": "Longest answer, in tokens",
    "stop": "Texts that end the answer, one on each line",
}
"""The samplers of presets and what they do, in the order of the editor."""

OFF: Mapping[str, float] = {
    "top_k": 0,
    "top_p": 1,
    "min_p": 0,
    "typical_p": 1,
    "top_n_sigma": 0,
    "xtc_probability": 0,
    "dynatemp_range": 0,
    "dry_multiplier": 0,
    "contrast": 0,
    "repeat_penalty": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
}
"""The values with which samplers have no effect."""

NEEDS: Mapping[str, str] = {
    "xtc_threshold": "xtc_probability",
    "dynatemp_exponent": "dynatemp_range",
    "dry_base": "dry_multiplier",
    "dry_allowed_length": "dry_multiplier",
    "contrast_floor": "contrast",
}
"""Values that have no effect without another sampler."""
