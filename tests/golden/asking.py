"""Prompts of generators and judges, as a scripted model is sent them by the commands."""

import json
from pathlib import Path

from golden.program import INPUTS, Files, Plain, as_json, command, recorded_prompts, write_cast

_QUESTION = {"question": "Ada, who keeps the {} now?", "line": 1, "reason": "Whole.", "confidence": "high"}
_QUESTIONS = json.dumps(
    {
        "questions": [
            {**_QUESTION, "question": f"Ada, who keeps the {what}?"} for what in ("bees", "lamp", "bell")
        ]
    }
)
_NOTES = json.dumps(
    {"notes": [{"kind": "knowledge", "title": "Father", "text": "My father was a careful man.", "line": 4}]}
)
_ONE_AT_A_TIME = ("--at-once", "1")


def generators(place: Path) -> Files:
    """Context-Instruct, RoleGPT, dialogues, and the profile of a script."""
    write_cast()
    generate = {
        "rolegpt": (
            "--personas",
            "ada,libai",
            "--limit",
            "1",
            "--samples",
            "2",
            "--model",
            "scripted:So be it.",
        ),
        "context-instruct": (
            *("--persona", "ada", "--script", str(INPUTS / "lamp.txt"), "--limit", "4"),
            *("--model", f"scripted:{_QUESTIONS}|I do, and nobody else does.|So I do, by my oath."),
        ),
        "dialogues": (
            "--personas",
            "ada",
            "--each",
            "1",
            "--turns",
            "2",
            "--model",
            "scripted:I do.|Who?|You.",
        ),
    }
    plain, files = Plain(place), {}
    for name, options in generate.items():
        out = place / name
        with recorded_prompts() as prompts:
            command("data", name, *options, *_ONE_AT_A_TIME, "--out", str(out), "--json")
        files[f"{name}.json"] = as_json(prompts)
        for file in sorted(out.glob("*.jsonl")):
            if file.stem != "items":
                files[f"{name}-{file.name}"] = plain(file.read_text(encoding="utf-8"))
    return files


def profile(place: Path) -> Files:
    """A persona built from a script, with a model's notes and without."""
    files = {}
    build = ("persona", "build", str(INPUTS / "lamp.txt"), "--role", "Ada", "--year", "1911")
    command(*build, "--no-model", "--out", str(place / "bare.yaml"))
    files["profile-bare.yaml"] = (place / "bare.yaml").read_text(encoding="utf-8")
    described = json.dumps(
        {"description": "Ada tends a light on a rock and trusts no dry boots; she swears by her oath."}
    )
    with recorded_prompts() as prompts:
        command(*build, "--model", f"scripted:{_NOTES}|{described}", "--out", str(place / "told.yaml"))
    files["profile.json"] = as_json(sorted(prompts, key=str))  # passages are read at the same time
    files["profile-told.yaml"] = (place / "told.yaml").read_text(encoding="utf-8")
    return files


def judges(place: Path) -> Files:
    """Rubrics, ranking in pairs, and flaws of scenes: what is asked, and what the commands tell of it."""
    write_cast()
    files = {}
    plain = Plain(place)
    for name, arguments in _judged(place).items():
        with recorded_prompts() as prompts:
            told = command("judge", *arguments, *_ONE_AT_A_TIME, "--out", str(place / name), "--json")
        files[f"judge-{name}.json"] = as_json(prompts)
        files[f"judge-{name}-told.json"] = plain(told)
        files[f"judge-{name}-told.txt"] = plain(command("judge", "show", str(place / name)))
        command("eval", "report", str(place / name), "--to", str(place / f"{name}.html"))
        files[f"judge-{name}-report.html"] = plain((place / f"{name}.html").read_text(encoding="utf-8"))
    return files


def _judged(place: Path) -> dict[str, tuple[str, ...]]:
    grade = 'scripted:{"reason": "It is hers.", "grade": 4}|{"reason": "Flat.", "grade": 2}'
    order = 'scripted:{"reason": "Hers.", "best_first": "1 > 2"}|{"reason": "Dry.", "best_first": "2 > 1"}'
    flaw = 'scripted:{"flaws": [{"flaw": "She is flat.", "line": 2, "severity": 4}]}'
    chats = {who: _chat(place, who, *said) for who, said in _CHATS.items()}
    one = _predictions(place / "one.jsonl", "By the lamp, no.", "Same.", "Herring, mostly.")
    other = _predictions(place / "other.jsonl", "I am an assistant.", "Same.", "Bread.")
    return {
        "chat-en": ("chat", chats["ada"], "-m", grade),
        "chat-zh": ("chat", chats["libai"], "-m", grade),
        "pair": ("pair", one, other, "-m", order),
        "scene": ("scene", chats["ada"], "-m", flaw),
    }


_CHATS = {
    "ada": (
        ("human", "Cold?"),
        ("gpt", "Only for those who sit still."),
        ("human", "Late?"),
        ("gpt", "No."),
    ),
    "libai": (("human", "今晚喝什么？"), ("gpt", "且饮一杯。")),
}


def _chat(place: Path, who: str, *said: tuple[str, str]) -> str:
    file = place / f"{who}.json"
    turns = [{"from": speaker, "value": text} for speaker, text in said]
    file.write_text(json.dumps({"persona": who, "conversations": turns}), encoding="utf-8")
    return str(file)


def _predictions(file: Path, *replies: str) -> str:
    rows = (
        {"role": "Ada", "question": f"Question {n}?", "generated": [one]} for n, one in enumerate(replies)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)
