"""Measures that compare a reply with references, by name."""

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
"""How several references count: the first alone, the one with the highest score, or the mean of all."""
ChineseWords = Literal["characters", "jieba"]
"""The tokens of Chinese texts."""

_Cut = Callable[[str], Any]


class ReferencedReply(NamedTuple):
    """A reply with its references."""

    reply: str
    references: Sequence[str]
    """At least one."""
    language: Language


class _Cutters(NamedTuple):
    """The tokenizers of a measure."""

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
    """A measure, which maps a reply, its references and their language to a score between 0 and 1."""

    cutters: _Cutters
    compare: Callable[[Any, Any], Rouge]
    part: Literal["recall", "f1"]
    shape: Callable[[Any], Any] = _as_they_are
    """Applied to a tokenized text before it is compared with others."""

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
            reply: the text to score.
            references: the references, at least one.
            language: language of the reply and the references.
            over: how several references count.
            zh_words: the tokens of Chinese texts.

        Raises:
            ValueError: there are no references.
        """
        cut = self.cutters.of(language, zh_words)
        counted = _counted(references, over)
        return self.of_cut(cut(reply), [cut(text) for text in counted], over)

    def of_cut(self, reply: Any, references: Iterable[Any], over: Over) -> float:
        """Score a tokenized reply against tokenized references."""
        shaped = self.shape(reply)
        part = attrgetter(self.part)
        scores: list[float] = [part(self.compare(shaped, self.shape(one))) for one in references]
        return sum(scores) / len(scores) if over == "mean" else max(scores)


rouge_l_f1: Final = Measure(_WORDS, rouge_l, "f1")
"""F1 of ROUGE-L; for English it equals that of `rouge_score` without stemming.

Chinese is compared by character, or by jieba's words, without punctuation. Words that are not in the
reference lower the score.
"""

paper_recall: Final = Measure(_SENTENCES, summary_rouge_l, "recall")
"""Recall of ROUGE-L as in `rouge` 1.0.1, which reproduces the published RoleBench figures.

Words that are not in the reference cost nothing, so a longer reply usually scores higher. Use it to compare
with the paper's figures.
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
"""A custom metric, `(reply, reference, language) -> score`, which gets one reference at a time."""


def measure_named(name: str) -> Measure | Metric:
    """Find a measure: one of `MEASURES`, or an entry point of `rolellm.metrics`.

    Raises:
        RoleBenchError: there is no measure of that name.
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
    """Score many replies by several measures; measures with the same tokenizers share the tokenized texts.

    Args:
        answers: replies with their references; the iterable is consumed once.
        measures: names of measures, or custom metrics.
        over: how several references count.
        zh_words: the tokens of Chinese texts in built-in measures.

    Returns:
        The scores of each measure, in the order of the answers; the key of a custom metric is
        `module.name`.

    Raises:
        RoleBenchError: there is no measure of that name.
        ValueError: an answer has no references.
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
