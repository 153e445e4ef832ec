"""What the linter finds in conversations."""

import pytest

from rolellm_agents.corpus.checks import check_copies_between, check_corpus
from rolellm_agents.corpus.conversations import PersonaCorpus, parse_persona_corpus
from rolellm_agents.persona import load_persona


def corpus_of(*replies: str, topic: str = "world", question: str = "What of it?") -> PersonaCorpus:
    lines = "".join(f"> {question} {number}\n{reply}\n" for number, reply in enumerate(replies))
    return parse_persona_corpus(f"# sherlock-holmes\n## single: {topic}\n{lines}")


def rules(corpus: PersonaCorpus) -> set[str]:
    found = check_corpus(corpus, load_persona("sherlock-holmes"))
    return {finding.rule for finding in found if finding.rule != "coverage"}


GOOD = "The cab waits at the corner, and its driver has been paid twice."


def test_a_good_reply_has_no_finding_but_those_of_a_file_that_is_too_short() -> None:
    assert rules(corpus_of(GOOD)) == set()
    found = check_corpus(corpus_of(GOOD), load_persona("sherlock-holmes"))
    messages = [finding.message for finding in found]
    assert "1 exchanges, at least 150 are wanted" in messages
    assert "0 exchanges on jokes, at least 4 are wanted" in messages


@pytest.mark.parametrize(
    ("replies", "rule"),
    [
        (["word " * 66], "length"),
        (["No."] * 2, "length"),
        (["I would be happy to help you with the case of the paid driver."], "assistant-speak"),
        ([f"It was the {number} of them who paid the driver." for number in range(6)], "same-opening"),
        (
            [f"Well, {word} driver was paid at the corner." for word in ["a", "b", "c", "d", "e", "f"]],
            "same-opening",
        ),
        (["You see, but you do not observe the driver at the corner."], "catchphrase"),
        (["And who, pray, has paid the driver at the corner?"], "question"),
        (["The driver — paid twice — waits at the corner of it."], "dash"),
        (["*points at the corner* The driver waits over there."], "action"),
        (["El conductor está en la esquina y los caballos no le esperan."], "wrong-language"),
        ([GOOD, GOOD], "copied-line"),
        (
            ["To test an adhesive I used an egg, and it held admirably, kindly do not sit there."],
            "copied-line",
        ),
    ],
)
def test_each_rule_is_found(replies: list[str], rule: str) -> None:
    assert rule in rules(corpus_of(*replies))


def test_a_single_exchange_refers_to_nothing_before_it() -> None:
    assert rules(corpus_of(GOOD, topic="callback")) == {"out-of-context"}
    talk = f"> Where is it?\n{GOOD}\n\n> At what corner?\nThis one.\n"
    whole = parse_persona_corpus(f"# sherlock-holmes\n## conversation: callback\n{talk}")
    assert "out-of-context" not in rules(whole)


def test_another_language_and_a_question_asked_again_may_be_what_a_conversation_is_about() -> None:
    spanish = "El conductor está en la esquina y los caballos no le esperan."
    assert "wrong-language" not in rules(corpus_of(spanish, topic="language"))
    question = "> Who has paid the driver at the corner?\n"
    again = f"{question}His master has.\n{question}Hm.\n"
    text = "# sherlock-holmes\n## conversation: {}\n" + again
    assert "copied-line" in rules(parse_persona_corpus(text.format("world")))
    assert "copied-line" not in rules(parse_persona_corpus(text.format("repetition")))


def test_a_reply_that_another_persona_gives_too_is_found() -> None:
    holmes = corpus_of(GOOD)
    shrek = PersonaCorpus("shrek", corpus_of(GOOD).conversations)
    assert [finding.persona for finding in check_copies_between([holmes, shrek])] == ["sherlock-holmes"]
    assert not list(check_copies_between([holmes]))
