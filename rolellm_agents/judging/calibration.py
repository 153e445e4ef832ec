"""Calibration of judges to people: the translation of their values to the scale of human scores.

A calibration is a file. It belongs to the judges that it was measured with: another model, sampling, prompt
or rubric is another judge.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.judging.checking import JudgeCheck
from rolellm_agents.judging.errors import JudgingError
from rolellm_agents.judging.label_agreement import Agreement
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.metrics.isotonic import IsotonicCurve, Knot

PEOPLE: Final = "people"
"""The key of translated values in a verdict's details: a mapping from aspects to values."""
_RUBRICS: Final = "rubrics"
_SCORE: Final = "score"
"""The name of an aspect without a name."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CalibratedAspect(_Part):
    """How one measure of a judge translates to people's scores of one aspect."""

    aspect: str
    measure: str
    knots: tuple[Knot, ...]
    """The points of an `IsotonicCurve`."""
    n: int
    """The number of labels."""
    spearman: float
    """Correlation of the judge's values with people's scores."""
    error: float
    """Mean absolute error for personas without labels; see `PeopleScale`."""

    @field_validator("knots")
    @classmethod
    def _rises(cls, knots: tuple[Knot, ...]) -> tuple[Knot, ...]:
        IsotonicCurve(knots)
        return knots

    def translate(self, value: float) -> float:
        """A value of the judge on the scale of people's scores."""
        return IsotonicCurve(self.knots)(value)


class CalibratedJudge(_Part):
    """A judge's translations, at most one for each aspect."""

    settings: dict[str, Any]
    """What the judge's verdicts depend on, as in the config of its runs."""
    aspects: tuple[CalibratedAspect, ...]

    def translated(self, verdict: Verdict) -> Verdict:
        """The verdict with people's scores in its details; unchanged if none is known for its measure."""
        if verdict.value is None:
            return verdict
        people = {
            one.aspect: one.translate(verdict.value)
            for one in self.aspects
            if one.measure == verdict.measure
        }
        return replace(verdict, details={**verdict.details, PEOPLE: people}) if people else verdict


class Calibration(_Part):
    """The calibration of one or several judges to the same labels."""

    version: Literal[1] = 1
    labels: str
    """The name of the file of labels."""
    judges: tuple[CalibratedJudge, ...]

    def of_judge(self, config: Mapping[str, Any]) -> CalibratedJudge:
        """The translations of the judge with these settings.

        Raises:
            JudgingError: there is none; the message names the judges and what differs.
        """
        settings = _settings(config)
        found = next((one for one in self.judges if not _differences(one.settings, settings)), None)
        if found is None:
            differ = "; ".join(
                f"{_name(one.settings)} differs in {', '.join(_differences(one.settings, settings))}"
                for one in self.judges
            )
            raise JudgingError(
                f"The calibration is not for {_name(settings)}: {differ}. Use one of these judges, or "
                "calibrate yours with “rolellm judge check --labels FILE --calibration FILE”."
            )
        return found


def calibration_of(
    checks: Sequence[JudgeCheck], configs: Sequence[Mapping[str, Any]], labels: str
) -> Calibration:
    """Build the calibration of judges from their checks.

    For each aspect, a judge's measure with the strongest agreement is kept, if it agrees at all.

    Args:
        checks: the judges' checks.
        configs: the settings of each judge.
        labels: the name of the file of labels.

    Raises:
        JudgingError: no judge agrees with people on any aspect, or there are too few scores.
    """
    judges = [
        CalibratedJudge(settings=_settings(config), aspects=aspects)
        for check, config in zip(checks, configs, strict=True)
        if (aspects := tuple(_aspects(check)))
    ]
    if not judges:
        raise JudgingError(
            "Nothing can be calibrated: no judge agrees with people on any scored aspect beyond chance, or "
            "there are too few scores. Use another judge or more labels."
        )
    return Calibration(labels=labels, judges=tuple(judges))


def write_calibration(calibration: Calibration, file: Path) -> None:
    """Write a calibration as JSON.

    Raises:
        JudgingError: the file cannot be written.
    """
    write_atomically(file, calibration.model_dump_json(indent=2) + "\n", JudgingError)


def read_calibration(file: Path) -> Calibration:
    """Read a calibration.

    Raises:
        JudgingError: the file cannot be read or holds no calibration.
    """
    try:
        return Calibration.model_validate_json(file.read_bytes())
    except OSError as error:
        raise JudgingError(f"{file} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise JudgingError(
            f"{file} is not a calibration; “rolellm judge check --labels … --calibration FILE” writes one."
        ) from error


def _aspects(check: JudgeCheck) -> Iterable[CalibratedAspect]:
    found: dict[str, tuple[float, CalibratedAspect]] = {}
    for measure in check.measures:
        for one in measure.labels:
            aspect = _calibrated(measure.measure, one)
            strength = one.above_chance or 0.0
            if aspect and strength > found.get(aspect.aspect, (0.0, aspect))[0]:
                found[aspect.aspect] = (strength, aspect)
    return (aspect for _, aspect in found.values())


def _calibrated(measure: str, found: Agreement) -> CalibratedAspect | None:
    spearman = found.correlations["spearman"].value if found.correlations else None
    if found.scale is None or spearman is None:
        return None
    return CalibratedAspect(
        aspect=found.aspect or _SCORE,
        measure=measure,
        knots=found.scale.curve.knots,
        n=found.n,
        spearman=spearman,
        error=found.scale.error,
    )


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as JSON values, without the seed, which does not make another judge."""
    settings: dict[str, Any] = json.loads(json.dumps(config))
    return {key: value for key, value in settings.items() if key != "seed"}


def _name(settings: Mapping[str, Any]) -> str:
    return f"{settings.get('judge', 'judge')} with {', '.join(map(str, settings.get('models', ())))}"


def _differences(kept: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """The keys in which a judge differs from the calibrated one; it may use fewer of its rubrics."""
    rubrics = kept.get(_RUBRICS, {}).items() >= settings.get(_RUBRICS, {}).items()
    keys = [key for key in {**kept, **settings} if key != _RUBRICS and kept.get(key) != settings.get(key)]
    return keys if rubrics else [*keys, _RUBRICS]
