"""Verdicts in a terminal: the replies, the verdicts with their reasons, and a summary."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.judging import Verdict
    from rolellm_agents.judging.recorded import Judging, RecordedItem, RecordedVerdicts
    from rolellm_agents.judging.summary import MeasureSummary

_WIDTH = 160
"""Characters of a reply to print; the run's folder has all of it."""
_MISSING = "–"


@contextmanager
def judging_progress(folder: Path) -> "Iterator[Callable[[int, int], None]]":
    """Print the run's folder and show a progress bar."""
    complain(f"The run is kept in {folder}.")
    with counted_progress("Judging") as progress:
        yield progress


def of_items(
    judging: "Judging",
    config: Mapping[str, Any],
    abouts: "Sequence[Mapping[str, Any]]",
    verdicts: "Sequence[Verdict]",
) -> "RecordedVerdicts":
    """New verdicts in the form of a recorded run.

    Args:
        judging: the kind of the items.
        config: the run's config.
        abouts: a description of each item.
        verdicts: the verdicts on all items in order, the same number for each item.
    """
    from rolellm_agents.judging.recorded import RecordedItem, RecordedVerdicts

    each = len(verdicts) // len(abouts)
    items = tuple(
        RecordedItem(about, tuple(verdicts[place * each : (place + 1) * each]))
        for place, about in enumerate(abouts)
    )
    return RecordedVerdicts(judging, config, items)


def print_verdicts(recorded: "RecordedVerdicts", folder: Path, *, as_json: bool) -> None:
    """Print the verdicts of a run.

    Raises:
        ModelError: the model failed for some items. The verdicts on the others are printed first.
    """
    if as_json:
        print_json(_as_json(recorded, folder))
    else:
        _SHOWN[recorded.judging](recorded)
        _print_agreement(recorded)
    _raise_failures(recorded)


def _print_agreement(recorded: "RecordedVerdicts") -> None:
    for measure, alpha in _agreement(recorded).items():
        value = _MISSING if alpha is None else f"{alpha:.2f}"
        print_text(f"Agreement of the panel on {measure} (Krippendorff's alpha): {value}")


def _print_replies(recorded: "RecordedVerdicts") -> None:
    for item in recorded.items:
        about = item.about
        print_text(f"> {_short(about['question'])}")
        print_text(f"{about['name']}: {_short(about['reply']) or '(nothing)'}")
        print_table(
            ("MEASURE", "VALUE", *_people_column(item), *_panel_column(item), "REASON"),
            [_row(one, recorded, item) for one in item.verdicts],
        )
        print_text("")
    rows = [_summary_row(one, recorded) for one in _summaries(recorded)]
    print_table(("MEASURE", "MEAN", "95 % INTERVAL", "N", "NOT SCORED"), rows)


def _print_pairs(recorded: "RecordedVerdicts") -> None:
    from rolellm_agents.judging.pooling import members_of
    from rolellm_agents.judging.position import position_bias

    rows = [(*_pair_row(item),) for item in recorded.items]
    print_table(("PERSONA", "QUESTION", "BETTER", "A FIRST", "B FIRST", "REASON"), rows)
    print_text("")
    for one in _summaries(recorded):
        if one.mean is None:
            print_text("No pair has a verdict.")
            continue
        interval = (
            f" (95 % interval {one.ci95[0]:.0%} to {one.ci95[1]:.0%}, by {one.clustered_by})"
            if one.ci95
            else ""
        )
        missing = sum(one.unscored.values())
        print_text(
            f"A is better than B in {one.mean:.0%} of {one.n} pairs, a tie counting half{interval}"
            + (f"; {missing} have no verdict" if missing else "")
            + "."
        )
    words = _words(recorded)
    print_text(f"Mean words of a reply: A {words['a']:.0f}, B {words['b']:.0f}.")
    bias = position_bias(members_of(recorded.verdicts))
    if bias.first_preferred is not None and bias.consistent is not None:
        print_text(
            f"Position: the first reply was preferred in {bias.first_preferred:.0%}; both orders "
            f"agreed in {bias.consistent:.0%} of {bias.n} pairs."
        )


def _print_scenes(recorded: "RecordedVerdicts") -> None:
    from rolellm_agents.judging.pooling import members_of

    for item in recorded.items:
        print_text(f"{item.about['title']} ({item.about['key']})")
        flaws = sorted(
            (flaw["line"], -flaw["severity"], flaw["speaker"], one.measure, flaw["what"])
            for one in members_of(item.verdicts)
            for flaw in one.details.get("flaws", [])
        )
        print_table(
            ("LINE", "SEVERITY", "WHO", "KIND", "FLAW"),
            [
                (str(line), str(-severity), who or _MISSING, kind, what)
                for line, severity, who, kind, what in flaws
            ],
        )
        print_text("")
        print_table(
            ("KIND", "SCORE", "FLAWS", "DROPPED", "LINES"), [_score_row(one) for one in item.verdicts]
        )
        values = [one.value for one in item.verdicts if one.value is not None]
        if values:
            print_text(f"Overall: {sum(values) / len(values):.1f} of 100")
        print_text("")
    if len(recorded.items) > 1:
        rows = [_summary_row(one, recorded) for one in _summaries(recorded)]
        print_table(("KIND", "MEAN", "95 % INTERVAL", "N", "NOT SCORED"), rows)


_SHOWN: "Mapping[str, Callable[[RecordedVerdicts], None]]" = {
    "replies": _print_replies,
    "pairs": _print_pairs,
    "scenes": _print_scenes,
}


def _row(verdict: "Verdict", recorded: "RecordedVerdicts", item: "RecordedItem") -> tuple[str, ...]:
    each = [_value(value, recorded) for value in _each(verdict)]
    people = ", ".join(f"{aspect} {value:.1f}" for aspect, value in _people(verdict).items())
    return (
        verdict.measure,
        _value(verdict.value, recorded),
        *([people] if _people_column(item) else []),
        *([", ".join(each)] if each else []),
        _reason(verdict),
    )


def _people_column(item: "RecordedItem") -> tuple[str, ...]:
    return ("PEOPLE",) if any(_people(one) for one in item.verdicts) else ()


def _people(verdict: "Verdict") -> Mapping[str, float]:
    """The scores that people would give, by a calibration."""
    from rolellm_agents.judging.calibration import PEOPLE

    found: Mapping[str, float] = verdict.details.get(PEOPLE, {})
    return found


def _panel_column(item: "RecordedItem") -> tuple[str, ...]:
    return ("EACH",) if any(_each(one) for one in item.verdicts) else ()


def _each(verdict: "Verdict") -> list[float | None]:
    """The value of each judge of a panel."""
    return [one["value"] for one in verdict.details.get("verdicts", [])]


def _pair_row(item: "RecordedItem") -> tuple[str, ...]:
    verdict = item.verdicts[0]
    orders = [*verdict.details.get("orders", []), None, None]
    return (
        str(item.about["name"]),
        _short(item.about["question"], 60),
        _better(verdict.value),
        *(_better(order) for order in orders[:2]),
        _reason(verdict),
    )


def _better(value: float | None) -> str:
    if value is None:
        return _MISSING
    return "tie" if value == 0.5 else "A" if value > 0.5 else "B"


def _score_row(verdict: "Verdict") -> tuple[str, ...]:
    details = verdict.details
    if verdict.value is None or "flaws" not in details:
        return (verdict.measure, _MISSING if verdict.value is None else f"{verdict.value:.1f}", "", "", "")
    return (
        verdict.measure,
        f"{verdict.value:.1f}",
        str(len(details["flaws"])),
        str(details["dropped"]),
        str(details["lines"]),
    )


def _summary_row(one: "MeasureSummary", recorded: "RecordedVerdicts") -> tuple[str, ...]:
    interval = f"{one.ci95[0]:.2f} to {one.ci95[1]:.2f} (by {one.clustered_by})" if one.ci95 else _MISSING
    unscored = ", ".join(f"{count} {status}" for status, count in sorted(one.unscored.items()))
    return (
        one.measure,
        _MISSING if one.mean is None else f"{one.mean:.2f}",
        interval,
        str(one.n),
        unscored,
    )


def _value(value: float | None, recorded: "RecordedVerdicts") -> str:
    if value is None:
        return _MISSING
    return f"{value:g} of 5" if recorded.config.get("judge") == "rubric" else f"{value:+.3f}"


def _reason(verdict: "Verdict") -> str:
    reason = _short(verdict.reason, 240)
    return reason if verdict.status == "scored" else f"[{verdict.status}] {reason}"


def _short(text: object, width: int = _WIDTH) -> str:
    from rolellm_agents.text import one_line

    return one_line(str(text), width)


def _summaries(recorded: "RecordedVerdicts") -> "list[MeasureSummary]":
    from rolellm_agents.judging.summary import summarize

    personas = {
        str(item.about["key"]): str(item.about.get("persona", item.about["key"])) for item in recorded.items
    }
    return summarize(recorded.verdicts, personas)


def _words(recorded: "RecordedVerdicts") -> dict[str, float]:
    """The mean words of both systems' replies."""
    from statistics import fmean

    from rolellm_agents.metrics import word_count

    abouts = [item.about for item in recorded.items]
    return {
        name: fmean(word_count(about[key], about["language"]) for about in abouts) if abouts else 0.0
        for name, key in (("a", "first"), ("b", "second"))
    }


def _agreement(recorded: "RecordedVerdicts") -> Mapping[str, float | None]:
    """Agreement of a panel on each measure; empty for a single judge."""
    from rolellm_agents.judging.pooling import agreement, members_of

    members = members_of(recorded.verdicts)
    return agreement(members) if len(members) > len(recorded.verdicts) else {}


def _as_json(recorded: "RecordedVerdicts", folder: Path) -> dict[str, Any]:
    from dataclasses import asdict

    from rolellm_agents.judging.json_form import verdict_to_json
    from rolellm_agents.judging.pooling import members_of
    from rolellm_agents.judging.position import position_bias

    summaries = [{**asdict(one), "unscored": dict(one.unscored)} for one in _summaries(recorded)]
    result: dict[str, Any] = {
        "folder": str(folder),
        "judging": recorded.judging,
        "config": dict(recorded.config),
        "summary": summaries,
        "agreement": dict(_agreement(recorded)),
    }
    if recorded.judging == "pairs":
        result["position"] = asdict(position_bias(members_of(recorded.verdicts)))
        result["words"] = _words(recorded)
    result["items"] = [
        {**item.about, "verdicts": [verdict_to_json(one) for one in item.verdicts]}
        for item in recorded.items
    ]
    return result


def _raise_failures(recorded: "RecordedVerdicts") -> None:
    """Raise an error if the model failed at some verdicts."""
    from rolellm_agents.errors import ModelError
    from rolellm_agents.judging.pooling import members_of

    failed = [one for one in members_of(recorded.verdicts) if one.status == "model_error"]
    if failed:
        raise ModelError(
            f"The judge's model failed at {len(failed)} verdicts ({failed[0].reason.rstrip('.')}). Run the "
            "same command to retry them."
        )
