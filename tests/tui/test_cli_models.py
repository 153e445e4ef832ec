"""`rolellm models`."""

import json

from helpers.here import rolellm_here
from helpers.user_files import write_config, write_models


def test_the_list_names_the_models_that_come_along_and_one_example_for_each_provider() -> None:
    listed = rolellm_here("models", "list", "--json")

    assert (listed.returncode, listed.stderr) == (0, "")
    # What else this machine has is its owner's.
    rows = [row for row in json.loads(listed.stdout) if row["kind"] not in ("downloaded", "running")]
    own = [row for row in rows if row["kind"] != "recommended"]
    assert "qwen3-4b" in {row["name"] for row in rows}
    assert [(row["name"], row["kind"], row["default"]) for row in own] == [
        ("llamacpp:rolesmol", "embedded", True),
        ("llamacpp:smollm2", "embedded", False),
        ("llamacpp:rolegemma", "embedded", False),
        ("llamacpp:gemma3-270m", "embedded", False),
        ("llamacpp:/path/model.gguf", "example", False),
        ("openai:gpt-4o-mini", "example", False),
        ("local:qwen3:4b", "example", False),
        ("huggingface:org/model", "example", False),
        ("scripted:Hello.|Goodbye.", "example", False),
    ]


def test_own_names_come_first_with_their_options_and_the_default_is_marked() -> None:
    write_models(
        '[models.workstation]\nspec = "openai:qwen3-8b"\nbase_url = "http://127.0.0.1:8080/v1"\n'
        'strategy = "zero-shot"\n'
        '[models.parrot]\nspec = "scripted:"\n'
    )
    write_config('model = "workstation"\n')

    rows = json.loads(rolellm_here("models", "list", "--json").stdout)
    table = rolellm_here("models", "list").stdout.splitlines()

    assert rows[0] == {
        "name": "workstation",
        "spec": "openai:qwen3-8b",
        "kind": "yours",
        "help": "base_url = http://127.0.0.1:8080/v1, strategy = zero-shot",
        "default": True,
    }
    assert (rows[1]["name"], rows[1]["spec"], rows[1]["default"]) == ("parrot", "scripted:", False)
    assert [row["name"] for row in rows if row["default"]] == ["workstation"]
    assert table[1].split()[:3] == ["workstation", "(default)", "yours"]
