"""The Markdown form of a persona's conversations."""

from pathlib import Path

import pytest

from rolellm_agents.corpus.conversations import parse_persona_corpus, read_persona_corpus
from rolellm_agents.errors import CorpusError

HOLMES = """\
# sherlock-holmes

## conversation: daily-life, callback
> Did you sleep?
For two hours, in the chair.

> *points at the violin* On that?
Beside it.
It snores less.

## single: facts
> Seven times eight?
Fifty-six.
> And nine times nine?
Eighty-one.
"""


def test_conversations_and_single_exchanges_are_read_with_their_topics_and_lines() -> None:
    corpus = parse_persona_corpus(HOLMES)
    assert corpus.persona == "sherlock-holmes"
    assert [(one.topics, len(one.exchanges), one.line) for one in corpus.conversations] == [
        (("daily-life", "callback"), 2, 4),
        (("facts",), 1, 12),
        (("facts",), 1, 14),
    ]
    second = corpus.conversations[0].exchanges[1]
    assert (second.user, second.reply) == ("*points at the violin* On that?", "Beside it.\nIt snores less.")
    assert len(list(corpus.exchanges)) == 4


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "does not begin with “# PERSONA-ID”"),
        ("# a\n# b\n", "line 2 names a second persona"),
        ("# a\n> Hi\n", "line 2 stands before the first"),
        ("# a\n## talk: jokes\n", "line 2 is neither"),
        ("# a\n## single: joke\n", "unknown topic 'joke' (did you mean jokes?)"),
        ("# a\n## single: jokes\nHa.\n", "line 3 is a reply without a line of the user"),
        (
            "# a\n## single: jokes\n> Joke?\n\n> Joke!\nHa.\n",
            "line 4 ends a line of the user that has no reply",
        ),
        ("# a\n## conversation: jokes\n> Joke?\nHa.\n", "line 2: the conversation has 1 exchanges; 2 to 8"),
        ("# a\n## conversation: jokes\n" + "> Joke?\nHa.\n" * 9, "has 9 exchanges; 2 to 8"),
    ],
)
def test_another_form_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(CorpusError, match=r"^the text") as error:
        parse_persona_corpus(text)
    assert complaint in str(error.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "holmes.md"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(CorpusError, match="cannot be read"):
        read_persona_corpus(file)
