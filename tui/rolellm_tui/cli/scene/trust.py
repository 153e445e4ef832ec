"""The question whether the models of a file from elsewhere count."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.output import complain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.config.foreign_files import ForeignFile
    from rolellm_agents.scene import LoadedScene
    from rolellm_agents.scene.file_models import FileModel
    from rolellm_agents.scene.run_file import RunFile

TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust-file-models",
        help="Use the models that the file names, although it comes from elsewhere.",
    ),
]


def with_models_that_count(
    loaded: "LoadedScene",
    *,
    model: str | None,
    trust: bool,
    seats: "Sequence[str]" = (),
    base_url: str | None = None,
) -> "LoadedScene":
    """A scene with its file's models if they count, and without them if not; asks in a terminal.

    Args:
        loaded: the scene.
        model: the model that the command line names; it replaces those of a file from elsewhere.
        trust: whether the command line agrees to the file's models.
        seats: the seats for which the command line names a model.
        base_url: the server that the command line names.

    Raises:
        TrustError: nobody can be asked.
        SettingsError: `agreed.toml` cannot be read or written.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.scene import agreed, without_models
    from rolellm_agents.scene.file_models import file_models

    file = loaded.foreign
    if file is None:
        return loaded
    models = file_models(loaded.scene, except_seats=seats, base_url=base_url)
    if model:
        complain(f"{file.path} comes from elsewhere; its models are left out, and {model} plays all seats.")
    elif not models:
        return loaded
    elif trust or _agrees(file, models, otherwise=f"“no” plays the scene with {load_settings().model}"):
        return agreed(loaded)
    return without_models(loaded)


def record_with_models_that_count(record: "RunFile", *, trust: bool) -> "RunFile":
    """A record for a live replay; asks in a terminal whether its models count.

    Raises:
        TrustError: the user says no, or nobody can be asked.
        SettingsError: `agreed.toml` cannot be read or written.
    """
    from rolellm_agents.errors import TrustError

    file = record.foreign
    if file is None:
        return record
    if trust or _agrees(file, record.named_models, otherwise="“no” ends the command"):
        return record.agreed()
    raise TrustError(f"The models of {file.path} are not used; name your own with --model.")


def _agrees(file: "ForeignFile", models: "Sequence[FileModel]", *, otherwise: str) -> bool:
    """Ask, and keep a yes for this content of the file."""
    from rolellm_agents.config.foreign_files import keep_agreement
    from rolellm_agents.errors import TrustError
    from rolellm_agents.scene.file_models import shown_models

    if not _can_ask():
        raise TrustError(
            f"{file.path} comes from elsewhere and names models to which you have not agreed "
            f"({shown_models(models)}); name your own model with -m, or agree with --trust-file-models."
        )
    complain(f"{file.path} comes from elsewhere and names models:")
    for one in models:
        complain(f"  {one.place}: {one.spec} {one.reach}.")
    if not typer.confirm(f"Use these models ({otherwise})?", default=False, err=True):
        return False
    keep_agreement(file, [f"{one.place}: {one.spec}" for one in models])
    return True


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
