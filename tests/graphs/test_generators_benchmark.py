"""What is measured of the generators, and how."""

import pytest

from rolellm_speed.generators import QuickModel, measure_scripted


async def test_the_quick_models_words_depend_on_prompt_and_seed_alone() -> None:
    one, again, other = (QuickModel(seed=seed) for seed in (1, 1, 2))
    said = (await one.ainvoke("Who?")).text
    assert (await again.ainvoke("Who?")).text == said
    assert (await other.ainvoke("Who?")).text != said
    assert (await one.ainvoke("What?")).text != said
    assert one.invoke("Who?").text == said


@pytest.mark.process
def test_a_killed_run_is_gone_on_with_and_both_are_measured() -> None:
    told: list[str] = []
    measured = measure_scripted(600, told.append)
    assert len(told) == 2
    assert measured["items"] == 600
    assert measured["items_per_s"] > 1
    assert 0 < measured["imports_s"] <= measured["restart_s"] < 120
    assert 10 < measured["mib_at_half"] <= measured["mib_at_most"] + 50
    assert measured["bytes"] > 600 * 300
