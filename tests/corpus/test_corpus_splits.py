"""Splits of the corpus: what is tested is never learned."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.corpus.conversations import CorpusConversation, PersonaCorpus, parse_persona_corpus
from rolellm_agents.corpus.splits import SplitConversation, split_conversations
from rolellm_agents.persona import Demonstration, load_persona
from rolellm_agents.text.near_copies import near_copies

PERSONAS = {name: load_persona(name) for name in ("sherlock-holmes", "shrek", "jack-sparrow")}
WORDS = ["who", "keeps", "the", "lamp", "at", "night", "and", "why", "does", "she", "sing", "when", "to"]


def conversation(*questions: str) -> CorpusConversation:
    exchanges = tuple(Demonstration(user=question, reply="A reply.") for question in questions)
    return CorpusConversation(("world",), exchanges, 1)


def questions_of(split: Sequence[SplitConversation], *names: str) -> list[str]:
    return [exchange.user for one in split if one.split in names for exchange in one.conversation.exchanges]


questions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
conversations = st.lists(questions, min_size=1, max_size=4).map(lambda asked: conversation(*asked))


@given(st.lists(conversations, max_size=30), st.lists(conversations, max_size=30))
def test_no_longer_question_of_the_test_is_in_training_even_nearly(
    holmes: list[CorpusConversation], shrek: list[CorpusConversation]
) -> None:
    split = split_conversations(
        [PersonaCorpus("sherlock-holmes", tuple(holmes)), PersonaCorpus("shrek", tuple(shrek))], PERSONAS
    )
    assert [one.conversation for one in split] == [*holmes, *shrek]
    train = [text for text in questions_of(split, "train") if len(text.split()) >= 5]
    test = [text for text in questions_of(split, "test_questions") if len(text.split()) >= 5]
    for first, second, _ in near_copies([*train, *test], at_least=0.8):
        assert (first < len(train)) == (second < len(train))


def test_about_a_tenth_of_the_questions_and_all_of_the_held_out_roles_are_tests() -> None:
    asked = tuple(
        conversation(f"Where is the key number {number} of the {number + 7} keys?") for number in range(500)
    )
    split = split_conversations(
        [PersonaCorpus("sherlock-holmes", asked), PersonaCorpus("jack-sparrow", asked[:3])], PERSONAS
    )
    assert 20 < len(questions_of(split, "test_questions")) < 90
    assert {one.split for one in split if one.persona.id == "jack-sparrow"} == {"test_personas"}
    assert all(one.persona.id == "jack-sparrow" for one in split if one.split == "test_personas")


def test_a_split_does_not_depend_on_the_order_of_the_files() -> None:
    corpora = [
        parse_persona_corpus(
            f"# {name}\n## single: world\n> Who keeps the lamp of {name} at night?\nI do.\n"
        )
        for name in ("sherlock-holmes", "shrek")
    ]
    one = {found.persona.id: found.split for found in split_conversations(corpora, PERSONAS)}
    other = {found.persona.id: found.split for found in split_conversations(corpora[::-1], PERSONAS)}
    assert one == other
