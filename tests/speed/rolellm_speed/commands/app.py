"""`rolellm bench`: measure the speed of this machine."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rolellm_speed.commands import engine as bench_engine
from rolellm_speed.commands import serve as bench_serve
from rolellm_speed.commands import train as bench_train
from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import counted_progress, print_json, print_table, print_text

app = typer.Typer(
    name="bench", help="Measure the speed of this machine.", no_args_is_help=True, rich_markup_mode=None
)

RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="Number of repetitions.")]

app.command("train")(bench_train.train)
app.command("engine")(bench_engine.engine)
app.command("serve")(bench_serve.serve)
app.command("soak")(bench_serve.soak)


@app.command("start")
def start(rounds: RoundsOption = 5, as_json: JsonOption = False) -> None:
    """Measure the start-up time of `--help`, and the time to first token of `say`, cold and warm.

    \b
    Example:
      rolellm bench start --json
    """
    from rolellm_speed.start import measure_start

    _print(measure_start(rounds), as_json=as_json)


@app.command("imports")
def imports(rounds: RoundsOption = 5, as_json: JsonOption = False) -> None:
    """Measure the time and memory of a new process that imports Python, LangGraph, and our packages.

    \b
    Example:
      rolellm bench imports --json
    """
    from dataclasses import asdict

    from rolellm_speed.imports import measure_imports

    costs = measure_imports(rounds)
    if as_json:
        print_json([asdict(cost) for cost in costs])
        return
    print_table(
        ("IMPORT", "SECONDS", "MEMORY, MIB"),
        ((cost.module, f"{cost.seconds:.2f}", f"{cost.mib:.0f}") for cost in costs),
    )


@app.command("turn")
def turn(rounds: RoundsOption = 50, as_json: JsonOption = False) -> None:
    """Measure the overhead per turn of the graph and the session, in milliseconds.

    \b
    Example:
      rolellm bench turn --json
    """
    from rolellm_speed.turn import measure_turn

    _print(measure_turn(rounds), as_json=as_json)


@app.command("chat")
def chat(
    messages: Annotated[
        list[int] | None, typer.Option("--messages", min=2, help="Number of messages. Repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure opening, appending to, searching and rendering conversations.

    By default they have 100, 1,000 and 10,000 messages.

    \b
    Example:
      rolellm bench chat --json
    """
    from rolellm_speed.chat import measure_conversations, measure_list

    def progress(text: str) -> None:
        typer.echo(text, err=True)

    rows = measure_conversations(messages or [100, 1_000, 10_000], progress)
    listed = {"conversations": 500, "list_ms": measure_list(500, progress)}
    if as_json:
        print_json({"messages": rows, "list": listed})
        return
    print_table(tuple(rows[0]), ([str(value) for value in row.values()] for row in rows))
    print_text("")
    _print(listed, as_json=False)


@app.command("reread")
def reread(
    turns: Annotated[int, typer.Option("--turns", min=2, help="Number of turns.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """Measure how many tokens of a growing chat are read anew at each turn, by strategy and engine.

    \b
    Example:
      rolellm bench reread --turns 30 --json
    """
    from dataclasses import asdict

    from rolellm_speed.rereading import measure_rereading

    rows = measure_rereading(turns, lambda text: typer.echo(text, err=True))
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    print_table(
        ("ENGINE", "STRATEGY", "TOKENS OF A PROMPT", "READ ANEW"),
        ((row.engine, row.strategy, f"{row.prompt_tokens:.0f}", f"{row.read_tokens:.0f}") for row in rows),
    )


@app.command("script")
def script(
    files: Annotated[list[Path], typer.Argument(help="Plays, screenplays, subtitles or novels.")],
    as_json: JsonOption = False,
) -> None:
    """Measure script parsing speed; for tagged plays also how much is recovered from plain text.

    \b
    Example:
      rolellm bench script hamlet.xml pride.txt --json
    """
    from rolellm_speed.scripts import measure_script

    found = [{"file": file.name, **measure_script(file)} for file in files]
    if as_json:
        print_json(found)
        return
    for one in found:
        _print(one, as_json=False)
        print_text("")


@app.command("cards")
def cards(as_json: JsonOption = False) -> None:
    """Measure reading a thousand cards, the memory of a large one, and scanning 1,000 lore entries.

    \b
    Example:
      rolellm bench cards --json
    """
    from rolellm_speed.cards import measure_reading
    from rolellm_speed.lore import measure_lore

    _print({**measure_reading(), **measure_lore()}, as_json=as_json)


@app.command("data")
def data(
    rows: Annotated[int, typer.Option("--rows", min=1_000, help="Number of rows.")] = 100_000,
    as_json: JsonOption = False,
) -> None:
    """Measure time and memory of the data commands on a data set of RoleBench's size.

    \b
    Example:
      rolellm bench data --rows 20000 --json
    """
    from rolellm_speed.data import measure_data

    measured = measure_data(rows, lambda text: typer.echo(text, err=True))
    if as_json:
        print_json(measured)
        return
    print_table(tuple(measured[0]), ([str(value) for value in row.values()] for row in measured))


@app.command("scene")
def scene(
    characters: Annotated[
        list[int] | None, typer.Option("--characters", min=2, help="Number of characters. Repeatable.")
    ] = None,
    turns: Annotated[
        list[int] | None, typer.Option("--turns", min=2, help="Number of turns. Repeatable.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the cost of a scene turn with a single `llama_cpp.Llama` for the scene.

    \b
    Examples:
      rolellm bench scene
      rolellm bench scene --characters 16 --turns 24 --turns 200 --json
    """
    import asyncio
    from dataclasses import asdict

    from rolellm_speed.scene import measure_scenes

    with counted_progress("Playing") as progress:
        costs = asyncio.run(measure_scenes(characters or [2, 4, 8], turns or [24, 60], progress))
    if as_json:
        print_json([asdict(cost) for cost in costs])
        return
    print_table(
        (
            "CHARACTERS",
            "TURNS",
            "S/TURN",
            "READ/TURN",
            "PROMPT",
            "LAST: S",
            "READ",
            "LLAMA: S",
            "READ",
            "×",
            "CALLS",
        ),
        (
            (
                str(cost.characters),
                str(cost.turns),
                f"{cost.seconds:.2f}",
                f"{cost.evaluated:.0f}",
                f"{cost.prompt_tokens:.0f}",
                f"{cost.late_seconds:.2f}",
                f"{cost.late_evaluated:.0f}",
                f"{cost.llama_seconds:.2f}",
                f"{cost.llama_evaluated:.0f}",
                f"{cost.times_llama:.1f}",
                f"{cost.calls:.2f}",
            )
            for cost in costs
        ),
    )


@app.command("recall")
def recall(
    data: Annotated[
        Path | None,
        typer.Option("--data", help="RoleBench folder for the quality measurement."),
    ] = None,
    lines: Annotated[
        list[int] | None,
        typer.Option("--lines", min=1, help="Number of lines to index and search. Repeatable."),
    ] = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option("--embeddings", help="Embedding model. Repeatable. Default: lexical."),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", help="Language of the questions: en or zh.")
    ] = "en",
    as_json: JsonOption = False,
) -> None:
    """Measure the quality and speed of BM25, Chroma and hybrid retrieval.

    \b
    Examples:
      rolellm bench recall --lines 100 --lines 10000
      rolellm bench recall --data RoleBench --embeddings lexical --embeddings minilm --json
    """
    from rolellm_speed.recall import measure_finding, measure_speed

    names = embeddings or ["lexical"]

    def progress(text: str) -> None:
        typer.echo(text, err=True)

    if language not in ("en", "zh"):
        raise typer.BadParameter("It is en or zh.", param_hint="--language")
    found = measure_finding(data, names, "zh" if language == "zh" else "en", progress) if data else []
    sizes = lines or ([] if data else [100, 10_000])
    measured = {"finding": found, "speed": measure_speed(sizes, names[0], progress)}
    if as_json:
        print_json(measured)
        return
    for rows in measured.values():
        if rows:
            columns = tuple(rows[0])
            print_table(columns, ([str(row[name]) for name in columns] for row in rows))
            print_text("")


@app.command("rouge")
def rouge(
    replies: Annotated[
        int, typer.Option("--replies", min=100, help="Number of replies to score.")
    ] = 32_000,
    sample: Annotated[
        int, typer.Option("--sample", min=10, help="Number of replies to also score with rouge_score.")
    ] = 2_000,
    as_json: JsonOption = False,
) -> None:
    """Compare scoring against up to five references with Google's rouge_score.

    Values are compared if rouge_score is installed (“pip install rouge-score”).

    \b
    Example:
      rolellm bench rouge --replies 32000 --json
    """
    from rolellm_speed.rouge import made_answers, measure_rouge

    measured = measure_rouge(made_answers(replies), sample, lambda text: typer.echo(text, err=True))
    if as_json:
        print_json(measured)
        return
    print_table(
        tuple(name.replace("_", " ").upper() for name in measured[0]),
        (["" if value is None else f"{value}" for value in row.values()] for row in measured),
    )


@app.command("generate")
def generate(
    items: Annotated[
        int, typer.Option("--items", min=1_000, help="Items to generate with the scripted model.")
    ] = 100_000,
    embedded: Annotated[
        int,
        typer.Option("--embedded", min=0, help="Items to generate with the embedded model; 0 skips this."),
    ] = 16,
    as_json: JsonOption = False,
) -> None:
    """Measure long generator runs: throughput, memory, and the restart after a kill.

    Also compares concurrent and sequential requests of the embedded model, in items per minute.

    \b
    Examples:
      rolellm bench generate
      rolellm bench generate --items 10000 --embedded 0 --json
    """
    from rolellm_speed.generators import measure_embedded, measure_scripted

    def progress(text: str) -> None:
        typer.echo(text, err=True)

    measured = measure_scripted(items, progress)
    if embedded:
        measured |= measure_embedded(embedded, progress)
    _print(measured, as_json=as_json)


def _print(measured: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(measured)
    else:
        print_table(("WHAT", "MEASURED"), ((name, str(value)) for name, value in measured.items()))
