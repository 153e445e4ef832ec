"""How fast replies are scored, beside Google's `rouge_score`; run by `rolellm bench rouge`."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from rolellm_agents.metrics.measures import ReferencedReply, score_many
from rolellm_agents.persona import list_personas

_GOOGLE: Final = {"rouge-1-f1": "rouge1", "rouge-2-f1": "rouge2", "rouge-l-f1": "rougeL"}
_BESIDE: Final = ("rouge_score_seconds", "times_as_fast", "greatest_difference")
_REFERENCES: Final = 5
_ROUNDS: Final = 3

Progress = Callable[[str], None]


def made_answers(count: int, seed: int = 0) -> list[ReferencedReply]:
    """Replies with one to five references, of sentences of the cast, as long as RoleBench's answers.

    A reference begins as the reply does, so that they have something in common.
    """
    drawn = random.Random(seed)  # no secret
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"]
    spoken = " ".join(pair.reply for persona in cast for pair in persona.demonstrations).split()

    def said(length: int) -> str:
        begin = drawn.randrange(len(spoken) - length)
        return " ".join(spoken[begin : begin + length])

    answers = []
    for _ in range(count):
        reply = said(drawn.randint(10, 90))
        half = " ".join(reply.split()[: len(reply.split()) // 2])
        references = [f"{half} {said(drawn.randint(5, 45))}" for _ in range(drawn.randint(1, _REFERENCES))]
        answers.append(ReferencedReply(reply, references, "en"))
    return answers


def measure_rouge(
    answers: Sequence[ReferencedReply], sample: int, progress: Progress = lambda _: None
) -> list[dict[str, Any]]:
    """Seconds for all answers by us, and by `rouge_score` where it is installed.

    Args:
        answers: in English.
        sample: how many of them `rouge_score` scores; its seconds are scaled to all.
        progress: is told what is going on.

    Returns:
        A row for each measure and one for all at once: `measure`, `replies`, `references`, `seconds` and
        `rouge_score_seconds` of processor time, `times_as_fast`, and `greatest_difference` of a score.
        The last three are None without `rouge_score`.
    """
    rows = []
    for measures in (*((name,) for name in _GOOGLE), tuple(_GOOGLE)):
        name = measures[0] if len(measures) == 1 else "all three"
        progress(f"{name} …")
        rows.append(
            {
                "measure": name,
                "replies": len(answers),
                "references": sum(len(answer.references) for answer in answers),
                **_beside(answers, measures, sample),
            }
        )
    return rows


def _beside(answers: Sequence[ReferencedReply], measures: Sequence[str], sample: int) -> dict[str, Any]:
    ours = min(_seconds(lambda: score_many(answers, measures)) for _ in range(_ROUNDS))
    few = answers[:sample]
    try:
        theirs, values = _by_google(few, measures)
    except ImportError:
        return {"seconds": round(ours, 2), **dict.fromkeys(_BESIDE)}
    scaled = theirs * len(answers) / len(few)
    return {
        "seconds": round(ours, 2),
        "rouge_score_seconds": round(scaled, 1),
        "times_as_fast": round(scaled / ours, 1),
        "greatest_difference": _difference(score_many(few, measures), values),
    }


def _by_google(
    answers: Sequence[ReferencedReply], measures: Sequence[str]
) -> tuple[float, dict[str, list[float]]]:
    """Its seconds, and for each measure its scores."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer([_GOOGLE[name] for name in measures])
    scored: list[Any] = []
    seconds = _seconds(
        lambda: scored.extend(scorer.score_multi(answer.references, answer.reply) for answer in answers)
    )
    return seconds, {name: [one[_GOOGLE[name]].fmeasure for one in scored] for name in measures}


def _difference(one: dict[str, list[float]], other: dict[str, list[float]]) -> float:
    return max(
        abs(ours - theirs) for name in one for ours, theirs in zip(one[name], other[name], strict=True)
    )


def _seconds(work: Callable[[], object]) -> float:
    """Of the processor: what else the machine does is not counted."""
    began = time.process_time()
    work()
    return time.process_time() - began
