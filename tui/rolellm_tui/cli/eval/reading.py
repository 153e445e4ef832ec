"""`rolellm eval reading`: people read answers blind and say which is better."""

import getpass
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rolellm_tui.cli.options import JsonOption, MaxTokensOption, RunFolderOption
from rolellm_tui.output import complain, counted_progress, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.evaluation.blind.pairs import AnswerPair
    from rolellm_agents.evaluation.blind.questions import OpenQuestion
    from rolellm_agents.evaluation.blind.results import Comparison, Shares
    from rolellm_agents.metrics import Interval

app = typer.Typer(
    name="reading",
    help="Compare answers by blind reading: prepare, read, judge, result.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_VERDICTS: Final = "verdicts.jsonl"
_VERDICT_TOKENS: Final = 400

FolderArgument = Annotated[Path, typer.Argument(help="The folder of a prepared reading.")]
ReaderOption = Annotated[
    str | None, typer.Option("--reader", help="Your name in the results. Default: your user name.")
]


@app.command("prepare")
def prepare(
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            help="A model spec or a name from models.toml; at least two.",
            metavar="PROVIDER:NAME",
        ),
    ],
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", "-s", help="For all models. Default: each model's own.", metavar="NAME"),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Maximum number of questions.")] = 40,
    data: Annotated[
        Path | None, typer.Option("--data", help="A folder like the corpus. Default: the cast's corpus.")
    ] = None,
    max_tokens: MaxTokensOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sample and of sampling.")] = 0,
    out: RunFolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let models answer questions that no training has seen, and shuffle their answers.

    The questions are turns of the corpus's test conversations, half of them to held-out personas. Each
    model answers with its own sampling. The same command resumes a stopped run.

    \b
    Examples:
      rolellm eval reading prepare -m llamacpp:rolesmol -m llamacpp:smollm2 --out runs/reading
      rolellm eval reading prepare -m mine -m openai:gpt-4o-mini --limit 100 --out runs/mine
    """
    import asyncio

    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.evaluation.blind.pairs import blind_pairs, write_pairs
    from rolellm_agents.runs.seeds import digest_of
    from rolellm_graphs.evaluate.blind import collect_answers
    from rolellm_graphs.runs.items import RunCallbacks
    from rolellm_tui.cli.eval.systems import answering_system

    names = list(dict.fromkeys(model))
    if len(names) < 2:
        raise typer.BadParameter("at least two different models are needed.", param_hint="--model")
    questions = _questions(data, limit, seed)
    systems = [answering_system(name, strategy, max_tokens) for name in names]
    folder = out or user_paths().runs / f"reading-{digest_of(f'{names} {strategy} {limit} {seed}')[:8]}"
    complain(f"The run is kept in {folder}.")
    with counted_progress("Answering") as progress:
        answers = asyncio.run(
            collect_answers(
                systems,
                questions,
                folder=folder,
                seed=seed,
                callbacks=RunCallbacks(progress=progress, notice=complain),
            )
        )
    pairs = blind_pairs(questions, answers, seed=seed)
    write_pairs(folder, pairs)
    if as_json:
        print_json({"folder": str(folder), "questions": len(questions), "pairs": len(pairs)})
        return
    print_text(
        f"{len(questions)} questions, {len(pairs)} pairs. Read them:  rolellm eval reading read {folder}"
    )


@app.command("sheet")
def sheet(folder: FolderArgument) -> None:
    """Print the pairs without the names of the models, as JSON.

    A verdict on a pair is a line {"item": PAIR, "reader": NAME, "preferred": "first"}; other values are
    second, tie and neither. A verdict on an answer has "qualities" instead of "preferred". Read such a
    file with --verdicts of “rolellm eval reading read”.

    \b
    Examples:
      rolellm eval reading sheet runs/reading
    """
    from rolellm_agents.evaluation.blind.pairs import read_pairs

    print_json(
        [
            {
                "pair": pair.key,
                "persona": pair.persona.name,
                "turns": [[turn.speaker, turn.text] for turn in pair.first.judged.turns],
                "first": {"answer": pair.first.judged.key, "text": pair.first.judged.reply},
                "second": {"answer": pair.second.judged.key, "text": pair.second.judged.reply},
            }
            for pair in read_pairs(folder)
        ]
    )


@app.command("read")
def read(
    folder: FolderArgument,
    reader: ReaderOption = None,
    single: Annotated[
        bool,
        typer.Option(
            "--single", help="Judge each answer by itself: does it answer, make sense, and fit the persona?"
        ),
    ] = False,
    verdicts: Annotated[
        Path | None, typer.Option("--verdicts", help="Add the verdicts of this JSONL file, and exit.")
    ] = None,
) -> None:
    """Read the answers, and press one key for each pair: which is better?

    Each verdict is saved at once. Stop at any time; the command continues where you stopped.

    \b
    Examples:
      rolellm eval reading read runs/reading
      rolellm eval reading read runs/reading --single --reader ada
      rolellm eval reading read runs/reading --verdicts theirs.jsonl
    """
    from rolellm_agents.evaluation.blind.pairs import read_pairs
    from rolellm_agents.evaluation.blind.verdicts import append_verdicts, read_verdicts
    from rolellm_tui.cli.eval.reader import compare_pairs, judge_answers

    pairs, file = read_pairs(folder), folder / _VERDICTS
    if verdicts is not None:
        added = read_verdicts(verdicts)
        unknown = {one.item for one in added} - _items(pairs)
        if unknown:
            raise typer.BadParameter(
                f"{verdicts} has verdicts on {min(unknown)!r}, which is not in {folder}.",
                param_hint="--verdicts",
            )
        append_verdicts(file, added)
        print_text(f"{len(added)} verdicts added.")
        return
    name = reader or getpass.getuser()
    if single:
        judge_answers(pairs, file, name)
    else:
        compare_pairs(pairs, file, name)
    print_text(f"The results:  rolellm eval reading result {folder}")


@app.command("judge")
def judge(
    folder: FolderArgument,
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="The judge: a model spec or a name.", metavar="PROVIDER:NAME"),
    ],
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=256, help="Concurrent requests to the model.")
    ] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Sampling seed of the judge.")] = 0,
) -> None:
    """Let a model read the pairs, each in both orders; contradicting verdicts are a tie.

    Its verdicts are those of a reader named “judge:MODEL”.

    \b
    Examples:
      rolellm eval reading judge runs/reading --model openai:gpt-4o
    """
    import asyncio

    from rolellm_agents.evaluation.blind.pairs import read_pairs
    from rolellm_agents.evaluation.blind.verdicts import ReaderVerdict, append_verdicts
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.runs.seeds import digest_of
    from rolellm_graphs.judge.graph import compare_replies
    from rolellm_graphs.judge.judges import judge_config, pair_judge_named

    pairs = read_pairs(folder)
    chosen = get_model(model, temperature=0, max_tokens=_VERDICT_TOKENS, conversations=at_once)
    judging = pair_judge_named("ranking", chosen, model_name=model, at_once=at_once, seed=seed)
    with counted_progress("Judging") as progress:
        outcomes = asyncio.run(
            compare_replies(
                judging,
                [(pair.first.judged, pair.second.judged) for pair in pairs],
                folder=folder / f"judge-{digest_of(f'{model} {seed}')[:8]}",
                config=judge_config("ranking", [(model, chosen)], seed=seed),
                at_once=at_once,
                progress=progress,
            )
        )
    scored = [(pair, verdict.value) for pair, verdict in zip(pairs, outcomes, strict=True)]
    append_verdicts(
        folder / _VERDICTS,
        (
            ReaderVerdict(
                item=pair.key,
                reader=f"judge:{model}",
                preferred="tie" if value == 0.5 else "first" if value > 0.5 else "second",
            )
            for pair, value in scored
            if value is not None
        ),
    )
    failed = sum(value is None for _, value in scored)
    print_text(f"{len(scored) - failed} pairs judged, {failed} without a verdict.")


@app.command("result")
def result(folder: FolderArgument, reader: ReaderOption = None, as_json: JsonOption = False) -> None:
    """Show the win rates and the shares of good answers, with 95 % intervals by persona.

    A tie, also of two bad answers, counts half. “test_personas” are personas that no training has seen.

    \b
    Examples:
      rolellm eval reading result runs/reading
      rolellm eval reading result runs/reading --reader ada --json
    """
    from rolellm_agents.evaluation.blind.pairs import read_pairs
    from rolellm_agents.evaluation.blind.results import comparisons, quality_shares
    from rolellm_agents.evaluation.blind.verdicts import read_verdicts

    pairs = read_pairs(folder)
    verdicts = [one for one in read_verdicts(folder / _VERDICTS) if reader in (None, one.reader)]
    compared, shares = comparisons(pairs, verdicts), quality_shares(pairs, verdicts)
    if as_json:
        print_json(
            {
                "readers": sorted({one.reader for one in verdicts}),
                "comparisons": [_comparison_json(one) for one in compared],
                "answers": [_shares_json(one) for one in shares],
            }
        )
    elif verdicts:
        _print_results(compared, shares)
    else:
        print_text(f"No verdicts yet. Read the answers:  rolellm eval reading read {folder}")


def _print_results(compared: "Sequence[Comparison]", shares: "Sequence[Shares]") -> None:
    if compared:
        rows = (
            (
                *(one.system, one.other, one.split or "all", str(one.rate.n), _share(one.rate)),
                *(str(count) for count in (one.wins, one.losses, one.ties)),
            )
            for one in compared
        )
        print_table(("SYSTEM", "AGAINST", "QUESTIONS", "N", "WIN RATE", "WON", "LOST", "TIED"), rows)
    if shares:
        print_table(
            ("SYSTEM", "QUESTIONS", "N", "ANSWERS", "MAKES SENSE", "IN VOICE", "GOOD"),
            (
                (
                    *(one.system, one.split or "all", str(one.shares["good"].n)),
                    *(_share(share) for share in one.shares.values()),
                )
                for one in shares
            ),
        )


def _comparison_json(one: "Comparison") -> dict[str, object]:
    return {
        "system": one.system,
        "other": one.other,
        "split": one.split,
        "win_rate": _json(one.rate),
        "wins": one.wins,
        "losses": one.losses,
        "ties": one.ties,
    }


def _shares_json(one: "Shares") -> dict[str, object]:
    return {
        "system": one.system,
        "split": one.split,
        **{name: _json(share) for name, share in one.shares.items()},
    }


def _questions(data: Path | None, limit: int, seed: int) -> "list[OpenQuestion]":
    from rolellm_agents.corpus.location import corpus_folder, read_corpus
    from rolellm_agents.corpus.splits import split_conversations
    from rolellm_agents.evaluation.blind.questions import open_questions
    from rolellm_agents.persona import list_personas

    corpora = read_corpus(data or corpus_folder())
    personas = {found.persona.id: found.persona for found in list_personas().found}
    return open_questions(split_conversations(corpora, personas), limit=limit, seed=seed)


def _items(pairs: Iterable["AnswerPair"]) -> set[str]:
    keys = ((pair.key, pair.first.judged.key, pair.second.judged.key) for pair in pairs)
    return {key for three in keys for key in three}


def _share(interval: "Interval") -> str:
    mean = f"{interval.mean:.0%}"
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} [{interval.low:.0%}, {interval.high:.0%}]"


def _json(interval: "Interval") -> dict[str, float | int | None]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high, "n": interval.n}
