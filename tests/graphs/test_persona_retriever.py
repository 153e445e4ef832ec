"""A persona's lines and knowledge as a LangChain retriever."""

from pathlib import Path
from typing import Any

import pytest
from helpers.cards import book, entry
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from rolellm_agents.errors import PersonaError, SettingsError
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_graphs.role.retriever import PersonaRetriever

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada counts everything.",
    demonstrations=(
        Demonstration(user="How many stairs, {{char}}?", reply="Seventeen.", place="chapter 1"),
        Demonstration(user="Do you like honey?", reply="By the spoon."),
    ),
    knowledge=(Knowledge(title="The hives", text="I counted the bees in May.", place="chapter 2"),),
    lorebook=book(entry(content="The lamp burns herring oil.", comment="Lamp")),
)


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests of what every retriever must do."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return PersonaRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"persona": "sherlock-holmes"}

    @property
    def retriever_query_example(self) -> str:
        return "What do you make of the mud on my boots?"


class TestStandardByVectors(TestStandard):
    """The same over Chroma."""

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"persona": "sherlock-holmes", "method": "chroma"}


def test_a_document_tells_whose_it_is_and_where_it_stands() -> None:
    first, *_ = PersonaRetriever(ADA).invoke("Who counted the bees?")
    assert first.page_content == "The hives\nI counted the bees in May."
    metadata = dict(first.metadata)
    assert metadata.pop("score") > 0
    assert 0 < metadata.pop("closeness") <= 1
    assert metadata == {
        "persona": "ada",
        "kind": "knowledge",
        "title": "The hives",
        "place": "chapter 2",
        "why": "shares “bees”, “counted”",
    }


def test_a_demonstration_has_its_question_for_a_title() -> None:
    first, *_ = PersonaRetriever(ADA, user="Tom").invoke("Count the stairs.")
    assert first.page_content == "How many stairs, Ada?\nSeventeen."
    told = [first.metadata[key] for key in ("kind", "title", "place")]
    assert told == ["demonstration", "How many stairs, Ada?", "chapter 1"]


def test_the_kinds_that_are_searched_can_be_chosen() -> None:
    def kinds(*wanted: Any) -> list[str]:
        found = PersonaRetriever(ADA, kinds=wanted, k=9).invoke("bees, stairs and the lamp")
        return sorted(one.metadata["kind"] for one in found)

    assert kinds("knowledge") == ["knowledge"]
    assert kinds("demonstration") == ["demonstration", "demonstration"]
    assert kinds("lore", "knowledge") == ["knowledge", "lore"]
    assert kinds() == []
    with pytest.raises(ValidationError, match="gossip"):
        kinds("gossip")


def test_what_is_too_far_can_be_left_out() -> None:
    def found(floor: float) -> list[str]:
        return [
            one.metadata["title"] for one in PersonaRetriever(ADA, floor=floor).invoke("Who counted bees?")
        ]

    assert len(found(0)) == 3
    assert found(0.1) == ["The hives"]


def test_the_personas_own_name_tells_nothing() -> None:
    retriever = PersonaRetriever(ADA)
    named = [(one.page_content, one.metadata["score"]) for one in retriever.invoke("Ada, the bees?")]
    assert named == [(one.page_content, one.metadata["score"]) for one in retriever.invoke("the bees?")]


@pytest.mark.parametrize("k", [0, -1])
def test_of_nothing_nothing_is_found(k: int) -> None:
    assert PersonaRetriever(ADA).invoke("bees", k=k) == []
    assert (
        PersonaRetriever(ADA.model_copy(update={"knowledge": (), "demonstrations": ()})).invoke("bees")
        == []
    )


@pytest.mark.parametrize("method", ["bm25", "chroma", "hybrid"])
def test_every_method_finds_the_bees(method: str, tmp_path: Path) -> None:
    retriever = PersonaRetriever(ADA, method=method, chroma_folder=tmp_path / "chroma")
    assert retriever.invoke("Who counted the bees?")[0].metadata["title"] == "The hives"
    assert (tmp_path / "chroma").exists() == (method != "bm25")


async def test_it_is_a_step_of_a_chain() -> None:
    chain = PersonaRetriever(ADA, k=1) | RunnableLambda(lambda found: found[0].page_content)
    assert await chain.ainvoke("Who counted the bees?") == "The hives\nI counted the bees in May."


def test_what_does_not_exist_is_told() -> None:
    with pytest.raises(PersonaError, match="There is no persona 'nobody'"):
        PersonaRetriever("nobody")
    with pytest.raises(SettingsError, match="There is no recall method 'psychic'"):
        PersonaRetriever(ADA, method="psychic")
