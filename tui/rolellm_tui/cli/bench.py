"""`rolellm bench`: measure this machine; each benchmark lies beside what it measures."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rolellm_tui.cli import (
    bench_engine,
    bench_interview,
    bench_report,
    bench_rolebench,
    bench_score,
    bench_serve,
    bench_speakers,
    bench_train,
)
from rolellm_tui.cli.options import (
    EmbeddingsOption,
    JsonOption,
    MaxTokensOption,
    ModelOption,
    RecallOption,
)
from rolellm_tui.cli.output import complain, counted_progress, print_json, print_table, print_text

app = typer.Typer(name="bench", help="Measure this machine.", no_args_is_help=True, rich_markup_mode=None)

RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="How often each is measured.")]

app.command("rolebench")(bench_rolebench.rolebench)
app.command("interview")(bench_interview.interview)
app.command("report")(bench_report.report)
app.command("score")(bench_score.score)
app.command("rouge")(bench_score.rouge)
app.command("speakers")(bench_speakers.speakers)
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
    from rolellm_tui.cli.start_benchmark import measure_start

    _print(measure_start(rounds), as_json=as_json)


@app.command("turn")
def turn(rounds: RoundsOption = 50, as_json: JsonOption = False) -> None:
    """What graph and session add to the bare model call, in milliseconds a turn.

    \b
    Example:
      rolellm bench turn --json
    """
    from rolellm_graphs.session_benchmark import measure_turn

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
    from rolellm_tui.benchmark import measure_conversations, measure_list

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
    from rolellm_agents.scripts.benchmark import measure_script

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
    from rolellm_agents.cards.benchmark import measure_lore
    from rolellm_agents.cards.reading_benchmark import measure_reading

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
    from rolellm_agents.rolebench.benchmark import measure_data

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

    from rolellm_graphs.scene_benchmark import measure_scenes

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
    from rolellm_agents.recall.benchmark import measure_finding, measure_speed

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


@app.command("strategies")
def strategies(
    data: Annotated[Path, typer.Option("--data", help="A folder of RoleBench.")],
    personas: Annotated[
        str, typer.Option("--personas", help="Ids with commas between; all that are in the data if none.")
    ] = "",
    model: ModelOption = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option("--strategy", "-s", help="Several may be given; all otherwise.", metavar="NAME"),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Questions of each persona at most.")
    ] = None,
    noise: Annotated[
        float,
        typer.Option(
            "--noise", min=0, max=1, help="Share of the profiles' lines replaced by other characters'."
        ),
    ] = 0.0,
    general: Annotated[
        bool, typer.Option("--general", help="General instructions, not role-specific questions.")
    ] = False,
    recall_method: RecallOption = None,
    embeddings: EmbeddingsOption = None,
    max_tokens: MaxTokensOption = 120,
    seed: Annotated[int, typer.Option("--seed", help="Of the noise and of the answers.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run's folder; one of your own otherwise.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """The strategies side by side on the same questions: ROUGE-L, length, prompt tokens, times.

    Answers are greedy. Stopped and started again with the same options, it goes on where it was.

    \b
    Examples:
      rolellm bench strategies --data RoleBench --limit 2
      rolellm bench strategies --data RoleBench --personas shrek,thor --noise 0.3 --json
      rolellm bench strategies --data RoleBench --strategy system --strategy retrieval --recall bm25
    """
    from rolellm_agents.models.catalog import get_model
    from rolellm_agents.paths import user_paths
    from rolellm_agents.settings import load_settings
    from rolellm_agents.strategies import STRATEGIES, get_strategy
    from rolellm_graphs.strategies_benchmark import StrategiesRequest, compare_strategies, run_name
    from rolellm_tui.cli.options import recall_options

    settings = load_settings()
    for name in strategy or ():
        get_strategy(name)
    request = StrategiesRequest(
        data=data,
        personas=tuple(name.strip() for name in personas.split(",") if name.strip()),
        strategies=tuple(strategy or STRATEGIES),
        kind="general" if general else "role_specific",
        limit=limit,
        noise=noise,
        seed=seed,
        recall=recall_options(settings, method=recall_method, embeddings=embeddings),
    )
    spec = model or settings.model
    chosen = get_model(spec, temperature=0, max_tokens=max_tokens)
    folder = out or user_paths().runs / run_name(request, spec)
    complain(f"The run is kept in {folder}.")
    with counted_progress("Answering") as tell:
        rows = compare_strategies(request, chosen, model_name=spec, folder=folder, on_progress=tell)
    if as_json:
        print_json(rows)
        return
    columns = [name for name in rows[0] if not name.endswith("ci95")]
    columns += [
        name for row in rows for name in row if name.endswith("less_system") and name not in columns
    ]
    print_table(
        tuple(name.replace("_", " ") for name in columns),
        ([_with_interval(row, name) for name in columns] for row in rows),
    )


def _with_interval(row: dict[str, Any], name: str) -> str:
    value, bounds = row.get(name), row.get(f"{name}_ci95")
    told = "" if value is None else f"{value:,}" if isinstance(value, float | int) else str(value)
    return f"{told} [{bounds[0]}, {bounds[1]}]" if bounds else told


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
    from rolellm_graphs.generators_benchmark import measure_embedded, measure_scripted

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
