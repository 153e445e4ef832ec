"""`rolellm chat` without a terminal: a conversation in plain lines."""

import pytest
from helpers.here import rolellm_here
from helpers.user_files import ADA, conversation_ids, kept, lines, write_models, write_persona

from rolellm_agents.config.paths import user_paths

REPLY = ("--model", "scripted:I am the reply.")


@pytest.mark.parametrize(("language", "first_line"), [("en", "Who are you?"), ("zh", "你是谁？")])
def test_without_input_one_exchange_is_held_in_the_personas_language(
    language: str, first_line: str
) -> None:
    write_persona(ADA + f"language: {language}\n")

    said = rolellm_here("chat", "ada", *REPLY)

    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == f"Ada: Good day.\n\nYou: {first_line}\n\nAda: I am the reply.\n\n"
    (conversation,) = conversation_ids()
    assert lines(kept(conversation)) == [
        ("ada", "Good day.", "complete"),
        ("user", first_line, "complete"),
        ("ada", "I am the reply.", "complete"),
    ]


def test_without_a_persona_it_is_sherlock_holmes() -> None:
    said = rolellm_here("chat", *REPLY)

    assert said.returncode == 0
    assert said.stdout.endswith("\n\nYou: Who are you?\n\nSherlock Holmes: I am the reply.\n\n")


def test_each_line_is_a_turn_and_coming_back_goes_on_until_a_new_one_is_asked_for() -> None:
    write_persona()
    model = ("--model", "scripted:One.|Two.")

    first = rolellm_here("chat", "ada", *model, stdin="Hello.\r\n\n  \nAnd you?\n")
    (conversation,) = conversation_ids()
    back = rolellm_here("chat", "ada", *model, stdin="It is me again.")

    assert first.stdout == ("Ada: Good day.\n\nYou: Hello.\n\nAda: One.\n\nYou: And you?\n\nAda: Two.\n\n")
    assert back.stdout == "You: It is me again.\n\nAda: One.\n\n"
    assert conversation_ids() == [conversation]
    assert [message.text for message in kept(conversation)] == [
        *("Good day.", "Hello.", "One.", "And you?", "Two."),
        *("It is me again.", "One."),
    ]

    rolellm_here("chat", "ada", "--new", *model, stdin="Somebody else.")

    latest, earlier = conversation_ids()
    assert earlier == conversation
    assert [message.text for message in kept(latest)] == ["Good day.", "Somebody else.", "One."]


def test_a_turn_that_fails_ends_it_and_keeps_the_line() -> None:
    write_persona()
    write_models('[models.taciturn]\nspec = "scripted:One."\nonce = true\n')

    said = rolellm_here("chat", "ada", "--model", "taciturn", stdin="Hello.\nAnd you?\nAnyone?\n")

    assert said.returncode == 2
    assert said.stderr == "rolellm: The scripted model has no reply left after 1.\n"
    assert said.stdout.startswith("Ada: Good day.\n\nYou: Hello.\n\nAda: One.\n\nYou: And you?\n\n")
    assert "Anyone?" not in said.stdout
    (conversation,) = conversation_ids()
    assert [message.text for message in kept(conversation)][1:] == ["Hello.", "One.", "And you?"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nobody-at-all",), "rolellm: There is no persona 'nobody-at-all'; "),
        (("shrek", "--model", "workstation"), "rolellm: There is no model 'workstation'; "),
    ],
)
def test_what_cannot_begin_is_told_in_a_sentence(arguments: tuple[str, ...], complaint: str) -> None:
    said = rolellm_here("chat", *arguments, stdin="Hello.\n")

    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith(complaint)
    assert said.stderr.count("\n") == 1
    assert not user_paths().transcript.exists() or conversation_ids() == []
