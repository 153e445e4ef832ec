"""Ask several characters several questions at once, score their answers, and keep all of it as JSON.

    python docs/examples/batch_evaluation.py evaluation.json

For each character, the report has the share of answers that are in role, that talk like an assistant, and
that contain a catchphrase; and how much more likely the persona makes its answers, if the model gives
log-probabilities, as models in this process do. `ROLELLM_MODEL` selects another model.
"""

import argparse
import asyncio
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from langchain_core.language_models import BaseChatModel

from rolellm_agents import Persona, get_model, load_persona
from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import ModelError
from rolellm_agents.judging.judged import ConversationTurn, Judged
from rolellm_agents.reply_checks.catchphrases import catchphrase_use
from rolellm_agents.reply_checks.detections import detect, detection_shares
from rolellm_graphs import RoleChatModel
from rolellm_graphs.judge.likelihood import LikelihoodJudge

PERSONAS = ("sherlock-holmes", "jack-sparrow", "john-keating")
QUESTIONS = ("Who are you?", "What are you afraid of?", "How do you spend a rainy Sunday?")


@dataclass(frozen=True)
class Scores:
    """How one character did; the first three are shares of its answers."""

    persona: str
    in_role: float
    ai_talk: float
    catchphrases: float
    likelihood: float | None
    """Nats that the persona adds to each token; None if the model gives no log-probabilities."""
    answers: dict[str, str]
    """By their questions."""


async def evaluate(persona: Persona, model: BaseChatModel, judge: LikelihoodJudge | None) -> Scores:
    """Ask a character all questions at once, and score what it says."""
    asked = await RoleChatModel(persona, model=model, strategy="system").abatch(list(QUESTIONS))
    answers: dict[str, str] = {
        question: answer.text for question, answer in zip(QUESTIONS, asked, strict=True)
    }
    shares = detection_shares(detect(answer, persona, question) for question, answer in answers.items())
    return Scores(
        persona=persona.id,
        in_role=shares["in_role"],
        ai_talk=shares["ai-talk"],
        catchphrases=catchphrase_use([*answers.values()], persona).share,
        likelihood=await likelihood(persona, answers, judge) if judge else None,
        answers=answers,
    )


async def likelihood(persona: Persona, answers: dict[str, str], judge: LikelihoodJudge) -> float | None:
    """The mean over all answers that can be judged."""
    judged = [
        Judged(key=question, persona=persona, turns=(ConversationTurn("user", question),), reply=answer)
        for question, answer in answers.items()
    ]
    verdicts = [verdict for given in await asyncio.gather(*map(judge.judge, judged)) for verdict in given]
    values = [verdict.value for verdict in verdicts if verdict.value is not None]
    return fmean(values) if values else None


def judge_of(model: BaseChatModel, name: str) -> LikelihoodJudge | None:
    """The model as its own judge; None if it gives no log-probabilities."""
    try:
        return LikelihoodJudge(model, model_name=name)
    except ModelError:
        return None


async def evaluate_all(name: str) -> list[Scores]:
    """All characters side by side; a model in this process answers them in one batch."""
    model = get_model(name, conversations=len(PERSONAS) * len(QUESTIONS))
    judge = judge_of(model, name)
    return await asyncio.gather(*(evaluate(load_persona(one), model, judge) for one in PERSONAS))


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Ask several characters several questions, and score them."
    )
    parser.add_argument("file", type=Path, help="the JSON file to write")
    file: Path = parser.parse_args().file
    scores = asyncio.run(evaluate_all(load_settings().model))
    file.write_text(json.dumps([asdict(one) for one in scores], indent=2, ensure_ascii=False), "utf-8")
    print(f"{'':20}{'in role':>10}{'AI talk':>10}{'phrases':>10}{'likelier':>10}")
    for one in scores:
        likelier = "–" if one.likelihood is None else f"{one.likelihood:+.2f}"
        shares = "".join(f"{share:>10.0%}" for share in (one.in_role, one.ai_talk, one.catchphrases))
        print(f"{one.persona:20}{shares}{likelier:>10}")


if __name__ == "__main__":
    main()
