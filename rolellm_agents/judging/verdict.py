"""What a judge says of a reply: data, never only a number."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["scored", "unparsed", "model_error", "skipped"]
"""Whether there is a value, and if not, why: the judge's words made no verdict, the judge's model failed,
or there was nothing to judge, such as an empty reply."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One judgement. Without a value it counts as missing, never as zero."""

    subject: str
    """The key of what was judged."""
    measure: str
    """What was judged, such as `voice`, `preference` or `likelihood`."""
    value: float | None
    """None unless the status is `scored`; what its range is, the judge says."""
    status: Status
    reason: str = ""
    """The judge's words, or what went wrong."""
    model: str
    """Who judged: a model spec, or the name of a rule."""
    prompt: str = ""
    """Id, language and version of what it was asked, such as `judge-rubric/en@1`; empty if nothing was."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else there is to know, as JSON values, such as the flaws found, or both orders' outcomes."""

    def __post_init__(self) -> None:
        """Hold value and status together.

        Raises:
            ValueError: a scored verdict without a value, or a value of one that is not scored.
        """
        if (self.value is not None) != (self.status == "scored"):
            raise ValueError(f"a verdict that is {self.status!r} has the value {self.value!r}")
