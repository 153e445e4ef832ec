"""Attributes of whoever asks: drawn by seed, and checked before a run starts."""

from collections import Counter
from pathlib import Path

import pytest

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.generation.attributes import Attributes, check_languages, load_attributes, shown
from rolellm_agents.persona import load_persona

OWN = Attributes.model_validate(
    {"en": {"visitor": ["a child", "a king"], "mood": ["merry", "cross", "dull"]}}
)


def test_the_same_key_and_seed_draw_the_same_visitor_and_others_another() -> None:
    assert OWN.draw("en", "ada/1", seed=3) == OWN.draw("en", "ada/1", seed=3)
    drawn = Counter(shown(OWN.draw("en", f"ada/{number}", seed=0)) for number in range(300))
    assert len(drawn) == 6
    assert min(drawn.values()) > 20
    assert len({shown(OWN.draw("en", "ada/1", seed=seed)) for seed in range(50)}) == 6


def test_the_bundled_attributes_are_in_both_languages() -> None:
    bundled = load_attributes("bundled")
    for language in ("en", "zh"):
        values = bundled.root[language]
        assert len(values) == 3
        assert all(len(set(listed)) == len(listed) >= 8 for listed in values.values())
    check_languages(bundled, [load_persona("sherlock-holmes"), load_persona("li-bai")], "bundled")


def test_a_file_is_wrong_on_its_line_and_a_language_without_attributes_is_told(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("en:\n  mood: []\n")
    with pytest.raises(RoleLLMError, match=r"mine\.yaml, line 2"):
        load_attributes(str(file))
    with pytest.raises(RoleLLMError, match=r"There is no|cannot be read|No such file"):
        load_attributes(str(tmp_path / "none.yaml"))
    with pytest.raises(RoleLLMError, match=r"mine has no attributes for the language zh of 李白; add them"):
        check_languages(OWN, [load_persona("sherlock-holmes"), load_persona("li-bai")], "mine")
