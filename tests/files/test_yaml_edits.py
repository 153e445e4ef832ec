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


_PLAIN = st.text(st.sampled_from("abc éüé夏"), min_size=1, max_size=12).map(lambda text: f"w{text.strip()}")
_COMMENT = st.sampled_from(["", "", "  # a remark", "  # 'it' has: [marks] {too}"])


@st.composite
def _written_value(draw: st.DrawFn, indent: int, depth: int) -> str:
    """What follows the colon of a key, in one of the styles that people write."""
    pad = " " * indent
    words, comment = draw(_PLAIN), draw(_COMMENT)
    inner = [draw(_PLAIN) for _ in range(draw(st.integers(1, 3)))]
    styles = [
        f" {words}{comment}",
        f" '{words}: ''so'''{comment}",
        f' "{words}\\n\\t# no comment"{comment}',
        f" {draw(st.integers(-9, 99))}{comment}",
        f" |-{comment}" + "".join(f"\n{pad}  {one}" for one in inner),
        f" >-{comment}" + "".join(f"\n{pad}  {one}" for one in inner) + f"\n\n{pad}  end",
        f" [{', '.join(inner)}]{comment}",
        f" {{k: {words}, m: [{', '.join(inner)}]}}{comment}",
        comment + "".join(f"\n{pad}- {one}{draw(_COMMENT)}" for one in inner),
        comment + "".join(f"\n{pad}  # of the next\n{pad}  - {one}" for one in inner),
    ]
    if depth:
        styles.append(comment + "\n" + draw(_written_mapping(indent + 2, depth - 1)).rstrip("\n"))
        items = [draw(_written_mapping(indent + 4, depth - 1)).rstrip("\n").lstrip() for _ in inner]
        if not any(item.startswith("#") for item in items):
            styles.append("".join(f"\n{pad}  - {item}" for item in items))
    return draw(st.sampled_from(styles))


@st.composite
def _written_mapping(draw: st.DrawFn, indent: int = 0, depth: int = 2) -> str:
    """A mapping of some keys, with comments between them."""
    text = ""
    for key in draw(st.lists(st.sampled_from("abcdef"), unique=True, min_size=1, max_size=4)):
        pad = " " * indent
        text += draw(st.sampled_from(["", "", "\n", f"{pad}# before {key}\n"]))
        text += f"{pad}{key}:{draw(_written_value(indent, depth))}\n"
    return text


@examples(5)
@given(_written_mapping(), _WORDS, st.integers(0, 2**32))
def test_a_change_of_a_random_file_stays_in_its_key(text: str, words: str, seed: int) -> None:
    before, wanted = plain_data(text), plain_data(text)
    draw = random.Random(seed)
    place: Any = wanted
    key = changed = draw.choice(list(wanted))
    while isinstance(place[key], dict | list) and place[key] and draw.random() < 0.8:
        place = place[key]
        key = draw.choice(list(place)) if isinstance(place, dict) else draw.randrange(len(place))
    if isinstance(place, list) and draw.random() < 0.5:
        place.insert(key, words)
    elif draw.random() < 0.3 and (place is not wanted or len(wanted) > 1):
        del place[key]
    else:
        place[key] = words
    result = edited_yaml(text, wanted)
    assert plain_data(result) == wanted
    others = [one for one in before if one != changed]
    assert _chunks(result, others) == _chunks(text, others)
    for one in others:
        if f"\n# before {one}\n" in f"\n{text}":
            assert f"\n# before {one}\n" in f"\n{result}"


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
