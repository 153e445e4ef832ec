"""Reports of judges' runs: replies, pairs and scenes."""

from pathlib import Path
from typing import Any

from rolellm_agents.judging import ConversationTurn, Judged, Verdict
from rolellm_agents.judging.flaws import JudgedScene, JudgedSceneLine
from rolellm_agents.judging.verdict import Status
from rolellm_agents.persona import Persona
from rolellm_agents.reports import report_of, write_report
from rolellm_agents.reports.reading import read_run
from rolellm_graphs.judge.graph import compare_replies, judge_replies, judge_scenes

ADA = Persona(id="ada", name="Ada", language="en", description="Ada keeps bees.")


def judged(key: str, reply: str) -> Judged:
    return Judged(key=key, persona=ADA, turns=(ConversationTurn("user", "What do you keep?"),), reply=reply)


def verdict(subject: str, measure: str, value: float | None, **details: Any) -> Verdict:
    status: Status = "unparsed" if value is None else "scored"
    told = f"About {subject}: well <b>said</b>."
    return Verdict(
        subject=subject,
        measure=measure,
        value=value,
        status=status,
        reason=told,
        model="m",
        details=details,
    )


class Grading:
    measures = ("voice",)

    async def judge(self, judged: Judged) -> list[Verdict]:
        return [verdict(judged.key, "voice", None if judged.reply == "Mud." else float(len(judged.reply)))]


class Preferring:
    measure = "preference"

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        value = float(len(first.reply) > len(second.reply))
        return verdict(first.key, "preference", value, orders=[value, value], consistent=True)


class Critic:
    measures = ("fidelity",)

    async def judge(self, scene: JudgedScene) -> list[Verdict]:
        flaws = [{"what": "Bees do not bark.", "line": 2, "speaker": "Ada", "severity": 4}]
        return [verdict(scene.key, "fidelity", 80.6, flaws=flaws, dropped=0, lines=2)]


def written(folder: Path) -> tuple[str, str]:
    done = write_report(report_of([read_run(folder)]), folder)
    return done.page.read_text(encoding="utf-8"), done.markdown.read_text(encoding="utf-8")


async def test_replies_stand_with_their_verdicts_and_those_without_are_counted(tmp_path: Path) -> None:
    items = [judged("1", "Bees."), judged("2", "Mud."), judged("3", "Honey.")]
    await judge_replies([Grading()], items, folder=tmp_path, config={"judge": "rubric", "models": ["m"]})
    page, markdown = written(tmp_path)
    assert "The judge rubric on 3 replies, asked of m." in page
    assert "About 1: well &lt;b&gt;said&lt;/b&gt;." in page
    assert "voice: <strong>unparsed</strong>" in page
    assert "| voice | 5.500 | 5.000 to 6.000 | by reply | 2 | 1 unparsed |" in markdown


async def test_pairs_stand_side_by_side_with_which_is_better(tmp_path: Path) -> None:
    pairs = [
        (judged("1", "Bees, and honey."), judged("b1", "Mud.")),
        (judged("2", "A."), judged("b2", "Bee.")),
    ]
    await compare_replies(Preferring(), pairs, folder=tmp_path, config={"judge": "ranking"})
    page, markdown = written(tmp_path)
    assert "The judge ranking on 2 pairs." in page
    assert page.count("(A is better)") == page.count("(B is better)") == 1
    assert "both orders agreed in 1.000 of 2 pairs" in markdown
    assert "| preference | .500 |" in markdown


async def test_a_scene_has_each_flaw_at_its_line(tmp_path: Path) -> None:
    lines = (JudgedSceneLine("", "A garden."), JudgedSceneLine("Ada", "My bees bark."))
    scene = JudgedScene(
        key="s",
        title="In the garden",
        setting="",
        language="en",
        people={"Ada": "Keeps bees."},
        lines=lines,
    )
    await judge_scenes(Critic(), [scene], folder=tmp_path, config={"judge": "scene"})
    page, markdown = written(tmp_path)
    first, second = page.split('class="text">')[1:]
    assert first.startswith("A garden.")
    assert "Bees do not bark." not in first
    assert "fidelity, severity 4: Bees do not bark." in second
    assert "| fidelity | 80.6 | 1 |" in markdown
