"""Convert runs to logs of inspect_ai (UK AI Security Institute): its EvalLog, version 2, as JSON.

The format follows inspect_ai 0.3.285 (`inspect_ai/log/_log.py`); the library is not needed. A log covers
one model, so each system of a run has its own log.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rolellm_agents.evaluation.columns import MAIN, SCORES
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.reports.errors import ReportError
from rolellm_agents.reports.number_format import distinct, system_name
from rolellm_agents.reports.reading import ReadRun, damaged
from rolellm_agents.runs.seeds import digest_of

VERSION: Final = 2
_STOPPED: Final = "stop"


def inspect_logs(run: ReadRun) -> list[tuple[str, dict[str, Any]]]:
    """The log of each system, with the system's name.

    Raises:
        ReportError: the run is not a run of `rolellm eval rolebench`, or its results are damaged.
    """
    if run.kind != "rolebench":
        raise ReportError(
            f"{run.folder} is not a run of “rolellm eval rolebench”; only "
            "such runs can be converted to logs of inspect_ai."
        )
    try:
        systems = distinct(system_name(line) for line in run.lines)
        return [
            (name, _log(run, [one for one in run.lines if system_name(one) == name])) for name in systems
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(run, error) from error


def write_inspect_logs(run: ReadRun, to: Path) -> list[Path]:
    """Write a log for each system.

    Args:
        run: a run of `rolellm eval rolebench`.
        to: the file; with several systems, each system's name is inserted before the suffix.

    Raises:
        ReportError: as in `inspect_logs`, or a file cannot be written.
    """
    logs = inspect_logs(run)
    files = []
    for name, log in logs:
        slug = re.sub(r"[^\w.-]+", "-", name).strip("-")
        file = to if len(logs) == 1 else to.with_name(f"{to.stem}-{slug}.json")
        write_atomically(file, json.dumps(log, ensure_ascii=False, indent=1) + "\n", ReportError)
        files.append(file)
    return files


def _log(run: ReadRun, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = lines[0]
    name = system_name(first)
    rows = [
        row
        for row in run.results["rows"]
        if (row["model"], row["strategy"]) == (first["model"], first["strategy"])
    ]
    identity = digest_of(f"{run.config} {name}")
    began, ended = run.begun, run.finished or run.begun
    return {
        "version": VERSION,
        "status": "success" if run.results["complete"] else "cancelled",
        "eval": {
            "eval_id": identity,
            "run_id": digest_of(str(run.config)),
            "created": began,
            "task": "rolebench",
            "task_id": identity,
            "task_version": run.results["format"],
            "task_args": dict(run.config),
            "solver": first["strategy"],
            "dataset": {
                "name": "RoleBench",
                "location": str(run.config["data"]),
                "samples": len(lines),
                "sample_ids": [_id(one) for one in lines],
                "shuffled": False,
            },
            # inspect_ai names models PROVIDER/NAME.
            "model": first["model"].replace(":", "/", 1),
            "model_args": run.config["models"].get(first["model"], {}),
            "config": {},
            "packages": dict(run.versions),
            "metadata": {"system": name},
        },
        "plan": {"name": first["strategy"], "steps": [{"solver": first["strategy"], "params": {}}]},
        "results": {
            "total_samples": sum(row["n"] + row["missing"] for row in rows),
            "completed_samples": len(lines),
            "scores": [score for row in rows for score in _scores(row)],
        },
        "stats": {"started_at": began, "completed_at": ended, "model_usage": _usage(lines)},
        "samples": [_sample(one) for one in lines],
    }


def _scores(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in SCORES:
        if row[name] is not None:
            ci95 = row["ci95" if name == MAIN else f"{name}_ci95"]
            yield _score(name, row["kind"], row[name], ci95, row["n"], row["missing"])
    for one in row["judged"]:
        if one["mean"] is not None:
            without = sum(one["unscored"].values())
            yield _score(
                _judge(one["judge"], one["measure"]),
                row["kind"],
                one["mean"],
                one["ci95"],
                one["n"],
                without,
            )


def _score(
    name: str, kind: str, mean: float, ci95: Sequence[float] | None, n: int, missing: int
) -> dict[str, Any]:
    metrics = {"mean": mean}
    if ci95 is not None:
        metrics |= {"ci95_low": ci95[0], "ci95_high": ci95[1]}
    return {
        "name": f"{name} ({kind})",
        "scorer": name,
        "scored_samples": n,
        "unscored_samples": missing,
        "params": {"kind": kind},
        "metrics": {metric: {"name": metric, "value": value} for metric, value in metrics.items()},
    }


def _sample(line: Mapping[str, Any]) -> dict[str, Any]:
    usage = _tokens(line)
    return {
        "id": _id(line),
        "epoch": 1,
        "input": line["question"],
        "target": list(line["references"]),
        "messages": [
            {"role": "user", "content": line["question"], "source": "input"},
            {"role": "assistant", "content": line["reply"], "source": "generate"},
        ],
        "output": {
            "model": line["model"].replace(":", "/", 1),
            "choices": [
                {
                    "message": {"role": "assistant", "content": line["reply"], "source": "generate"},
                    "stop_reason": "max_tokens" if line["cut"] else _STOPPED,
                }
            ],
            **({"usage": usage} if usage else {}),
        },
        "scores": {**_measured(line), **_verdicts(line)},
        "metadata": {
            "role": line["role"],
            "kind": line["kind"],
            "strategy": line["strategy"],
            "known_from_training": line["overlap"] or None,
            "words": line["words"],
        },
        **({} if line["seconds"] is None else {"total_time": line["seconds"]}),
    }


def _measured(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {"value": line[name], "answer": line["reply"]} for name in SCORES}


def _verdicts(line: Mapping[str, Any]) -> dict[str, Any]:
    """The verdicts with a value; inspect_ai would read the others as zero."""
    return {
        _judge(judge, one["measure"]): {
            "value": one["value"],
            "answer": line["reply"],
            "explanation": one["reason"],
        }
        for judge, verdicts in line["verdicts"].items()
        for one in verdicts
        if one["value"] is not None
    }


def _judge(judge: str, measure: str) -> str:
    return judge if judge == measure else f"{judge}.{measure}"


def _usage(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = [usage for line in lines if (usage := _tokens(line))]
    if not known:
        return {}
    return {
        lines[0]["model"].replace(":", "/", 1): {name: sum(one[name] for one in known) for name in known[0]}
    }


def _tokens(line: Mapping[str, Any]) -> dict[str, int]:
    if line["prompt_tokens"] is None:
        return {}
    read, new, written = (int(line[name]) for name in ("prompt_tokens", "new_tokens", "reply_tokens"))
    return {
        "input_tokens": new,
        "input_tokens_cache_read": read - new,
        "output_tokens": written,
        "total_tokens": read + written,
    }


def _id(line: Mapping[str, Any]) -> str:
    """The id of a sample, the same for all systems, so that their logs can be compared."""
    return f"{line['kind']}/{line['role']}/{line['number']}"
