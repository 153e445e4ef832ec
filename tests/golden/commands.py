"""What commands tell in JSON: other programs read it, so its keys stay."""

import json
from pathlib import Path

from helpers.samples import row, written_rows
from helpers.small_rolebench import write_small_data
from helpers.user_files import write_persona

from golden.program import Files, Plain, as_json, command, input_text, write_cast
from rolellm_agents.config.paths import user_paths

_OURS = ("ada", "flawed", "holmes", "libai", "market", "teahouse")
"""What else is listed is the bundled cast, which changes."""
_FLAWED = """\
id: flawed
name: Flawed
description: As an AI language model, Flawed is helpful.
catchphrases: ["Never said"]
demonstrations:
  - {user: "Which flaw have you, Flawed?", reply: "As an AI language model, I cannot say."}
  - {user: "Which flaw have you, Flawed?", reply: "As an AI language model, I cannot say."}
"""

_PERSONA = {
    "show-holmes": ("persona", "show", "holmes", "--json"),
    "show-ada": ("persona", "show", "ada", "--json"),
    "check-ada": ("persona", "check", "ada", "--json"),
    "check-flawed": ("persona", "check", "flawed", "--json"),
    "lint-ada": ("persona", "lint", "ada", "--json"),
    "lore-ada": ("persona", "lore", "ada", "--text", "Is the lamp lit in the storm?", "--json"),
}


def outputs(place: Path) -> Files:
    """Personas, models and data."""
    write_cast()
    write_persona(_FLAWED, "flawed.yaml")
    for name in ("market", "teahouse"):
        scene = user_paths().scenes / f"{name}.yaml"
        scene.parent.mkdir(parents=True, exist_ok=True)
        scene.write_text(input_text(f"{name}.yaml"), encoding="utf-8")
    data = str(write_small_data(place / "RoleBench"))
    other = str(
        written_rows(place / "other.jsonl", [row(), row(), row(role="Thor", question="As an AI, who?")])
    )
    commands = {
        **{f"persona-{name}": arguments for name, arguments in _PERSONA.items()},
        "models-list": ("models", "list", "--json"),
        "data-check": ("data", "check", data, "--json"),
        "data-stats": ("data", "stats", data, "--json"),
        "data-stats-other": ("data", "stats", other, "--json"),
        "data-card": ("data", "card", data, "--name", "Mine"),
        "persona-list": ("persona", "list", "--json"),
        "scene-list": ("scene", "list", "--json"),
    }
    plain = Plain(place)
    told = {name: command(*arguments, may_find=True) for name, arguments in commands.items()}
    # What is downloaded, runs or fits here depends on the machine.
    here = ("yours", "embedded", "example")
    listed = [one for one in json.loads(told["models-list"]) if one["kind"] in here]
    told["models-list"] = as_json(listed)
    for name in ("persona-list", "scene-list"):
        told[name] = as_json([one for one in json.loads(told[name]) if one["id"] in _OURS])
    for name in ("persona-check-ada", "persona-check-flawed"):
        # How voices differ depends on the bundled cast, which changes.
        found = json.loads(told[name])
        told[name] = as_json(
            {**found, "voices": {key: sorted(one) for key, one in found["voices"].items()}}
        )
    return {f"{name}.json": plain(text) for name, text in told.items()}
