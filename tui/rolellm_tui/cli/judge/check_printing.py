"""Print checks of judges in a terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rolellm_tui.output import print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.judging.checking import JudgeCheck, MeasureCheck
    from rolellm_agents.judging.judge_comparison import JudgeAgreement
    from rolellm_agents.judging.rate import Rate
    from rolellm_agents.metrics.correlation import Correlated

_TRUST = (
    "TRUST follows from the lower end of the interval: strong above .6, moderate above .3, weak above 0. "
    "Do not decide by a judge whose agreement is not shown."
)


def print_checks(judges: "Sequence[JudgeCheck]") -> None:
    """Print how well judges detect faults, and how far they agree with people."""
    from rolellm_agents.judging.judge_comparison import judge_agreements, measure_name

    for judge in judges:
        for one in judge.measures:
            if _has_faults(one) or one.unscored:
                _print_measure(f"{measure_name(judge, one)}, {judge.model}", one)
    groups = judge_agreements(judges)
    for group in groups:
        _print_agreements(group)
    if groups:
        print_text(_TRUST)


def _print_measure(name: str, found: "MeasureCheck") -> None:
    if _has_faults(found):
        print_text(f"{name}: how often the clean reply scored higher")
        print_table(
            ("FAULT", "DETECTED", "95 %", "N", "UNJUDGED"),
            ((kind, *_rate(rate)) for kind, rate in found.detected.items()),
        )
    else:
        print_text(f"{name}:")
    for line in _lines(found):
        print_text(line)
    print_text("")


def _has_faults(found: "MeasureCheck") -> bool:
    return any(rate.n or rate.unjudged for rate in found.detected.values())


def _lines(found: "MeasureCheck") -> list[str]:
    lines = []
    if found.length is not None:
        lines.append(
            f"Correlation of values and length (clean replies): rho {_correlated(found.length)} "
            f"(n {found.length.n})"
        )
    if found.orders is not None and found.orders.consistent is not None:
        lines.append(
            f"Consistent in both orders: {found.orders.consistent:.2f}; first position preferred: "
            f"{found.orders.first_preferred:.2f} (n {found.orders.n})"
        )
    if found.unscored:
        lines.append(f"Without a value: {_counts(found.unscored)}")
    return lines


def _print_agreements(group: "Sequence[JudgeAgreement]") -> None:
    first = group[0].agreement
    among = first.people_alpha
    people = "" if among is None else f"; alpha of people among each other {among:.2f}"
    print_text(f"Agreement with people: {first.name}{people}")
    main = "AGREEMENT" if first.what == "preferences" else "SPEARMAN"
    print_table(
        ("JUDGE", "MODEL", "N", main, "PEARSON", "ALPHA", "TRUST"), [_agreement_row(one) for one in group]
    )
    print_text("")


def _agreement_row(one: "JudgeAgreement") -> tuple[str, ...]:
    found = one.agreement
    rate = " ".join(_rate(found.agreement)[:2]).strip() if found.agreement else ""
    return (
        one.name,
        one.judge.model,
        str(found.n),
        rate or _correlated(found.correlations.get("spearman")),
        _correlated(found.correlations.get("pearson")),
        _correlated(found.alpha),
        found.strength,
    )


def _rate(rate: "Rate") -> tuple[str, str, str, str]:
    value = "–" if rate.value is None else f"{rate.value:.2f}"
    interval = f"[{rate.ci95[0]:.2f}, {rate.ci95[1]:.2f}]" if rate.ci95 else ""
    return value, interval, str(rate.n), str(rate.unjudged or "")


def _correlated(found: "Correlated | None") -> str:
    if found is None or found.value is None:
        return "–"
    interval = "" if found.low is None or found.high is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    return f"{found.value:+.2f}{interval}"


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{times} {status}" for status, times in counted.items())
