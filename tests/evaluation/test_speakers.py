"""Who answers for the roles of a data set."""

import json
from pathlib import Path

import pytest
from helpers.samples import sample
from helpers.user_files import write_persona

from rolellm_agents.datasets import Sample
from rolellm_agents.datasets.profiles import profile_descriptions
from rolellm_agents.errors import PersonaError, RoleBenchError
from rolellm_agents.evaluation.speakers import RolePersonas, chosen_roles, find_speakers, without_answers
from rolellm_agents.persona import Demonstration, Knowledge, Persona, list_personas

ADA = Persona(id="ada", name="Ada", description="Ada keeps a lighthouse.")
ASKED = [sample("Ada", "Who?"), sample("Dr. Ben", "What?"), sample("Cat", "Why?"), sample("Ada", "When?")]


# Personas


def test_our_own_persona_comes_before_the_datas_profile_and_what_has_neither_is_left_out() -> None:
    found = find_speakers(ASKED, [ADA], {"ada": "Another Ada.", "Dr Ben": "Ben heals people."}, "en")
    assert found.of(ASKED[0]) == ADA
    ben = found.of(ASKED[1])
    assert ben is not None
    assert (ben.name, ben.description, ben.language) == ("Dr. Ben", "Ben heals people.", "en")
    assert found.of(ASKED[2]) is None
    assert found.without_profile == ("Cat",)
    assert (found.is_as_it_was("Ada"), found.is_as_it_was("Dr Ben")) == (True, False)


def test_a_persona_of_another_language_is_nobodys() -> None:
    chinese = ADA.model_copy(update={"language": "zh"})
    assert find_speakers(ASKED, [chinese], {}, "en").without_profile == ("Ada", "Dr. Ben", "Cat")


def test_the_nearer_of_two_personas_of_one_name_counts() -> None:
    other = ADA.model_copy(update={"id": "other"})
    assert find_speakers(ASKED, [other, ADA], {}, "en").of(ASKED[0]) == other


def test_roles_are_chosen_by_their_names_by_ids_and_by_files() -> None:
    write_persona("id: the-doctor\nname: Dr Ben\ndescription: Ben heals.\n", "the-doctor.yaml")
    file = write_persona("id: my-cat\nname: Cat\ndescription: A cat.\n", "somewhere/cat.yaml")
    chosen = chosen_roles(["ada", "the-doctor", str(file)], ASKED)
    assert list(chosen) == ["ada", "drben", "cat"]
    assert chosen["ada"] is None
    assert chosen["drben"] is not None
    assert chosen["cat"] is not None
    assert chosen["cat"].description == "A cat."


def test_who_is_not_there_is_told() -> None:
    with pytest.raises(PersonaError, match="There is no persona 'nobody at all'"):
        chosen_roles(["nobody at all"], ASKED)
    with pytest.raises(PersonaError, match=r"There are no questions to Shrek; “rolellm data stats” lists"):
        chosen_roles(["shrek"], ASKED)


# Profiles of the data's own


def test_profiles_are_read_from_the_folder_and_from_those_above_it(tmp_path: Path) -> None:
    inner = tmp_path / "rolebench-eng" / "instruction-generalization"
    inner.mkdir(parents=True)
    for folder, profiles in (
        (tmp_path / "profiles-eng", {"Ada": "far", "Ben": " Ben heals. ", "Cat": "", "Dog": 7, " ": "x"}),
        (inner / "profiles-eng", {"Ada": "near"}),
        (tmp_path / "profiles-zh", {"悟空": "石猴"}),
    ):
        folder.mkdir()
        (folder / "desc.json").write_text(json.dumps(profiles), encoding="utf-8")
    assert profile_descriptions(inner, "en") == {"Ada": "near", "Ben": "Ben heals."}
    assert profile_descriptions(tmp_path, "zh") == {"悟空": "石猴"}
    (tmp_path / "profiles-zh" / "desc.json").write_text("{", encoding="utf-8")
    with pytest.raises(RoleBenchError, match=r"desc.json is damaged; repair it, or remove it"):
        profile_descriptions(tmp_path, "zh")


# Nobody has the answers about them

QUESTION = sample(
    "Ada",
    "Ada, who lights the lamp of the tower at night?",
    "I climb ninety steps and light it myself, every night, whatever the wind says.",
)
HARMLESS = Demonstration(user="Do you like herring?", reply="Better than bread, I do.")


def withheld(persona: Persona, *asked: Sample) -> Persona:
    found = without_answers(RolePersonas({"ada": persona}), asked or (QUESTION,))
    return found.personas["ada"]


@pytest.mark.parametrize(
    "given_away",
    [
        pytest.param(Demonstration(user=QUESTION.question, reply="I."), id="the same question"),
        pytest.param(
            Demonstration(user="Who lights the lamp of the tower at night?", reply="I."),
            id="the question without the name",
        ),
        pytest.param(
            Demonstration(user="Tell me.", reply=f"Well. {QUESTION.references[0]}"), id="the reference"
        ),
        pytest.param(
            Demonstration(
                user="Tell me.", reply="I climb ninety steps and light it myself, every night, whatever."
            ),
            id="most of the reference",
        ),
    ],
)
def test_a_demonstration_that_gives_an_answer_away_is_withheld(given_away: Demonstration) -> None:
    persona = ADA.model_copy(update={"demonstrations": (given_away, HARMLESS)})
    assert withheld(persona).demonstrations == (HARMLESS,)
    found = without_answers(RolePersonas({"ada": persona}), [QUESTION])
    assert found.withheld == {"ada": 1}
    assert not found.is_as_it_was("Ada")


def test_knowledge_that_holds_a_reference_is_withheld_and_other_knowledge_stays() -> None:
    told = Knowledge(title="The lamp", text=f"It is old. {QUESTION.references[0]} Nobody else may.")
    other = Knowledge(title="The sea", text="It took my brother when I was nine years old.")
    persona = ADA.model_copy(update={"demonstrations": (HARMLESS,), "knowledge": (other, told)})
    left = withheld(persona)
    assert (left.demonstrations, left.knowledge) == ((HARMLESS,), (other,))


def test_who_has_nothing_to_hide_stays_as_they_are() -> None:
    persona = ADA.model_copy(update={"demonstrations": (HARMLESS,)})
    assert withheld(persona) is persona
    assert withheld(ADA) is ADA
    # What others are asked is nothing to her.
    shown = Demonstration(user=QUESTION.question, reply=QUESTION.references[0])
    persona = ADA.model_copy(update={"demonstrations": (shown,)})
    assert withheld(persona, sample("Ben", QUESTION.question, *QUESTION.references)) is persona


def test_nobody_of_our_cast_has_an_answer_of_the_published_test() -> None:
    from helpers.shared_data import shared_data

    from rolellm_agents.evaluation.questions import KINDS, read_questions

    data = shared_data("rolebench")
    cast = [found.persona for found in list_personas().found]
    for language in ("en", "zh"):
        asked = read_questions(data, "instruction-generalization", KINDS, language).asked
        found = without_answers(find_speakers(asked, cast, {}, language), asked)
        assert found.without_profile == ()
        assert {role: number for role, number in found.withheld.items() if number} == {}
