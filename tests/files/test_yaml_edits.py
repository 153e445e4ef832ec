"""Edits of YAML texts: what is not changed stays as it is, byte for byte."""

import copy
import random
from typing import Any

import pytest
import yaml
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.files.yaml import composed, plain_data
from rolellm_agents.files.yaml_edits import edited_yaml

ADA = """\
# Ada, as she was in 1843.
id: ada
name: 'Ada'   # never “Lady”
language: "en"
source: {work: Notes, year: 1843}  # Menabrea

# Who she is:
description: >-  # for the model
  Ada is a mathematician
  and writes notes.

tags: [cartographer, "numbers"]
catchphrases:
  # the best first
  - Indeed.   # often
  - 'It weaves.'
# Examples follow.
demonstrations:
- user: Who are you?
  # she is proud
  reply: |-
    Ada.

    And you?
- {user: Why?, reply: Because.}
-
  user: "What\\tnow?"
  reply: Now we add.
knowledge:
  - title: Engine
    text: It has a mill.
# The end.
"""


def test_an_equal_text_stays() -> None:
    assert edited_yaml(ADA, plain_data(ADA)) == ADA


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("name",), "Eve", "name: 'Ada'   # never", "name: 'Eve'   # never"),
        (("source", "year"), 1844, "year: 1843}  # M", "year: 1844}  # M"),
        (("description",), "Ada counts.",
         ">-  # for the model\n  Ada is a mathematician\n  and writes notes.",
         ">-  # for the model\n  Ada counts."),
        (("tags",), ["a"], 'tags: [cartographer, "numbers"]', "tags: [a]"),
        (("catchphrases",), ["Indeed.", "New.", "It weaves."], "  - 'It", "  - New.\n  - 'It"),
        (("catchphrases",), ["It weaves."], "  - Indeed.   # often\n", ""),
        (("demonstrations", 0, "reply"), "No.", "|-\n    Ada.\n\n    And you?", "|-\n    No."),
        (("demonstrations", 1, "reply"), "So.", "reply: Because.", "reply: So."),
        (("demonstrations", 2, "reply"), "We rest.", "Now we add.", "We rest."),
        (("greeting",), "Hello.", "# The end.\n", "greeting: Hello.\n# The end.\n"),
    ],
)  # fmt: skip
def test_only_the_changed_value_is_written(
    path: tuple[Any, ...], value: object, old: str, new: str
) -> None:
    wanted = plain_data(ADA)
    _put(wanted, path, value)
    assert ADA.count(old) == 1
    assert edited_yaml(ADA, wanted) == ADA.replace(old, new)


def test_a_key_that_is_removed_takes_its_lines_along() -> None:
    wanted = plain_data(ADA)
    del wanted["knowledge"]
    expected = ADA.replace("knowledge:\n  - title: Engine\n    text: It has a mill.\n", "")
    assert edited_yaml(ADA, wanted) == expected


def test_what_no_yaml_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        edited_yaml(ADA, {"id": "\x00\ud800"})


_WORDS = st.text(st.sampled_from("ab :#-'\"\n|>é夏[]{},&*!%@`?\t\\0"), max_size=100)
_LISTS = ("catchphrases", "demonstrations", "tags", "knowledge")


@examples(3)
@given(st.lists(st.tuples(_WORDS, st.integers(0, 2**32)), min_size=1, max_size=4))
def test_random_edits_are_read_as_wanted_and_keep_all_other_keys(edits: list[tuple[str, int]]) -> None:
    text, wanted = ADA, plain_data(ADA)
    for words, seed in edits:
        before = copy.deepcopy(wanted)
        _change(wanted, words, random.Random(seed))
        old, text = text, edited_yaml(text, wanted)
        assert plain_data(text) == wanted
        untouched = [key for key in wanted if before.get(key) == wanted[key]]
        assert _chunks(text, untouched) == _chunks(old, untouched)
        assert all(
            line in text for line in ("# Ada, as she was in 1843.", "# Examples follow.", "# The end.")
        )


def _change(data: dict[str, Any], words: str, draw: random.Random) -> None:
    kind = draw.randrange(5)
    key = draw.choice(_LISTS)
    items = data.get(key, [])
    new = words if key in ("tags", "catchphrases") else {"user": words, "reply": words}
    if kind == 0:
        data[draw.choice(["name", "description", "greeting", "category"])] = words
    elif kind == 1:
        data[key] = [*items, new]
    elif kind == 2 and items:
        del items[draw.randrange(len(items))]
    elif kind == 3 and items:
        items[draw.randrange(len(items))] = new
    elif len(items) > 1:
        draw.shuffle(items)


def _chunks(text: str, keys: list[str]) -> dict[str, str]:
    """The text of some keys at the top level with their values, up to the last visible character."""
    root = composed(text)
    assert isinstance(root, yaml.MappingNode)
    return {
        key.value: text[key.start_mark.index : value.end_mark.index].split("\n#")[0].rstrip()
        for key, value in root.value
        if key.value in keys
    }


def _put(data: Any, path: tuple[Any, ...], value: object) -> None:
    for part in path[:-1]:
        data = data[part]
    data[path[-1]] = value
