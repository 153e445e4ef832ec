"""A judge's verdict on a reply."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["scored", "unparsed", "model_error", "skipped"]
"""Whether there is a value, and if not, why: the judge's answer could not be parsed, the judge's model
failed, or there was nothing to judge, such as an empty reply."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One judgement. A verdict without a value is missing and never counts as zero."""

    subject: str
    """Key of the judged item."""
    measure: str
    """The measure, such as `voice`, `preference` or `likelihood`."""
    value: float | None
    """None unless the status is `scored`; the range depends on the judge."""
    status: Status
    reason: str = ""
    """The judge's reason, or what went wrong."""
    model: str
    """The model spec of the judge, or the name of a rule."""
    prompt: str = ""
    """Id, language and version of the prompt, such as `judge-rubric/en@1`; empty without a prompt."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further details as JSON values, such as the flaws found, or the outcomes of both orders."""

    def __post_init__(self) -> None:
        """Check that the value fits the status.

        Raises:
            ValueError: a scored verdict has no value, or another verdict has one.
        """
        if (self.value is not None) != (self.status == "scored"):
            raise ValueError(f"a verdict that is {self.status!r} has the value {self.value!r}")
