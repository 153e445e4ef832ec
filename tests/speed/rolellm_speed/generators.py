"""Measures generators in long runs: items per second, memory, and the restart after a kill.

These use a scripted model. `python -m rolellm_speed.generators FOLDER ITEMS BEGAN` is the process that is
killed. A second measurement compares concurrent and sequential requests to the embedded model.
"""

import asyncio
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import psutil
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult

from rolellm_agents.generation.instructions import Instruction, bundled_instructions
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.local import load_model
from rolellm_agents.persona import Persona, list_personas, load_persona
from rolellm_graphs.generate.rolegpt import SAMPLES, RoleGPTRequest, rolegpt
from rolellm_graphs.generate.run import GenerationOutcome
from rolellm_graphs.runs.items import AT_ONCE, RunCallbacks, RunLimits, prepared

_MIB: Final = 2**20


class QuickModel(BaseChatModel):
    """Answers immediately, with words that depend only on the prompt and the seed."""

    seed: int = 0

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked = messages[-1].text
        digest = hashlib.sha256(f"{self.seed} {asked}".encode()).hexdigest()
        words = (
            f"I have turned it over in my mind, and I say {digest}: that is all there is to it, my friend."
        )
        usage = UsageMetadata(input_tokens=len(asked), output_tokens=20, total_tokens=len(asked) + 20)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(words, usage_metadata=usage))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages)

    @property
    def _llm_type(self) -> str:
        return "quick"


def measure_scripted(items: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure a run of `items` items that is killed once in the middle.

    Returns:
        `items_per_s`; resident memory after a tenth (`mib_at_tenth`) and half (`mib_at_half`) of the items,
        and its maximum (`mib_at_most`); `restart_s`, from the start of the new process to its first new
        item, of which `imports_s` were imports; `files_s`, for opening a finished run and writing its
        files; `bytes` of the items.
    """
    with tempfile.TemporaryDirectory(prefix="rolellm-bench-") as folder:
        progress(f"{items} items, until the half is done …")
        begun = list(_until(Path(folder), items, lambda event: event.get("done", 0) >= items // 2))
        progress("Killed; going on …")
        again = list(_until(Path(folder), items, lambda _: False))
        size = (Path(folder) / "items.jsonl").stat().st_size
    first, last = begun[0], begun[-1]
    first_new = next(event for event in again if "done" in event)
    ended = again[-1]
    tenth = min(begun, key=lambda event: abs(event.get("done", 0) - items // 10))
    return {
        "items": items,
        "items_per_s": round((last["done"] - first["done"]) / (last["s"] - first["s"]), 1),
        "mib_at_tenth": tenth["mib"],
        "mib_at_half": last["mib"],
        "mib_at_most": max(event["mib"] for event in again),
        "restart_s": first_new["s"],
        "imports_s": first_new["imports_s"],
        "files_s": ended["files_s"],
        "bytes": size,
    }


def _until(folder: Path, items: int, enough: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    """Yield the events of the process until it ends; kill it when `enough` returns True."""
    began = time.time()
    command = [sys.executable, "-m", __name__, str(folder), str(items), str(began)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            event = json.loads(line)
            yield event
            if enough(event):
                process.kill()
                return
    if process.returncode:
        raise RuntimeError(f"the measured process ended with {process.returncode}")


def _child(folder: Path, items: int, began: float) -> None:
    """Generate the items; report progress at the first item and after each percent."""
    imports = round(time.time() - began, 2)
    own = psutil.Process()
    reported = -1

    def on_progress(done: int, total: int) -> None:
        nonlocal reported
        if reported < 0:  # the items on disk
            reported = done
        elif done == reported + 1 or done * 100 // total > reported * 100 // total:
            reported = done if done * 100 // total > reported * 100 // total else reported
            _print(done=done, s=round(time.time() - began, 2), imports_s=imports, mib=_memory(own))

    asyncio.run(_generate(folder, items, on_progress))
    ended = time.time()
    # All items exist now, so this only reads them and writes the files.
    asyncio.run(_generate(folder, items, lambda _done, _total: None))
    _print(files_s=round(time.time() - ended, 2), mib=_memory(own))


def _memory(process: psutil.Process) -> float:
    return round(process.memory_info().rss / _MIB, 1)


def _print(**event: Any) -> None:
    print(json.dumps(event), flush=True)


async def _generate(folder: Path, items: int, on_progress: Callable[[int, int], None]) -> GenerationOutcome:
    personas, instructions = _material(items)
    request = RoleGPTRequest(personas=personas, instructions=instructions)
    return await rolegpt(
        request,
        QuickModel(),
        model_name="quick",
        folder=folder,
        limits=RunLimits(at_once=AT_ONCE),
        callbacks=RunCallbacks(progress=on_progress),
    )


def _material(items: int) -> tuple[tuple[Persona, ...], tuple[Instruction, ...]]:
    """The English cast, and enough instructions for at least `items` items."""
    cast = tuple(found.persona for found in list_personas().found if found.persona.language == "en")
    wanted = -(-items // (len(cast) * SAMPLES))
    own = bundled_instructions().of("en")
    made = tuple(
        Instruction(f"{number}", f"{own[number % len(own)].text} ({number})", "en", "")
        for number in range(wanted)
    )
    return cast, made


def measure_embedded(items: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Compare concurrent and sequential requests to the embedded model, with six answers per instruction.

    Each uses different instructions, because the model keeps prompts in its KV cache. The persona's
    instruction is prefilled before the measurement.

    Returns:
        `at_once_per_min`, `one_by_one_per_min`, and their ratio `times`.
    """
    model = prepared(get_model("llamacpp:smollm2", max_tokens=64), AT_ONCE)
    load_model(model)
    first, *others = (one for one in bundled_instructions().all if one.language == "en")
    asyncio.run(_per_minute(model, [first], 1))
    per_minute = {}
    for number, (name, at_once) in enumerate((("at_once", AT_ONCE), ("one_by_one", 1))):
        progress(f"{items} items through the embedded model, {at_once} at once …")
        per_minute[name] = asyncio.run(
            _per_minute(model, others[number::2][: max(1, items // SAMPLES)], at_once)
        )
    return {
        "embedded_items": items,
        "at_once_per_min": round(per_minute["at_once"], 1),
        "one_by_one_per_min": round(per_minute["one_by_one"], 1),
        "times": round(per_minute["at_once"] / per_minute["one_by_one"], 2),
    }


async def _per_minute(model: BaseChatModel, instructions: Sequence[Instruction], at_once: int) -> float:
    request = RoleGPTRequest(
        personas=(load_persona("sherlock-holmes"),), instructions=tuple(instructions), samples=SAMPLES
    )
    with tempfile.TemporaryDirectory(prefix="rolellm-bench-") as folder:
        began = time.perf_counter()
        await rolegpt(
            request, model, model_name="smollm2", folder=Path(folder), limits=RunLimits(at_once=at_once)
        )
        return 60 * SAMPLES * len(instructions) / (time.perf_counter() - began)


if __name__ == "__main__":
    _child(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
