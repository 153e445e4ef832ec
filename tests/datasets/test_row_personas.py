"""Rows belong to the persona for which they were written, and to no other of its name."""

from dataclasses import replace
from typing import Any

import pytest
from helpers.samples import sample

from rolellm_agents.datasets import Sample
from rolellm_agents.datasets.instructions import SystemInstructions
from rolellm_agents.datasets.row_personas import RowPersonas, persona_fields
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.persona.version import persona_version

BUNDLED = Persona(id="holmes", name="Sherlock Holmes", description="A detective in Baker Street.")
OWN = BUNDLED.model_copy(update={"description": "A beekeeper in Sussex who was a detective."})


def row(**extra: Any) -> Sample:
    return replace(sample("Sherlock Holmes", "Who?"), extra=extra)


def test_the_version_is_of_what_instructions_say() -> None:
    assert persona_version(BUNDLED) != persona_version(OWN)
    with_more = BUNDLED.model_copy(update={"demonstrations": (Demonstration(user="Who?", reply="I."),)})
    assert persona_version(with_more) == persona_version(BUNDLED)
    macro = BUNDLED.model_copy(update={"description": "A detective in {{char}}'s street."})
    filled = BUNDLED.model_copy(update={"description": "A detective in Sherlock Holmes's street."})
    assert persona_version(macro) == persona_version(filled)


def test_rows_find_the_persona_that_they_were_written_for() -> None:
    assert RowPersonas([BUNDLED]).of(row()) == BUNDLED
    assert RowPersonas([BUNDLED]).of(row(**persona_fields(BUNDLED))) == BUNDLED
    assert RowPersonas([OWN, BUNDLED]).of(row(**persona_fields(OWN))) == OWN
    renamed = OWN.model_copy(update={"id": "beekeeper"})
    assert RowPersonas([BUNDLED, renamed]).of(row(**persona_fields(renamed))) == renamed


def test_a_persona_that_is_not_here_is_not_replaced_by_one_of_its_name() -> None:
    renamed = OWN.model_copy(update={"id": "beekeeper"})
    assert RowPersonas([BUNDLED]).of(row(**persona_fields(renamed))) is None
    # A row without a version may come from anywhere, where the field has another meaning.
    assert RowPersonas([BUNDLED]).of(row(persona="A man of sixty.")) == BUNDLED


def test_another_persona_with_the_id_is_refused_and_both_are_named() -> None:
    written, here = persona_version(OWN), persona_version(BUNDLED)
    sentence = rf"persona holmes, version {written}; the one here is holmes, version {here}\..*--persona"
    with pytest.raises(PersonaError, match=sentence):
        SystemInstructions([BUNDLED])(row(**persona_fields(OWN)))
