"""The work of all engines, in the model's tokens."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp import library
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.tuning.settings import tuning_for
from rolellm_speed.engine.cast import bundled_roles, take
from rolellm_speed.engine.play import AT_ONCE
from rolellm_speed.engine.system import EngineTask
from rolellm_speed.engine.workload import OPENING, WorkloadScene, make_scene, slices

CARD_TOKENS = 350
PROMPT_TOKENS = 200
"""Number of prompt tokens before concurrent decoding."""
ANSWER_PROMPT_TOKENS = 350
"""Number of prompt tokens of a single answer, which are prefilled before the measurement."""
_DECODING_ROOM = 1024


class Size(NamedTuple):
    """The size of the scene."""

    characters: int = 4
    turns: int = 24
    reply: int = 32


class Entry(NamedTuple):
    """The module of an engine, and its requirements."""

    module: str
    tuned: bool = True
    needs: str = ""
    """An optional package that it needs."""


@dataclass(frozen=True)
class EnginePlan:
    """The work, which is the same for all engines."""

    scene: WorkloadScene
    prompts: list[list[int]]
    """Prompts for concurrent decoding."""
    warm_up: list[int]
    threads: int
    flash_attention: bool
    cache_type: str

    def jobs(self, entry: Entry, weights: Path) -> dict[str, EngineTask]:
        """An engine's two jobs, which run in separate processes to measure the scene's memory alone."""
        scene = EngineTask(
            module=entry.module,
            weights=str(weights),
            threads=self.threads,
            n_ctx=self.scene.room,
            sequences=len(self.scene.heads),
            tuned=entry.tuned,
            flash_attention=self.flash_attention,
            cache_type=self.cache_type,
            warm_up=self.warm_up,
            scene=self.scene,
        )
        decoding = replace(
            scene, n_ctx=_DECODING_ROOM, sequences=max(AT_ONCE), scene=None, prompts=self.prompts
        )
        return {"scene": scene, "decoding": decoding}

    def short_jobs(self, entry: Entry, weights: Path, limit: float) -> dict[str, EngineTask]:
        """An engine's jobs beside background processes: one answer, and the scene.

        Args:
            entry: the engine.
            weights: the model's file.
            limit: seconds for each job.
        """
        scene = replace(self.jobs(entry, weights)["scene"], limit=limit)
        prompt = (
            self.scene.heads[0][: ANSWER_PROMPT_TOKENS - len(self.scene.to_reply)] + self.scene.to_reply
        )
        answer = replace(
            scene, n_ctx=_DECODING_ROOM, sequences=1, scene=None, warm_up=prompt, answer_to=prompt
        )
        return {"answer": answer, "scene": scene}


def make_plan(weights: Path, size: Size, flash_attention: bool | None) -> EnginePlan:
    """Create the scene and tokenize it.

    Args:
        weights: the file whose vocabulary and chat template are used.
        size: the size of the scene.
        flash_attention: setting of the tuned engines; None uses the calibrated setting.

    Raises:
        ModelError: the scene is too long for the model.
        PersonaError: there are fewer characters.
    """
    model = LlamaModel(weights)

    def tokenize(text: str) -> list[int]:
        return model.tokenize(text, add_special=False)

    tuning = tuning_for(weights)
    roles = bundled_roles()
    scene = make_scene(
        take(roles, size.characters),
        tokenize=tokenize,
        render=model.template.render,
        card_tokens=CARD_TOKENS,
        turns=size.turns,
        reply=size.reply,
    )
    if scene.room > model.n_ctx_train:
        raise ModelError(
            f"The scene may come to {scene.longest:,} tokens, and {weights.name} holds "
            f"{model.n_ctx_train:,}; ask for fewer --turns or a shorter --reply."
        )
    plan = EnginePlan(
        scene=scene,
        prompts=slices(tokenize("\n".join(role.card for role in roles)), max(AT_ONCE), PROMPT_TOKENS),
        warm_up=tokenize(OPENING),
        threads=library.processors(),
        flash_attention=tuning.flash_attention if flash_attention is None else flash_attention,
        cache_type=tuning.cache_type,
    )
    model.close()
    return plan
