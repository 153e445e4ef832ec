"""Which answers count as preferred to which."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.small_rolebench import ADA, BEN, write_cast

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.judging.recorded import JUDGING, item_to_json
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.persona import Persona, list_personas, load_persona
from rolellm_agents.runs.folder import open_run
from rolellm_agents.transcript import Message, Transcript
from rolellm_train.data.preferences import Preference, find_preferences
from rolellm_train.recipe import Recipe

RECIPE = Recipe(id="tiny", about="", base="tiny", objective="dpo")


@pytest.fixture
def cast() -> list[Persona]:
    write_cast(ADA, BEN)
    return [found.persona for found in list_personas().found if found.origin == "user"]


def words(pairs: Sequence[Preference]) -> set[tuple[str, str, str]]:
    return {(pair.question, pair.chosen, pair.rejected) for pair in pairs}


class Chat:
    """A conversation with Ada that is being had."""

    def __init__(self, place: Path, who: str = "ada") -> None:
        self.place, self.who = place, who
        self.transcript = Transcript(place)
        self.conversation = self.transcript.create_conversation(who)

    def say(self, parent: Message | None, text: str, *, by: str = "", **more: Any) -> Message:
        return self.transcript.append(
            self.conversation,
            parent.id if parent else None,
            speaker=by or self.who,
            audience=("user", self.who),
            text=text,
            **more,
        )

    def ask(self, parent: Message | None, text: str) -> Message:
        return self.say(parent, text, by="user")

    def pairs(self, cast: list[Persona]) -> set[tuple[str, str, str]]:
        self.transcript.close()
        return words(find_preferences(RECIPE, [self.place], cast).pairs)


# Swipes


def test_the_answer_that_was_kept_is_preferred_to_each_that_was_swiped_away(
    cast: list[Persona], tmp_path: Path
) -> None:
    chat = Chat(tmp_path / "transcript.db")
    greeting = chat.say(None, "Good day.")
    asked = chat.ask(greeting, "Bees?")
    for text in ("Long ago.", "Many bees.", "None."):
        chat.say(asked, text)
    kept = chat.say(asked, "A few.")
    last = chat.ask(kept, "How many?")
    chat.say(last, "Three.")
    chat.transcript.close()
    found = find_preferences(RECIPE, [chat.place], cast)
    left_behind = ("Long ago.", "Many bees.", "None.")
    assert words(found.pairs) == {("Bees?", "A few.", text) for text in left_behind}
    for pair in found.pairs:
        assert [(message.type, message.text) for message in pair.before] == [("ai", "Good day.")]
        assert (pair.persona.id, pair.source) == ("ada", "swipes")


def test_going_back_to_an_earlier_swipe_prefers_that_one(cast: list[Persona], tmp_path: Path) -> None:
    chat = Chat(tmp_path / "transcript.db")
    asked = chat.ask(None, "Bees?")
    first = chat.say(asked, "A few.")
    chat.say(asked, "None.")
    chat.transcript.move_branch(chat.conversation, first.id)
    assert chat.pairs(cast) == {("Bees?", "A few.", "None.")}


def test_what_lives_on_in_another_branch_was_not_left_behind(cast: list[Persona], tmp_path: Path) -> None:
    chat = Chat(tmp_path / "transcript.db")
    asked = chat.ask(None, "Bees?")
    other = chat.say(asked, "None.")
    chat.say(asked, "A hundred.")
    chat.say(asked, "A few.")
    chat.transcript.move_branch(chat.conversation, other.id, "elsewhere")
    chat.transcript.move_branch(chat.conversation, chat.say(asked, "Some.").id)
    assert chat.pairs(cast) == {
        ("Bees?", "Some.", "A hundred."),
        ("Bees?", "Some.", "A few."),
    }


def test_what_was_cut_off_or_is_the_same_or_is_the_persons_own_teaches_nothing(
    cast: list[Persona], tmp_path: Path
) -> None:
    chat = Chat(tmp_path / "transcript.db")
    asked = chat.ask(None, "Bees?")
    begun = chat.transcript.begin(
        chat.conversation, asked.id, speaker="ada", audience=("user", "ada"), branch="main"
    )
    chat.transcript.end(begun, "Well, I", "stopped")
    chat.say(asked, "A few.")
    chat.say(asked, "  ")
    chat.say(asked, "thinks", kind="think")
    kept = chat.say(asked, "A few.")
    chat.ask(kept, "Sure?")
    chat.ask(kept, "Really?")
    with pytest.raises(RoleLLMError, match=r"finds no preferred answers in .*transcript\.db; swipe"):
        chat.pairs(cast)


def test_whom_nobody_knows_and_other_languages_and_roles_kept_apart_are_counted(
    cast: list[Persona], tmp_path: Path
) -> None:
    place = tmp_path / "transcript.db"
    for who in ("ada", "nobody", "jack-sparrow", "sun-wukong"):
        chat = Chat(place, who)
        asked = chat.ask(None, "Who?")
        chat.say(asked, "Not I.")
        chat.say(asked, "I.")
        chat.transcript.close()
    people = [*cast, load_persona("jack-sparrow"), load_persona("sun-wukong")]
    found = find_preferences(RECIPE, [place], people)
    assert [pair.persona.id for pair in found.pairs] == ["ada"]
    assert found.unknown_roles == {"nobody": 1}
    assert found.left_out == {"of a held-out role": 1, "of another language": 1}
    all_roles = RECIPE.model_copy(update={"keep_apart": False})
    assert len(find_preferences(all_roles, [place], people).pairs) == 2


# Verdicts


def judged(folder: Path, values: Mapping[str, float | None], *, judging: str = "pairs") -> Path:
    with open_run(folder, {JUDGING: judging, "judge": "test"}) as run:
        for place, (key, value) in enumerate(values.items()):
            about = {
                "key": key,
                "persona": "ada",
                "name": ADA,
                "language": "en",
                "question": f"{key}?",
                "first": f"{key} one",
                "second": f"{key} two",
            }
            verdict = Verdict(
                subject=key,
                measure="preference",
                value=value,
                status="unparsed" if value is None else "scored",
                model="test",
            )
            run.append(key, item_to_json(place, about, [verdict]))
    return folder


VALUES = {"a": 1.0, "b": 0.0, "c": 0.5, "d": None}
PREFERRED = {("a?", "a one", "a two"), ("b?", "b two", "b one")}


def test_a_verdict_prefers_one_and_where_it_does_not_nothing_is_learned(
    cast: list[Persona], tmp_path: Path
) -> None:
    run = judged(tmp_path / "run", VALUES)
    found = find_preferences(RECIPE, [run], cast)
    assert words(found.pairs) == PREFERRED
    assert {pair.source for pair in found.pairs} == {"verdicts"}


def test_a_benchmarks_run_gives_those_of_its_judges_of_pairs(cast: list[Persona], tmp_path: Path) -> None:
    judged(tmp_path / "bench" / "judges" / "pairwise", VALUES)
    judged(tmp_path / "bench" / "judges" / "rubric", {}, judging="replies")
    assert words(find_preferences(RECIPE, [tmp_path / "bench"], cast).pairs) == PREFERRED


@pytest.mark.parametrize(
    ("judging", "said"),
    [("replies", "judged no pairs; name a run of “rolellm judge pair”"), ("", "holds no run")],
)
def test_what_is_no_run_of_pairs_is_one_sentence(
    judging: str, said: str, cast: list[Persona], tmp_path: Path
) -> None:
    folder = judged(tmp_path / "run", {}, judging=judging) if judging else tmp_path
    with pytest.raises(RoleLLMError, match=said):
        find_preferences(RECIPE, [folder], cast)


# Draws


def drawn(folder: Path, *rows: Mapping[str, Any]) -> Path:
    folder.mkdir()
    text = "".join(json.dumps({"role": "Ada", "question": "Hives?", **row}) + "\n" for row in rows)
    (folder / "samples.jsonl").write_text(text)
    return folder


def test_of_answers_that_were_drawn_the_likest_to_a_reference_is_preferred_to_the_least(
    cast: list[Persona], tmp_path: Path
) -> None:
    run = drawn(
        tmp_path / "run",
        {
            "generated": ["I have no idea.", "I have three hives by the mill.", "Three hives."],
            "references": ["Bees.", "I have three old hives by the mill."],
        },
        # As good as each other, or alone: nothing is preferred.
        {"question": "Rain?", "generated": ["It rains.", "rains it."], "references": ["Sun."]},
        {"question": "Sea?", "generated": ["Down."], "references": ["Down."]},
        {"role": "Nobody", "generated": ["Yes.", "No."], "references": ["Yes."]},
    )
    found = find_preferences(RECIPE, [run], cast)
    assert words(found.pairs) == {("Hives?", "I have three hives by the mill.", "I have no idea.")}
    assert [pair.source for pair in found.pairs] == ["draws"]
    assert found.unknown_roles == {"Nobody": 1}


def test_general_answers_of_a_role_whose_general_rows_may_be_learned_count(tmp_path: Path) -> None:
    cast = [load_persona("john-keating")]
    of_keating = {"role": "John Keating", "generated": ["Seize it.", "No."], "references": ["Seize it."]}
    run = drawn(tmp_path / "run", {**of_keating, "kind": "general"}, {**of_keating, "type": "script_based"})
    found = find_preferences(RECIPE, [run], cast)
    assert [pair.kind for pair in found.pairs] == ["general"]
    assert found.left_out == {"of a held-out role": 1}


def test_samples_without_references_are_no_draws(cast: list[Persona], tmp_path: Path) -> None:
    run = drawn(tmp_path / "run", {"generated": ["Three."]})
    with pytest.raises(
        RoleLLMError, match=r"has no references for “Hives\?”.*rolellm data rejection-sampling"
    ):
        find_preferences(RECIPE, [run], cast)
