"""Check a persona's corpus: coverage, length, repeated openings, assistant phrases, near copies."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rolellm_agents.corpus.conversations import CorpusConversation, PersonaCorpus
from rolellm_agents.corpus.plan import CONVERSATIONS, EXCHANGES, OF_TOPIC, SINGLES, TOPICS
from rolellm_agents.persona import Demonstration, Persona
from rolellm_agents.text import one_line
from rolellm_agents.text.ai_talk import ai_talk
from rolellm_agents.text.language import Language, is_in_other_language, language_of
from rolellm_agents.text.near_copies import near_copies
from rolellm_agents.text.phrases import bare, is_heard

CorpusRule = Literal[
    "coverage",
    "length",
    "same-opening",
    "assistant-speak",
    "catchphrase",
    "question",
    "dash",
    "action",
    "wrong-language",
    "copied-line",
    "out-of-context",
]

_LENGTH: dict[Language, tuple[int, int, int, str]] = {
    "en": (6, 40, 65, "words"),
    "zh": (8, 70, 110, "characters"),
}
"""Usual least and most length of a reply, and the most that is possible."""
_USUAL = 0.85
"""Least share of replies of the usual length."""
_OPENINGS = 5
"""Most replies with the same first two words (in Chinese, characters)."""
_INTERJECTIONS = ("ah", "oh", "well", "now", "look", "hm", "hmm", "listen")
_SAME_INTERJECTION = 5
_CATCHPHRASES = 1 / 12
_QUESTIONS = 0.4
_DASHES = 0.1
_ACTIONS = 0.15
_COPY = {"question": 0.9, "reply": 0.5}
"""The least share of common runs of words of two lines that count as copies."""


@dataclass(frozen=True)
class CorpusFinding:
    """One violation of a rule in the corpus of one persona."""

    persona: str
    rule: CorpusRule
    line: int
    """Line of the file, from 1; 0 for the file as a whole."""
    message: str

    @property
    def place(self) -> str:
        """The persona's id and the line, as in error messages of compilers."""
        return f"{self.persona}:{self.line}" if self.line else self.persona


def check_corpus(corpus: PersonaCorpus, persona: Persona) -> list[CorpusFinding]:
    """Check the conversations of one persona by the standard of `personas/rolellm_corpus/README.md`."""
    found = [
        *_check_coverage(corpus),
        *_check_replies(corpus, persona),
        *_check_openings(corpus, persona.language),
        *_check_shares(corpus, persona),
        *_check_own_copies(corpus, persona),
        *_check_context(corpus),
    ]
    return sorted(found, key=lambda finding: finding.line)


def check_copies_between(corpora: Sequence[PersonaCorpus]) -> Iterator[CorpusFinding]:
    """Find replies that are near copies of another persona's reply; a few words may be the same."""
    replies = [
        (corpus.persona, conversation.line, exchange.reply)
        for corpus in corpora
        for conversation, exchange in corpus.exchanges
        if length_of(exchange.reply, language := language_of(exchange.reply)) > _LENGTH[language][0]
    ]
    for first, second, share in near_copies([reply for *_, reply in replies], at_least=_COPY["reply"]):
        one, line, text = replies[first]
        other, other_line, _ = replies[second]
        if one != other:
            where = f"the reply at line {other_line} of {other}"
            message = f"a reply is {share:.0%} the same as {where}: {one_line(text, 60)!r}"
            yield CorpusFinding(one, "copied-line", line, message)


def _check_coverage(corpus: PersonaCorpus) -> Iterator[CorpusFinding]:
    def finding(count: int, what: str, least: int) -> CorpusFinding:
        return CorpusFinding(corpus.persona, "coverage", 0, f"{count} {what}, at least {least} are wanted")

    lengths = [len(conversation.exchanges) for conversation in corpus.conversations]
    for count, what, least in (
        (sum(lengths), "exchanges", EXCHANGES),
        (sum(length > 1 for length in lengths), "conversations", CONVERSATIONS),
        (sum(length == 1 for length in lengths), "single exchanges", SINGLES),
    ):
        if count < least:
            yield finding(count, what, least)
    of_topic: Counter[str] = Counter()
    for conversation in corpus.conversations:
        for topic in conversation.topics:
            of_topic[topic] += len(conversation.exchanges)
    for topic in TOPICS:
        if of_topic[topic] < OF_TOPIC:
            yield finding(of_topic[topic], f"exchanges on {topic}", OF_TOPIC)


def length_of(text: str, language: Language) -> int:
    """Length of a text in words; in Chinese, in characters."""
    return len("".join(text.split())) if language == "zh" else len(text.split())


def _check_replies(corpus: PersonaCorpus, persona: Persona) -> Iterator[CorpusFinding]:
    least, usual, most, unit = _LENGTH[persona.language]
    for conversation, exchange in corpus.exchanges:
        shown = one_line(exchange.reply, 60)
        length = length_of(exchange.reply, persona.language)
        if length > most:
            message = f"a reply has {length} {unit}, {most} at most are wanted: {shown!r}"
            yield CorpusFinding(corpus.persona, "length", conversation.line, message)
        if phrase := ai_talk(exchange.reply):
            yield CorpusFinding(
                corpus.persona, "assistant-speak", conversation.line, f"a reply says {phrase!r}: {shown!r}"
            )
        if "language" not in conversation.topics and is_in_other_language(exchange.reply, persona.language):
            yield CorpusFinding(
                corpus.persona,
                "wrong-language",
                conversation.line,
                f"a reply is not in {persona.language!r}: {shown!r}",
            )
    lengths = [length_of(exchange.reply, persona.language) for _, exchange in corpus.exchanges]
    share = sum(least <= length <= usual for length in lengths) / max(1, len(lengths))
    if share < _USUAL:
        message = f"{share:.0%} of the replies have {least} to {usual} {unit}, {_USUAL:.0%} are wanted"
        yield CorpusFinding(corpus.persona, "length", 0, message)


def _check_openings(corpus: PersonaCorpus, language: Language) -> Iterator[CorpusFinding]:
    opened: dict[str, list[int]] = {}
    interjections: dict[str, list[int]] = {}
    for conversation, exchange in corpus.exchanges:
        words = bare(exchange.reply)
        first = words.replace(" ", "")[:2] if language == "zh" else " ".join(words.split()[:2])
        opened.setdefault(first, []).append(conversation.line)
        interjections.setdefault(words.split(" ")[0], []).append(conversation.line)
    repeated = {words: lines for words, lines in opened.items() if len(lines) > _OPENINGS}
    repeated |= {
        word: lines
        for word, lines in interjections.items()
        if word in _INTERJECTIONS and len(lines) > _SAME_INTERJECTION
    }
    for words, lines in repeated.items():
        at = ", ".join(map(str, lines))
        yield CorpusFinding(
            corpus.persona,
            "same-opening",
            lines[-1],
            f"{len(lines)} replies begin with {words!r} (at {at}); {_OPENINGS} at most are wanted",
        )


def _check_shares(corpus: PersonaCorpus, persona: Persona) -> Iterator[CorpusFinding]:
    def has_catchphrase(reply: str) -> bool:
        return any(is_heard(phrase, reply, persona.language) for phrase in persona.catchphrases)

    shares: tuple[tuple[CorpusRule, str, float, Callable[[str], bool]], ...] = (
        ("catchphrase", "hold a catchphrase", _CATCHPHRASES, has_catchphrase),
        ("question", "end with a question", _QUESTIONS, lambda reply: reply.endswith(("?", "？", '?"'))),
        ("dash", "hold a dash", _DASHES, lambda reply: "—" in reply or "–" in reply),
        ("action", "hold an action", _ACTIONS, lambda reply: "*" in reply),
    )
    replies = [exchange.reply for _, exchange in corpus.exchanges]
    for rule, what, most, holds in shares:
        share = sum(map(holds, replies)) / max(1, len(replies))
        if share > most:
            message = f"{share:.0%} of the replies {what}, {most:.0%} at most are wanted"
            yield CorpusFinding(corpus.persona, rule, 0, message)


def _check_own_copies(corpus: PersonaCorpus, persona: Persona) -> Iterator[CorpusFinding]:
    for kind in ("question", "reply"):
        texts = [(0, f"the persona's {kind}", _part(pair, kind)) for pair in persona.demonstrations]
        texts += [
            (conversation.line, f"the {kind} at line {conversation.line}", _part(exchange, kind))
            for conversation, exchange in _without_repetition(corpus.exchanges)
        ]
        for first, second, share in near_copies([text for *_, text in texts], at_least=_COPY[kind]):
            line, where, text = texts[max(first, second)]
            _, other, _ = texts[min(first, second)]
            if line and length_of(text, persona.language) > _LENGTH[persona.language][0]:
                message = f"{where} is {share:.0%} the same as {other}: {one_line(text, 60)!r}"
                yield CorpusFinding(corpus.persona, "copied-line", line, message)


def _check_context(corpus: PersonaCorpus) -> Iterator[CorpusFinding]:
    """A conversation knows only itself, so that no model learns to remember what nobody said."""
    for conversation in corpus.conversations:
        if len(conversation.exchanges) == 1 and "callback" in conversation.topics:
            message = "a single exchange refers to what nobody said before; make it a conversation"
            yield CorpusFinding(corpus.persona, "out-of-context", conversation.line, message)


def _part(pair: Demonstration, kind: str) -> str:
    return pair.user if kind == "question" else pair.reply


def _without_repetition(
    exchanges: Iterable[tuple[CorpusConversation, Demonstration]],
) -> Iterator[tuple[CorpusConversation, Demonstration]]:
    """All but those in which somebody asks the same thing again, which is what they are about."""
    for conversation, exchange in exchanges:
        if "repetition" not in conversation.topics:
            yield conversation, exchange
