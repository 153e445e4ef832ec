"""The corpus in the repository keeps its own standard."""

import pytest
from helpers.shared_data import shared_data

from rolellm_agents.corpus.checks import check_copies_between, check_corpus, length_of
from rolellm_agents.corpus.conversations import read_persona_corpus
from rolellm_agents.corpus.location import corpus_folder, read_corpus, read_scenes
from rolellm_agents.corpus.scenes import CorpusScene
from rolellm_agents.corpus.splits import split_conversations
from rolellm_agents.datasets.sources import source_samples
from rolellm_agents.persona import list_personas
from rolellm_agents.scene.line import is_turn
from rolellm_agents.text.language import language_of
from rolellm_agents.text.near_copies import near_copies

FOLDER = corpus_folder()
PERSONAS = {found.persona.id: found.persona for found in list_personas().found}
LONGEST_LINE = 45
"""Words of a scene's line."""
A_PHRASE = 6
"""Words that anybody may say."""


@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("??/*.md")))
def test_the_conversations_of_a_persona_have_no_findings(name: str) -> None:
    persona = PERSONAS[name]
    corpus = read_persona_corpus(FOLDER / persona.language / f"{name}.md")
    assert corpus.persona == name
    assert [(finding.place, finding.message) for finding in check_corpus(corpus, persona)] == []


def test_no_two_personas_give_the_same_reply() -> None:
    assert [*check_copies_between(read_corpus(FOLDER))] == []


def test_each_conversation_is_in_one_split() -> None:
    corpora = read_corpus(FOLDER)
    split = split_conversations(corpora, PERSONAS)
    assert len(split) == sum(len(corpus.conversations) for corpus in corpora)
    tested = sum(one.split == "test_questions" for one in split)
    assert 0.03 < tested / len(split) < 0.2


@pytest.mark.parametrize("scene", read_scenes(FOLDER), ids=lambda scene: scene.loaded.scene.id)
def test_in_a_scene_everybody_speaks_and_who_thinks_speaks_next(scene: CorpusScene) -> None:
    lines = [line for line in scene.lines if is_turn(line)]
    assert 7 <= len(scene.lines) <= 16
    assert {line["speaker"] for line in lines} == set(scene.loaded.seats)
    for line, following in zip(scene.lines, [*scene.lines[1:], None], strict=True):
        if line["kind"] == "think":
            assert following is not None
            assert following["speaker"] == line["speaker"]
        assert len(line["text"].split()) <= LONGEST_LINE


def test_no_reply_is_an_answer_of_rolebench_even_nearly() -> None:
    published = {
        reference
        for _, sample in source_samples(shared_data("rolebench"))
        for reference in sample.references
    }
    ours = [exchange.reply for corpus in read_corpus(FOLDER) for _, exchange in corpus.exchanges]
    ours = [reply for reply in ours if length_of(reply, language_of(reply)) > A_PHRASE]
    theirs = [text for text in sorted(published) if length_of(text, language_of(text)) > A_PHRASE]
    copied = [
        (ours[min(pair.first, pair.second)], theirs[max(pair.first, pair.second) - len(ours)])
        for pair in near_copies([*ours, *theirs], at_least=0.5)
        if min(pair.first, pair.second) < len(ours) <= max(pair.first, pair.second)
    ]
    assert copied == []
