"""RoleGPT's published answers score what independent packages give them.

The figures are the means of rouge_score 0.1.2 (F1 of rouge1, rouge2 and rougeL, without stemmer; in Chinese
with a tokenizer that cuts characters or jieba's words) and of rouge 1.0.1 (recall of rouge-l; Chinese with
blanks between characters or jieba's words), each computed by the package itself on the same rows.
"""

import json
from pathlib import Path

import pytest
from helpers.here import rolellm_here
from helpers.shared_data import shared_data

from rolellm_agents.datasets.predictions import read_predictions
from rolellm_agents.metrics import score_many
from rolellm_agents.metrics.measures import ChineseWords, Over

EN = "rolebench-eng/instruction-generalization/role_specific"
ZH = "rolebench-zh/role_specific"
ZH_GENERAL = "rolebench-zh/general"
NAMES = ("rouge-1-f1", "rouge-2-f1", "rouge-l-f1", "paper")

BY_THE_PACKAGES: list[tuple[str, Over, ChineseWords, tuple[float, float, float, float]]] = [
    (
        *(EN, "first", "characters"),
        (0.3884360705060762, 0.1217764088911564, 0.2340515140487275, 0.3244507593701795),
    ),
    (
        *(EN, "max", "characters"),
        (0.3896090026158446, 0.12248153852639199, 0.2345878001098336, 0.3261791867564469),
    ),
    (
        *(EN, "mean", "characters"),
        (0.3886127525835628, 0.12168716953846227, 0.23390726423494076, 0.3248846810973186),
    ),
    (
        *(ZH, "max", "characters"),
        (0.3299494593175659, 0.12019371330126385, 0.20238753133585216, 0.2477863762486104),
    ),
    (
        *(ZH, "mean", "jieba"),
        (0.2673401975776607, 0.06725775087113078, 0.1915065922962553, 0.21965630121904278),
    ),
    (
        *(ZH_GENERAL, "first", "characters"),
        (0.4129183381433964, 0.2299678035946994, 0.3474029673978558, 0.40856500166012405),
    ),
    (
        *(ZH_GENERAL, "max", "characters"),
        (0.5463538887877446, 0.3589033375055691, 0.4779581036266178, 0.5707196383082974),
    ),
    (
        *(ZH_GENERAL, "max", "jieba"),
        (0.47009729919167254, 0.25990453198972396, 0.42604564301115094, 0.5217698679734898),
    ),
]


def files(folder: str) -> tuple[Path, Path]:
    place = shared_data("rolebench") / folder
    return place / "rolegpt_baseline.jsonl", place / "test.jsonl"


@pytest.mark.parametrize(("folder", "over", "zh_words", "by_package"), BY_THE_PACKAGES)
def test_means_are_those_of_the_packages(
    folder: str, over: Over, zh_words: ChineseWords, by_package: tuple[float, ...]
) -> None:
    # The Chinese file of general answers holds those to training's questions too.
    answered = read_predictions(*files(folder), only_common=folder == ZH_GENERAL)
    scores = score_many(answered.answers, NAMES, over=over, zh_words=zh_words)
    means = {name: sum(values) / len(values) for name, values in scores.items()}
    assert means == pytest.approx(dict(zip(NAMES, by_package, strict=True)), abs=1e-9)


def test_the_command_gives_the_paper_s_figure_of_rolegpt_in_chinese() -> None:
    predictions, references = map(str, files(ZH))
    # RoleLLM, Table 4: SPE of RoleGPT in Chinese is 0.2478.
    done = rolellm_here(
        *("eval", "score", "--predictions", predictions, "--references", references),
        *("--metric", "paper", "--json"),
    )
    told = json.loads(done.stdout)
    assert (told["metric"], round(told["value"], 4), told["n"]) == ("paper", 0.2478, 239)
    assert told["ci95"][0] < told["value"] < told["ci95"][1]
    assert done.stderr == ""
