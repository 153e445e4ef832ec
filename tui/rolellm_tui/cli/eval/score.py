"""`rolellm eval score`: replies from anywhere against references."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import complain, print_json, print_table

if TYPE_CHECKING:
    from rolellm_agents.datasets.predictions import PredictionSet


class _Over(StrEnum):
    FIRST = "first"
    MAX = "max"
    MEAN = "mean"


class _Language(StrEnum):
    EN = "en"
    ZH = "zh"


class _ChineseWords(StrEnum):
    CHARACTERS = "characters"
    JIEBA = "jieba"


def score(
    predictions: Annotated[Path, typer.Option("--predictions", "-p", help="A file of replies.")],
    references: Annotated[
        Path, typer.Option("--references", "-r", help="A file of references, one or several in a row.")
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="rouge-l-f1, rouge-1-f1, rouge-2-f1 or paper; several may be given. rouge-l-f1 if none.",
            metavar="NAME",
        ),
    ] = None,
    over: Annotated[_Over, typer.Option("--over", help="Of several references.")] = _Over.MAX,
    language: Annotated[
        _Language | None, typer.Option("--language", help="Of all rows; found out if left out.")
    ] = None,
    zh_words: Annotated[
        _ChineseWords, typer.Option("--zh-words", help="What Chinese is cut into.")
    ] = _ChineseWords.CHARACTERS,
    common: Annotated[
        bool, typer.Option("--common", help="Leave out rows that only one of the files has.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Score replies from anywhere against references.

    A file is JSONL, as RoleBench's or with “prediction”, “reply” or “text” and “references”, or plain text,
    a text on each line. Rows belong together by role and question where all have them, otherwise by their
    places. “paper” is what the published RoleBench figures are: a recall, which longer replies raise.
    Intervals are clustered by role.

    \b
    Examples:
      rolellm eval score --predictions rolegpt_baseline.jsonl --references test.jsonl --metric paper
      rolellm eval score -p mine.txt -r gold.txt --metric rouge-1-f1 --metric rouge-l-f1 --json
      rolellm eval score -p zh.jsonl -r test.jsonl --over mean --zh-words jieba
    """
    from rolellm_agents.datasets.predictions import read_predictions
    from rolellm_agents.metrics import measure_named

    names = list(dict.fromkeys(metric or ["rouge-l-f1"]))
    for name in names:
        measure_named(name)
    answered = read_predictions(
        predictions.expanduser(),
        references.expanduser(),
        language=language.value if language else None,
        only_common=common,
    )
    for note in answered.notes:
        complain(note)
    rows = _rows(answered, names, over, zh_words)
    if as_json:
        print_json(rows[0] if len(rows) == 1 else rows)
    else:
        print_table(
            ("METRIC", "VALUE", "95%", "N", "WORDS"),
            (
                (
                    row["metric"],
                    f"{row['value']:.4f}",
                    _bounds(row["ci95"]),
                    str(row["n"]),
                    str(row["words"]),
                )
                for row in rows
            ),
        )


def _rows(
    answered: "PredictionSet", names: Sequence[str], over: _Over, zh_words: _ChineseWords
) -> list[dict[str, Any]]:
    from rolellm_agents.metrics import mean_interval, score_many, word_count

    answers, clusters = answered.answers, answered.clusters
    lengths = [word_count(answer.reply, answer.language) for answer in answers]
    words = round(sum(lengths) / len(lengths), 1)
    rows = []
    for name, values in score_many(answers, names, over=over.value, zh_words=zh_words.value).items():
        interval = mean_interval(values, clusters)
        ci95 = None if interval.low is None or interval.high is None else [interval.low, interval.high]
        rows.append(
            {
                "metric": name,
                "value": interval.mean,
                "n": interval.n,
                "ci95": ci95,
                "words": words,
                "empty": answered.empty,
            }
        )
    return rows


def _bounds(ci95: Sequence[float] | None) -> str:
    return f"[{ci95[0]:.4f}, {ci95[1]:.4f}]" if ci95 else ""
