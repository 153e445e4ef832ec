"""Compares the speed of scoring replies with Google's `rouge_score` (`rolellm bench rouge`)."""

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
    """Generate replies of RoleBench's length with one to five references, from the cast's sentences.

    Each reference starts with the beginning of the reply, so that they overlap.
    """
    rng = random.Random(seed)  # no secret
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"]
    spoken = " ".join(pair.reply for persona in cast for pair in persona.demonstrations).split()

    def said(length: int) -> str:
        begin = rng.randrange(len(spoken) - length)
        return " ".join(spoken[begin : begin + length])

    answers = []
    for _ in range(count):
        reply = said(rng.randint(10, 90))
        half = " ".join(reply.split()[: len(reply.split()) // 2])
        references = [f"{half} {said(rng.randint(5, 45))}" for _ in range(rng.randint(1, _REFERENCES))]
        answers.append(ReferencedReply(reply, references, "en"))
    return answers


def measure_rouge(
    answers: Sequence[ReferencedReply], sample: int, progress: Progress = lambda _: None
) -> list[dict[str, Any]]:
    """Measure the CPU time for all answers, and that of `rouge_score` if it is installed.

    Args:
        answers: replies and references in English.
        sample: number of answers that `rouge_score` scores; its time is extrapolated to all.
        progress: called with a description of each step.

    Returns:
        A row for each measure, and one for all measures together: `measure`, `replies`, `references`,
        `seconds` and `rouge_score_seconds` of CPU time, `times_as_fast`, and `greatest_difference` of a
        score. The last three are None without `rouge_score`.
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
    """The CPU time of `rouge_score`, and its scores for each measure."""
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
    """CPU time in seconds, which other programs affect little."""
    began = time.process_time()
    work()
    return time.process_time() - began
