"""`rolellm eval score`: score replies against references."""

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
    predictions: Annotated[Path, typer.Option("--predictions", "-p", help="File with the replies.")],
    references: Annotated[
        Path, typer.Option("--references", "-r", help="File with one or several references per row.")
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            help="rouge-l-f1 (the default), rouge-1-f1, rouge-2-f1 or paper. Repeatable.",
            metavar="NAME",
        ),
    ] = None,
    over: Annotated[
        _Over, typer.Option("--over", help="How scores against several references combine.")
    ] = _Over.MAX,
    language: Annotated[
        _Language | None, typer.Option("--language", help="Language of all rows. Default: detected.")
    ] = None,
    zh_words: Annotated[
        _ChineseWords, typer.Option("--zh-words", help="Tokenization of Chinese.")
    ] = _ChineseWords.CHARACTERS,
    common: Annotated[
        bool, typer.Option("--common", help="Ignore rows that only one of the files has.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Score replies against references.

    Files are JSONL, in RoleBench's form or with “prediction”, “reply” or “text” and “references”, or plain
    text with one text per line. Rows are matched by role and question if all have both, otherwise by
    position. “paper” is the metric of the published RoleBench results: a recall, which rewards length.
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
    paired = read_predictions(
        predictions.expanduser(),
        references.expanduser(),
        language=language.value if language else None,
        only_common=common,
    )
    for note in paired.notes:
        complain(note)
    rows = _rows(paired, names, over, zh_words)
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
    paired: "PredictionSet", names: Sequence[str], over: _Over, zh_words: _ChineseWords
) -> list[dict[str, Any]]:
    from rolellm_agents.metrics import mean_interval, score_many, word_count

    answers, clusters = paired.answers, paired.clusters
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
                "empty": paired.empty,
            }
        )
    return rows


def _bounds(ci95: Sequence[float] | None) -> str:
    return f"[{ci95[0]:.4f}, {ci95[1]:.4f}]" if ci95 else ""
