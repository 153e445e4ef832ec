"""The measures of a reply against references, by the names a person asks for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from rolellm_agents.errors import RoleBenchError
from rolellm_agents.metrics.rouge import Rouge, rouge_l, summary_rouge_l, word_runs
from rolellm_agents.metrics.words import (
    character_sentences,
    google_words,
    jieba_sentences,
    jieba_words,
    spaced_sentences,
    words_and_characters,
)
from rolellm_agents.plugins import load_plugin, plugin_names, qualified_name
from rolellm_agents.text import did_you_mean, one_line
from rolellm_agents.text.language import Language

Over = Literal["first", "max", "mean"]
"""Of several references: the first alone, the one that gives the most, or the mean over all."""
ChineseWords = Literal["characters", "jieba"]
"""What a Chinese text is cut into."""

_Cut = Callable[[str], Any]


class ReferencedReply(NamedTuple):
    """A reply, and what it may be like."""

    reply: str
    references: Sequence[str]
    """At least one."""
    language: Language


class _Cutters(NamedTuple):
    """How a text is cut before it is compared."""

    english: _Cut
    characters: _Cut
    jieba: _Cut

    def of(self, language: Language, zh_words: ChineseWords) -> _Cut:
        if language == "en":
            return self.english
        return self.jieba if zh_words == "jieba" else self.characters


_WORDS: Final = _Cutters(google_words, words_and_characters, jieba_words)
_SENTENCES: Final = _Cutters(spaced_sentences, character_sentences, jieba_sentences)


def _as_they_are(cut: Any) -> Any:
    return cut


@dataclass(frozen=True, eq=False)
class Measure:
    """From a reply, its references and their language to a score between 0 and 1."""

    cutters: _Cutters
    compare: Callable[[Any, Any], Rouge]
    part: Literal["recall", "f1"]
    shape: Callable[[Any], Any] = _as_they_are
    """What is made of a cut text before it is compared with several others."""

    def __call__(
        self,
        reply: str,
        references: Sequence[str],
        language: Language,
        *,
        over: Over = "max",
        zh_words: ChineseWords = "characters",
    ) -> float:
        """Score one reply.

        Args:
            reply: the text that is measured.
            references: what it may be like, at least one.
            language: of all of them.
            over: which of the references count.
            zh_words: what Chinese is cut into.

        Raises:
            ValueError: there is no reference.
        """
        cut = self.cutters.of(language, zh_words)
        counted = _counted(references, over)
        return self.of_cut(cut(reply), [cut(text) for text in counted], over)

    def of_cut(self, reply: Any, references: Iterable[Any], over: Over) -> float:
        """Score a reply that is cut already, as are the references that count."""
        shaped = self.shape(reply)
        part = attrgetter(self.part)
        scores: list[float] = [part(self.compare(shaped, self.shape(one))) for one in references]
        return sum(scores) / len(scores) if over == "mean" else max(scores)


rouge_l_f1: Final = Measure(_WORDS, rouge_l, "f1")
"""F1 of ROUGE-L; in English exactly that of `rouge_score` without stemmer.

Chinese is compared character by character, or by jieba's words, without punctuation. Words that fit no
reference lower it.
"""

paper_recall: Final = Measure(_SENTENCES, summary_rouge_l, "recall")
"""Recall of ROUGE-L as the published RoleBench figures were found to be computed: by `rouge` 1.0.1.

Words that fit no reference cost nothing, so that a longer reply usually scores higher; it is there to be
laid beside the paper's figures.
"""

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "rouge-1-f1": Measure(_WORDS, rouge_l, "f1", partial(word_runs, n=1)),
        "rouge-2-f1": Measure(_WORDS, rouge_l, "f1", partial(word_runs, n=2)),
        "rouge-l-f1": rouge_l_f1,
        "paper": paper_recall,
    }
)


Metric = Callable[[str, str, Language], float]
"""`(reply, reference, language) -> score`: a metric of one's own, for one reference at a time."""


def measure_named(name: str) -> Measure | Metric:
    """One of `MEASURES`, or an entry point of `rolellm.metrics`.

    Raises:
        RoleBenchError: there is none of that name.
        PluginError: the package that provides it cannot be used.
    """
    if name in MEASURES:
        return MEASURES[name]
    provided: Metric | None = load_plugin("rolellm.metrics", name)
    if provided is None:
        known = [*MEASURES, *plugin_names("rolellm.metrics")]
        raise RoleBenchError(
            f"There is no measure {one_line(name, 40)!r}{did_you_mean(name, known)}; "
            f"name one of {', '.join(known)}."
        )
    return provided


def score_many(
    answers: Iterable[ReferencedReply],
    measures: Sequence[str | Metric],
    *,
    over: Over = "max",
    zh_words: ChineseWords = "characters",
) -> dict[str, list[float]]:
    """Score many replies by several measures; texts are cut once for all measures that cut alike.

    Args:
        answers: replies with their references; they are gone through once.
        measures: names, or metrics of your own.
        over: which of the references count.
        zh_words: what Chinese is cut into, by our own measures.

    Returns:
        For each measure the scores, in the order of the answers; a metric of your own is called
        `module.name`.

    Raises:
        RoleBenchError: there is no measure of such a name.
        ValueError: an answer has no reference.
    """
    given = {
        one if isinstance(one, str) else qualified_name(one): measure_named(one)
        if isinstance(one, str)
        else one
        for one in measures
    }
    scores: dict[str, list[float]] = {name: [] for name in given}
    chosen = {name: one for name, one in given.items() if isinstance(one, Measure)}
    own = [(scores[name].append, one) for name, one in given.items() if not isinstance(one, Measure)]
    alike = [
        (cutters, [(scores[name].append, one) for name, one in chosen.items() if one.cutters is cutters])
        for cutters in dict.fromkeys(one.cutters for one in chosen.values())
    ]
    for answer in answers:
        counted = _counted(answer.references, over)
        for cutters, members in alike:
            cut = cutters.of(answer.language, zh_words)
            reply, references = cut(answer.reply), [cut(text) for text in counted]
            for add, measure in members:
                add(measure.of_cut(reply, references, over))
        for add, metric in own:
            values = [metric(answer.reply, text, answer.language) for text in counted]
            add(sum(values) / len(values) if over == "mean" else max(values))
    return scores


def _counted(references: Sequence[str], over: Over) -> Sequence[str]:
    if not references:
        raise ValueError("there is no reference")
    return references[:1] if over == "first" else references
