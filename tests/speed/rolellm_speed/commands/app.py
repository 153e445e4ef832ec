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

RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="How often each is measured.")]

app.command("train")(bench_train.train)
app.command("engine")(bench_engine.engine)
app.command("serve")(bench_serve.serve)
app.command("soak")(bench_serve.soak)


@app.command("start")
def start(rounds: RoundsOption = 5, as_json: JsonOption = False) -> None:
    """Time of `rolellm --help`, and of `say` to its first word in a new process and a warm one.

    \b
    Example:
      rolellm bench start --json
    """
    from rolellm_speed.start import measure_start

    _print(measure_start(rounds), as_json=as_json)


@app.command("turn")
def turn(rounds: RoundsOption = 50, as_json: JsonOption = False) -> None:
    """What graph and session add to the bare model call, in milliseconds a turn.

    \b
    Example:
      rolellm bench turn --json
    """
    from rolellm_speed.turn import measure_turn

    _print(measure_turn(rounds), as_json=as_json)


@app.command("chat")
def chat(
    messages: Annotated[
        list[int] | None, typer.Option("--messages", min=2, help="Of a conversation; several may be given.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Opening, appending, searching and drawing conversations of 100, 1,000 and 10,000 messages.

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


@app.command("script")
def script(
    files: Annotated[list[Path], typer.Argument(help="Plays, screenplays, subtitles or novels.")],
    as_json: JsonOption = False,
) -> None:
    """How fast scripts are read; for a tagged play also how much its plain text gives back.

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
    """Reading a thousand cards, the memory of a large one, and scanning a thousand lore entries.

    \b
    Example:
      rolellm bench cards --json
    """
    from rolellm_speed.cards import measure_reading
    from rolellm_speed.lore import measure_lore

    _print({**measure_reading(), **measure_lore()}, as_json=as_json)


@app.command("data")
def data(
    rows: Annotated[int, typer.Option("--rows", min=1_000, help="Of the data set.")] = 100_000,
    as_json: JsonOption = False,
) -> None:
    """How long the data commands take for a data set of RoleBench's size, and how much memory.

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
        list[int] | None, typer.Option("--characters", min=2, help="In a scene; several may be given.")
    ] = None,
    turns: Annotated[
        list[int] | None, typer.Option("--turns", min=2, help="Of a scene; several may be given.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """What a turn of a scene costs, beside one `llama_cpp.Llama` for the whole scene.

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
        typer.Option("--data", help="A folder of RoleBench: how well questions find their answers."),
    ] = None,
    lines: Annotated[
        list[int] | None,
        typer.Option("--lines", min=1, help="How fast so many lines are indexed and searched."),
    ] = None,
    embeddings: Annotated[
        list[str] | None, typer.Option("--embeddings", help="Several may be given; lexical otherwise.")
    ] = None,
    language: Annotated[str, typer.Option("--language", help="Of the questions: en or zh.")] = "en",
    as_json: JsonOption = False,
) -> None:
    """How well and how fast BM25, Chroma and both fused find what is asked for.

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
    replies: Annotated[int, typer.Option("--replies", min=100, help="To score.")] = 32_000,
    sample: Annotated[
        int, typer.Option("--sample", min=10, help="Of them, for rouge_score to score too.")
    ] = 2_000,
    as_json: JsonOption = False,
) -> None:
    """How fast replies are scored against up to five references, beside Google's rouge_score.

    Values are compared where rouge_score is installed (“pip install rouge-score”).

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
        int, typer.Option("--items", min=1_000, help="To make through a scripted model.")
    ] = 100_000,
    embedded: Annotated[
        int, typer.Option("--embedded", min=0, help="To make through the embedded model; 0 is none.")
    ] = 16,
    as_json: JsonOption = False,
) -> None:
    """What the generators of data do at length: items a second, memory, a start after a kill.

    Also items a minute of the embedded model, many requests at once beside one after the other.

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
