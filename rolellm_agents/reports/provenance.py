"""Provenance of a run: versions, settings, and the command that reproduces it."""

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from rolellm_agents.reports.content import Block, Fold, Section, TableBlock, TextBlock
from rolellm_agents.reports.number_format import MISSING
from rolellm_agents.reports.reading import ReadRun


def made(run: ReadRun, *, notes: Iterable[str] = ()) -> Section:
    """Build the section about a run's provenance."""
    blocks: list[Block] = [TextBlock(note) for note in notes]
    blocks.append(
        TableBlock(
            ("What", "Value"),
            [
                ("Begun", run.begun or MISSING),
                ("Complete since", run.finished or "not complete"),
                *((f"Version of {name}", str(version)) for name, version in run.versions.items()),
            ],
            words=2,
            caption="When and with what.",
        )
    )
    if command := _command(run):
        blocks.append(TextBlock(f"The same again, by its settings: {command}"))
    settings = [(key, _setting(value)) for key, value in run.config.items()]
    blocks.append(
        Fold(
            "All settings",
            [TableBlock(("Setting", "Value"), settings, words=2, caption="As config.json has it.")],
        )
    )
    return Section("How it was made", blocks)


def _command(run: ReadRun) -> str:
    """The command of an evaluation; empty for judges' runs, whose settings do not name their sources."""
    config = run.config
    match run.kind:
        case "rolebench":
            words = ["rolellm", "eval", "rolebench", "--data", config["data"], "--split", config["split"]]
            words += ["--language", config["language"]]
            if len(config["kinds"]) == 1:
                words += ["--kind", config["kinds"][0]]
            words += [*_each("--model", config["models"]), *_each("--strategy", config["strategies"])]
            words += _given("--limit", config.get("limit"))
            words += _given("--personas", ",".join(config.get("roles") or ()))
            words += _each("--judge", run.results["files"].get("judges", {}))
        case "interviews":
            words = ["rolellm", "eval", "drift", "--personas", ",".join(config["personas"])]
            words += _each("--model", config["models"])
            words += ["--strategy", config["strategy"], "--turns", config["turns"]]
            words += [
                "--interviews",
                config["interviews"],
                *_given("--interviewer", config.get("interviewer")),
            ]
        case _:
            return ""
    words += _given("--max-tokens", _max_tokens(config["models"]))
    words += ["--at-once", config["at_once"], "--seed", config["seed"]]
    return shlex.join(map(str, words))


def _max_tokens(models: Mapping[str, Any]) -> Any:
    return next(
        (sampling["max_tokens"] for sampling in models.values() if sampling.get("max_tokens")), None
    )


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _given(option: str, value: Any) -> list[str]:
    return [option, str(value)] if value not in (None, "") else []


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
