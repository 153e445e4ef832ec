"""Speaker identification on RoleBench's published answers, from which names are removed."""

import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from langchain_core.language_models import BaseChatModel

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.datasets import Part, find_file, read_samples
from rolellm_agents.errors import PersonaError
from rolellm_agents.judging.speakers import Speaker, identification_rate, sample_speakers, without_name
from rolellm_agents.persona import Persona, list_personas
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.runs.folder import Run, open_run
from rolellm_agents.runs.seeds import digest_of
from rolellm_graphs.judge.likelihood import LikelihoodJudge

_LANGUAGE: Final = "en"
"""RoleBench's Chinese part has only five roles."""


@dataclass(frozen=True, kw_only=True)
class SpeakersRequest:
    """The settings of a speaker identification."""

    data: Path
    """A folder of RoleBench."""
    part: Part = "test"
    candidates: tuple[int, ...] = (5, 100)
    """Numbers of candidates; at most the cast's size."""
    replies: tuple[int, ...] = (1, 5)
    """Numbers of replies per decision."""
    speakers: int | None = None
    """The number of sampled speakers; all when None."""
    background: int = 0
    """The number of training answers from which each candidate's mean evidence is estimated."""
    seed: int = 0
    """Seed of the sampled speakers, candidates and background."""


@dataclass(frozen=True)
class _Task:
    """The sampled speakers and their replies."""

    speakers: Sequence[Speaker]
    texts: Mapping[str, str]
    """Replies by key."""
    background: Sequence[str]
    most: int
    """The most candidates of each speaker."""

    def for_candidate(self, name: str) -> list[str]:
        """The keys of the replies that are scored for one candidate."""
        return [
            key
            for speaker in self.speakers
            if name in speaker.candidates(self.most)
            for key in speaker.replies
        ]


def measure_speakers(
    request: SpeakersRequest,
    model: BaseChatModel,
    *,
    model_name: str,
    folder: Path,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[dict[str, Any]]:
    """Identify the speakers of RoleBench's answers by the likelihood judge.

    The questions are not used, because most of them contain the speaker's name.

    The model returns log-probabilities. A stopped run resumes in its folder. `on_progress` is called with
    the number of finished candidates and of all candidates.

    Returns:
        For each number of candidates and of replies `candidates`, `replies`, `background`, `n`, `right`,
        `ci95` (percentile bootstrap, clustered by speaker), `chance` and `seconds` per answer, including
        the prompts.

    Raises:
        RoleBenchError: there are no such answers.
        PersonaError: none of their roles is a persona.
        ModelError: the model gives no log-probabilities, or cannot be used; finished items are kept.
        StorageError: the folder cannot be written, or contains another run.
    """
    cast = {
        one.persona.name: with_macros(one.persona, DEFAULT_USER)
        for one in list_personas().found
        if one.persona.language == _LANGUAGE
    }
    task = _task(request, [*cast])
    judge = LikelihoodJudge(model, model_name=model_name)
    with open_run(folder, _config(request, model_name, cast)) as run:
        asyncio.run(_collect_evidence(task, cast, judge, run, on_progress))
        rows = _rows(task, request, run)
        run.finish({"rows": rows})
    return rows


def run_name(request: SpeakersRequest, model_name: str) -> str:
    """The default folder name of a run with these settings."""
    return f"speakers-{digest_of(f'{request} {model_name}')[:8]}"


def _task(request: SpeakersRequest, cast: Sequence[str]) -> _Task:
    answers = _answers(request.data, request.part)
    needed = max(request.replies)
    replies = {
        role: [f"{role}/{number}" for number in range(needed)]
        for role, texts in answers.items()
        if len(texts) >= needed
    }
    speakers = sample_speakers(replies, cast, most=request.speakers, seed=request.seed)
    if not speakers:
        raise PersonaError(
            f"No persona has {needed} answers of {request.part}.jsonl in {request.data}; "
            "“rolellm persona list” shows the cast's names."
        )
    texts = {key: answers[one.id][place] for one in speakers for place, key in enumerate(one.replies)}
    return _Task(speakers, texts, _background(request, texts), min(max(request.candidates), len(cast)))


def _answers(data: Path, part: Part) -> dict[str, list[str]]:
    """The first answer of each row by role, without the role's name."""
    file = find_file(data, part, kind="role_specific", language=_LANGUAGE)
    answers: defaultdict[str, list[str]] = defaultdict(list)
    for sample in read_samples(file):
        text = without_name(sample.references[0].strip().strip('"'), sample.role)
        if any(letter.isalnum() for letter in text):
            answers[sample.role].append(text)
    return answers


def _background(request: SpeakersRequest, judged: Mapping[str, str]) -> list[str]:
    if not request.background:
        return []
    taken = set(judged.values())
    unused = [
        text for some in _answers(request.data, "train").values() for text in some if text not in taken
    ]
    generator = random.Random(request.seed)  # noqa: S311 (a sample, no secret)
    return generator.sample(unused, min(request.background, len(unused)))


async def _collect_evidence(
    task: _Task,
    cast: Mapping[str, Persona],
    judge: LikelihoodJudge,
    run: Run,
    on_progress: Callable[[int, int], None],
) -> None:
    """Score all replies by candidate, so that each prompt is prefilled once."""
    needed = [name for name in cast if task.for_candidate(name)]
    for done, name in zip(count(1), needed, strict=False):
        keys = task.for_candidate(name)
        if name not in run.items:
            started = time.perf_counter()
            found = await judge.evidence([*(task.texts[key] for key in keys), *task.background], cast[name])
            run.append(
                name,
                {
                    "evidence": dict(zip(keys, found, strict=False)),
                    "background": found[len(keys) :],
                    "seconds": round(time.perf_counter() - started, 3),
                },
            )
        on_progress(done, len(needed))


def _rows(task: _Task, request: SpeakersRequest, run: Run) -> list[dict[str, Any]]:
    evidence = {name: item["evidence"] for name, item in run.items.items()}
    background = {name: item["background"] for name, item in run.items.items()}
    seconds = sum(item["seconds"] for item in run.items.values())
    judged = sum(len(item["evidence"]) + len(item["background"]) for item in run.items.values())
    rows = []
    for wanted in request.candidates:
        candidates = min(wanted, task.most)
        for pooled in request.replies:
            for background_scores in ({}, background) if task.background else ({},):
                found = identification_rate(
                    task.speakers, evidence, background_scores, candidates=candidates, pooled=pooled
                )
                if found is None:
                    continue
                known = found.low is not None and found.high is not None
                rows.append(
                    {
                        "candidates": candidates,
                        "replies": pooled,
                        "background": len(task.background) if background_scores else 0,
                        "n": found.n,
                        "right": round(found.mean, 4),
                        "ci95": [round(found.low or 0.0, 4), round(found.high or 0.0, 4)]
                        if known
                        else None,
                        "chance": round(1 / candidates, 4),
                        "seconds": round(seconds / judged * candidates * pooled, 3),
                    }
                )
    return rows


def _config(request: SpeakersRequest, model_name: str, cast: Mapping[str, Persona]) -> dict[str, Any]:
    personas = "".join(one.model_dump_json() for one in cast.values())
    return {
        "data": str(request.data.resolve()),
        "part": request.part,
        "candidates": list(request.candidates),
        "replies": list(request.replies),
        "speakers": request.speakers,
        "background": request.background,
        "seed": request.seed,
        "model": model_name,
        "cast": digest_of(personas),
    }
