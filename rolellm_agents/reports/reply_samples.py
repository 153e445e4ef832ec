"""Replies of all systems side by side, in a fold for each role."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rolellm_agents.evaluation.columns import MAIN, PAPER
from rolellm_agents.reply_checks.detections import DETECTIONS
from rolellm_agents.reports.content import Block, Fold, QuestionBlock, ReplyBlock, TextBlock, VerdictBlock
from rolellm_agents.reports.number_format import MISSING, counted, short, system_name

_MARKS = {
    "loops" if name == "repetitive" else name.replace("-", "_"): meaning
    for name, meaning in DETECTIONS.items()
}
"""The meaning of each detection's column."""


def replies_by_role(
    lines: Sequence[Mapping[str, Any]], systems: Sequence[str], samples: int
) -> list[Block]:
    """Build a fold for each role, with some questions of each kind.

    `lines` are those of `scored.jsonl`, the systems in the order of their replies; `samples` is the number
    of questions of each kind for a role.
    """
    by_question: dict[tuple[str, str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        by_question[line["role"], line["kind"], line["number"]].append(line)
    by_role: dict[str, dict[str, list[list[Mapping[str, Any]]]]] = defaultdict(lambda: defaultdict(list))
    for (role, kind, _), held in sorted(by_question.items()):
        by_role[role][kind].append(held)
    shown = sum(min(samples, len(asked)) for kinds in by_role.values() for asked in kinds.values())
    lead = TextBlock(
        f"{counted(shown, 'question')} of {len(by_question):,}: the first {samples} of each role and kind. "
        "Every reply stands in the run's scored.jsonl."
    )
    folds = [_fold(role, kinds, systems, samples) for role, kinds in by_role.items()]
    return [lead, *folds]


def verdict_block(measure: str, verdict: Mapping[str, Any]) -> VerdictBlock:
    """Format a verdict; a verdict without a value shows its status."""
    value = verdict["value"]
    if value is None:
        return VerdictBlock(measure, verdict["status"], verdict["reason"])
    return VerdictBlock(
        measure, f"{value:+.3f}" if value != round(value) else f"{value:g}", verdict["reason"]
    )


def _fold(
    role: str, kinds: Mapping[str, list[list[Mapping[str, Any]]]], systems: Sequence[str], samples: int
) -> Fold:
    asked = [_asked(one, systems, kind) for kind, held in kinds.items() for one in held[:samples]]
    return Fold(f"{role} ({len(asked)} of {sum(map(len, kinds.values()))})", asked)


def _asked(lines: Sequence[Mapping[str, Any]], systems: Sequence[str], kind: str) -> QuestionBlock:
    first = lines[0]
    known = [f"known from training: {first['overlap']}"] if first["overlap"] else []
    by_system = {system_name(line): line for line in lines}
    return QuestionBlock(
        question=first["question"],
        replies=[_reply(name, by_system[name]) for name in systems if name in by_system],
        references=first["references"],
        marks=[kind.replace("_", "-"), *known],
    )


def _reply(name: str, line: Mapping[str, Any]) -> ReplyBlock:
    return ReplyBlock(
        by=name,
        text=line["reply"] or MISSING,
        marks=[
            f"F1 {short(line[MAIN])}",
            f"recall {short(line[PAPER])}",
            f"{line['words']:.0f} words",
            *(meaning for column, meaning in _MARKS.items() if line.get(column)),
        ],
        verdicts=[
            verdict_block(judge if judge == one["measure"] else f"{judge}: {one['measure']}", one)
            for judge, verdicts in line["verdicts"].items()
            for one in verdicts
        ],
    )
