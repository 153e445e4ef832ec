"""Read an input as the JSON Schema of an answer, and bound it.

    python tests/fuzz/fuzz_schemas.py -max_total_time=3600 CORPUS

Only errors for the user may come out, and what comes out otherwise is JSON again.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.harness import fuzz, instrumented

with instrumented("rolellm_agents.models.llamacpp.engine"):
    from rolellm_agents.errors import RoleLLMError
    from rolellm_agents.models.llamacpp.engine.finite import finite

_FLAT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[A-Z]"},
        "born": {"type": "string", "format": "date"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "mood": {"enum": ["glad", "sad", None, 3]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
    },
    "required": ["name", "mood"],
    "additionalProperties": False,
}
_RECURSIVE = {
    "$defs": {
        "tree": {
            "$anchor": "tree",
            "type": "object",
            "properties": {
                "value": {"anyOf": [{"type": "number"}, {"const": "leaf"}]},
                "left": {"oneOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]},
                "right": {"$ref": "#tree"},
            },
            "required": ["value"],
        }
    },
    "allOf": [{"$ref": "#/$defs/tree"}],
    "prefixItems": [{"type": "boolean"}],
}


def seeds() -> dict[str, bytes]:
    """A schema without references and one that refers to itself."""
    return {"flat": json.dumps(_FLAT).encode(), "recursive": json.dumps(_RECURSIVE).encode()}


def one_input(content: bytes) -> None:
    """Bound the schema."""
    try:
        schema = json.loads(content)
    except (ValueError, RecursionError):
        return
    try:
        json.dumps(finite(schema))
    except RoleLLMError:
        return


if __name__ == "__main__":
    fuzz(one_input)
