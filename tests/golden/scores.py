"""Results of benchmarks over small recorded answers: tables, JSON and reports."""

import json
from pathlib import Path

from helpers.small_rolebench import ADA, BEN, write_cast, write_small_data

from golden.program import Files, Plain, as_json, command, recorded_prompts, without

_ANSWERS = "scripted:I keep the bees.|Seven, says the mill.|It turns in the wind, mostly.|Yellow honey."
_TIMES = ("seconds", "tokens_per_second", "answers_per_second", "wall_seconds", "took", "ms")
_ONE_AT_A_TIME = ("--at-once", "1")


def rolebench(place: Path) -> Files:
    """Two strategies beside the published answers, judged by ranking."""
    write_cast(ADA, BEN)
    data = write_small_data(place / "RoleBench")
    judge = 'scripted:{"reason": "Dry.", "best_first": "2 > 1"}|{"reason": "Hers.", "best_first": "1 > 2"}'
    bench = (
        *(
            "eval",
            "rolebench",
            "--data",
            str(data),
            "-m",
            _ANSWERS,
            "-s",
            "system",
            "-s",
            "few-shot-dialogue",
        ),
        *("--judge", "ranking", "--judge-model", judge, "--seed", "3", *_ONE_AT_A_TIME),
        *("--out", str(place / "run")),
    )
    with recorded_prompts() as prompts:
        told = command(*bench, "--json")
    return _files("rolebench", place, told, command(*bench), as_json(prompts))


def interviews(place: Path) -> Files:
    """Two interviews with a rubric."""
    write_cast(ADA, BEN)
    judge = 'scripted:{"reason": "It is hers.", "grade": 4}|{"reason": "Flat.", "grade": 2}'
    bench = (
        *(
            "eval",
            "drift",
            "--personas",
            "ada,ben",
            "-m",
            _ANSWERS,
            "--turns",
            "3",
            "--interviews",
            "2",
        ),
        *(
            "--judge",
            "rubric",
            "--judge-model",
            judge,
            "--seed",
            "3",
            *_ONE_AT_A_TIME,
            "--out",
            str(place / "run"),
        ),
    )
    with recorded_prompts() as prompts:
        told = command(*bench, "--json")
    return _files("interviews", place, told, command(*bench), as_json(prompts))


def _files(name: str, place: Path, told: str, table: str, prompts: str) -> Files:
    plain = Plain(place)
    made = json.loads(
        command("eval", "report", str(place / "run"), "--to", str(place / "report"), "--json")
    )
    report = {
        f"{name}-{file.name}": plain(file.read_text(encoding="utf-8"))
        for file in sorted((place / "report").rglob("*"))
        if file.suffix in (".md", ".html", ".json", ".svg")
    }
    return {
        f"{name}-prompts.json": prompts,
        f"{name}-told.json": plain(as_json(without(json.loads(told), _TIMES))),
        f"{name}-table.txt": plain(table),
        f"{name}-report-told.json": plain(as_json(made)),
        **report,
    }
