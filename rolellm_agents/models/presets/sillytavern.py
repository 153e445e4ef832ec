"""SillyTavern's presets for text completion, KoboldAI and chat completion, read as presets of ours."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from rolellm_agents.errors import SettingsError
from rolellm_agents.models.presets.preset import NEEDS, Preset
from rolellm_agents.text import one_line

Form = Literal["text", "chat"]

_MOST_BYTES = 4_000_000
_NAMES: Mapping[Form, Mapping[str, str]] = {
    "text": {
        "temp": "temperature",
        "top_k": "top_k",
        "top_p": "top_p",
        "min_p": "min_p",
        "typical_p": "typical_p",
        "typical": "typical_p",
        "nsigma": "top_n_sigma",
        "xtc_probability": "xtc_probability",
        "xtc_threshold": "xtc_threshold",
        "rep_pen": "repeat_penalty",
        "freq_pen": "frequency_penalty",
        "presence_pen": "presence_penalty",
        "dry_multiplier": "dry_multiplier",
        "dry_base": "dry_base",
        "dry_allowed_length": "dry_allowed_length",
        "genamt": "max_tokens",
    },
    "chat": {
        "temperature": "temperature",
        "top_k": "top_k",
        "top_p": "top_p",
        "min_p": "min_p",
        "repetition_penalty": "repeat_penalty",
        "frequency_penalty": "frequency_penalty",
        "presence_penalty": "presence_penalty",
        "openai_max_tokens": "max_tokens",
    },
}
"""SillyTavern's names of values that have a counterpart, and ours."""
_WHOLE = ("top_k", "dry_allowed_length", "max_tokens")
_NEUTRAL: Mapping[str, Any] = {
    "top_a": 0,
    "tfs": 1,
    "epsilon_cutoff": 0,
    "eta_cutoff": 0,
    "rep_pen_decay": 0,
    "no_repeat_ngram_size": 0,
    "penalty_alpha": 0,
    "num_beams": 1,
    "encoder_rep_pen": 1,
    "skew": 0,
    "min_length": 0,
    "smoothing_factor": 0,
    "mirostat_mode": 0,
    "mirostat": 0,
    "guidance_scale": 1,
    "do_sample": True,
    "ban_eos_token": False,
    "ignore_eos_token": False,
    "banned_tokens": "",
    "grammar_string": "",
    "grammar": "",
    "json_schema": None,
    "logit_bias": [],
    "min_keep": 0,
    "dry_penalty_last_n": 0,
    "temperature_last": True,
    "speculative_ngram": False,
    "n": 1,
    "adaptive_target": -0.01,
    "negative_prompt": "",
    "use_default_badwordsids": False,
    "assistant_prefill": "",
    "reasoning_effort": "auto",
    "banned_strings": "",
    "bias_preset_selected": "",
}
"""Values without a counterpart, which matter only if they differ from these."""
_BREAKERS = ["\n", ":", '"', "*"]
"""The texts that end a phrase for DRY, as in our engine."""


@dataclass(frozen=True)
class ImportedPreset:
    """A preset of SillyTavern in our form."""

    preset: Preset
    came_over: tuple[str, ...]
    """The samplers that it sets, by our names."""
    notes: tuple[str, ...]
    """One sentence for each value that has no counterpart or is not usable."""


@dataclass
class _Reading:
    """Values that come over, and sentences about those that do not."""

    values: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def is_sillytavern_preset(path: Path) -> bool:
    """Whether a file is a preset of SillyTavern that can be imported."""
    document = _document(path) if path.suffix.lower() == ".json" else None
    return document is not None and _form(document) is not None


def read_sillytavern_preset(path: Path) -> ImportedPreset:
    """Read a preset of SillyTavern.

    Raises:
        SettingsError: the file cannot be read, or is no such preset.
    """
    document = _document(path)
    form = _form(document) if document is not None else None
    if document is None or form is None:
        raise SettingsError(
            f"{path} is not a sampler preset; name a preset of SillyTavern for text completion, KoboldAI "
            "or chat completion (JSON), or one of ours (YAML)."
        )
    reading = _Reading()
    _take_values(document, form, reading)
    if form == "text":
        _take_dynamic_temperature(document, reading)
        _take_window(document, reading)
        _tell_breakers(document, reading)
    reading.notes += _untranslated(document)
    if form == "chat":
        reading.notes += _of_chat(document)
    name = one_line(str(document.get("name") or path.stem), 80) or "preset"
    preset = Preset(name=name, about="Imported from SillyTavern.", **reading.values)
    return ImportedPreset(preset, tuple(preset.values), tuple(reading.notes))


def _document(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return None
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _form(document: Mapping[str, Any]) -> Form | None:
    if "temp" in document and ({"rep_pen", "top_p"} & document.keys()):
        return "text"
    if "temperature" in document and ({"openai_max_tokens", "chat_completion_source"} & document.keys()):
        return "chat"
    return None


def _take_values(document: Mapping[str, Any], form: Form, reading: _Reading) -> None:
    names = {theirs: ours for theirs, ours in _NAMES[form].items() if theirs in document}
    ours = {name: document[theirs] for theirs, name in names.items()}
    for theirs, name in names.items():
        if name not in NEEDS or ours.get(NEEDS[name]):
            _take(name, document[theirs], theirs, reading)


def _take(name: str, value: Any, theirs: str, reading: _Reading) -> None:
    """Take a value if the sampler of this name can have it."""
    if name == "top_k" and value == -1:
        value = 0
    if name in _WHOLE and isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        reading.notes.append(f"{theirs} {one_line(str(value), 40)} was left out: it is no number.")
        return
    try:
        Preset.model_validate({"name": "any", name: value})
    except ValidationError as error:
        why = error.errors()[0]["msg"].lower()
        reading.notes.append(f"{theirs} {one_line(str(value), 40)} was left out: {why}.")
    else:
        reading.values[name] = value


def _take_dynamic_temperature(document: Mapping[str, Any], reading: _Reading) -> None:
    if not document.get("dynatemp"):
        return
    low, high = document.get("min_temp"), document.get("max_temp")
    if not all(isinstance(one, int | float) for one in (low, high)) or low > high:  # type: ignore[operator]
        reading.notes.append("dynatemp was left out: it has no range from min_temp to max_temp.")
        return
    middle, spread = (low + high) / 2, (high - low) / 2  # type: ignore[operator]
    _take("temperature", round(middle, 4), "min_temp and max_temp", reading)
    _take("dynatemp_range", round(spread, 4), "min_temp and max_temp", reading)
    if "dynatemp_exponent" in document:
        _take("dynatemp_exponent", document["dynatemp_exponent"], "dynatemp_exponent", reading)


def _take_window(document: Mapping[str, Any], reading: _Reading) -> None:
    """The range of the penalties; 0 is the whole context there, and none of it here."""
    if document.get("rep_pen_range"):
        _take("repeat_last_n", document["rep_pen_range"], "rep_pen_range", reading)


def _tell_breakers(document: Mapping[str, Any], reading: _Reading) -> None:
    given = document.get("dry_sequence_breakers")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = [given]
    if document.get("dry_multiplier") and given not in (None, _BREAKERS):
        reading.notes.append("dry_sequence_breakers has no counterpart; the usual four texts end a phrase.")


def _untranslated(document: Mapping[str, Any]) -> Iterator[str]:
    for name, neutral in _NEUTRAL.items():
        value = document.get(name, neutral)
        if value != neutral and not (name == "bias_preset_selected" and "none" in str(value).casefold()):
            yield f"{name} {one_line(str(value), 40)} has no counterpart; it was left out."
    if document.get("max_length") or document.get("openai_max_context"):
        yield "The size of the context belongs to the model here: context in models.toml."


def _of_chat(document: Mapping[str, Any]) -> Iterator[str]:
    if any(isinstance(one, dict) and one.get("content") for one in document.get("prompts") or ()):
        yield "Its prompts were left out; here a strategy composes the prompt, and a card can have its own."
    source = document.get("chat_completion_source")
    if isinstance(source, str) and source:
        yield f"It was made for {one_line(source, 40)}; the model stays yours."
