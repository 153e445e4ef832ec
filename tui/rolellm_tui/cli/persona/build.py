"""`rolellm persona build`: build a persona from a script."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_agents.errors import PersonaError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_tui.cli.options import BaseUrlOption, JsonOption, ModelOption
from rolellm_tui.output import complain, print_json, print_text

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.persona import Persona
    from rolellm_graphs.profile import ProfileRequest

_NOTE_TOKENS = 600
_TEMPERATURE = 0.3


def build(
    script: Annotated[
        Path, typer.Argument(help="A play (plain or tagged), a screenplay, subtitles or a novel.")
    ],
    role: Annotated[str, typer.Option("--role", help="The character, as in “Elizabeth Bennet”.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Persona file to write. Default: a file among your own personas."),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option("--alias", help="Another name of the role in the script. Repeatable."),
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    without_model: Annotated[
        bool, typer.Option("--no-model", help="Use no model: only lines and habits from the script.")
    ] = False,
    demonstrations: Annotated[
        int, typer.Option("--demonstrations", min=1, max=200, help="Maximum number of demonstrations.")
    ] = 12,
    segments: Annotated[
        int, typer.Option("--segments", min=1, help="Maximum number of script segments for the model.")
    ] = 16,
    work: Annotated[
        str | None, typer.Option("--work", help="Title of the work. Default: the script's.")
    ] = None,
    year: Annotated[int | None, typer.Option("--year", help="The year of the work.")] = None,
    run: Annotated[Path | None, typer.Option("--run", help="Folder of the run.", metavar="FOLDER")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a persona from a script: lines, verbal habits, and a model's notes on the script.

    Lines and habits are extracted without a model. The same command resumes a stopped run.

    \b
    Examples:
      rolellm persona build hamlet.xml --role Hamlet --no-model
      rolellm persona build pride.txt --role "Elizabeth Bennet" --alias Lizzy --out lizzy.yaml
      rolellm persona build film.srt --role JOHN --model openai:gpt-4o-mini
    """
    from rolellm_agents.persona import Source, id_of
    from rolellm_agents.persona.yaml import to_readable_yaml
    from rolellm_graphs.profile import ProfileRequest

    target = out or _default_target(id_of(role))
    if target.exists() and not force:
        raise PersonaError(
            f"{target} already exists; name another file with --out, or overwrite it with --force."
        )
    request = ProfileRequest(script, role, tuple(alias or ()), demonstrations, segments)
    model_name = None if without_model else _model_name(model)
    persona, title = _build(request, model_name, base_url, run)
    changes: dict[str, object] = {"id": id_of(target.stem)}
    if year is not None:
        changes["source"] = Source(work=work or title, year=year)
    persona = persona.model_copy(update=changes)
    write_atomically(target, to_readable_yaml(persona, target), PersonaError)
    if as_json:
        print_json({**persona.model_dump(mode="json"), "path": str(target)})
        return
    print_text(
        f"{persona.name}: {len(persona.demonstrations)} demonstrations, {len(persona.knowledge)} pieces "
        f"of knowledge, {len(persona.catchphrases)} verbal habits\n{target}\n\n"
        f"Talk:   rolellm chat {target if out else persona.id}\n"
        f"Check:  rolellm persona check {target if out else persona.id}"
    )


def _default_target(name: str) -> Path:
    from rolellm_agents.config.paths import make_folder, user_paths

    return make_folder(user_paths().personas) / f"{name}.yaml"


def _model_name(model: str | None) -> str | None:
    """The named model, or the settings' model unless it is the embedded one."""
    from rolellm_agents.config.settings import DEFAULT_MODEL, load_settings

    if model is not None:
        return model
    name = load_settings().model
    if name != DEFAULT_MODEL:
        return name
    complain(
        "The embedded model is too small to write a description, so the profile is made of the script's "
        "words; name a larger model with --model."
    )
    return None


def _build(
    request: "ProfileRequest", model_name: str | None, base_url: str | None, run: Path | None
) -> "tuple[Persona, str]":
    """Build with progress on stderr, resuming from the run's folder."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from rolellm_graphs.profile import SegmentNoted, build_profile, run_folder

    model = None if model_name is None else _model(model_name, base_url)
    folder = None if model_name is None else run or run_folder(request, model_name)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[notes]} notes"),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Reading", total=None, notes=0)
        kept = dropped = 0

        def on_segment(noted: SegmentNoted) -> None:
            nonlocal kept, dropped
            kept, dropped = kept + noted.kept, dropped + noted.dropped
            progress.update(task, completed=noted.done, total=noted.total, notes=kept)

        built = build_profile(
            request, model=model, model_name=model_name or "", folder=folder, on_progress=on_segment
        )
    if dropped:
        complain(
            f"{dropped} of the model's {kept + dropped} notes are not in the script and were left out."
        )
    return built


def _model(name: str, base_url: str | None) -> "BaseChatModel":
    from rolellm_agents.models.catalog import get_model

    return get_model(name, temperature=_TEMPERATURE, max_tokens=_NOTE_TOKENS, base_url=base_url)
