"""Find the demonstrations nearest to a user line by BM25, as RoleGPT does (arXiv 2310.00746, §3.2)."""

from rolellm_agents.persona import Persona
from rolellm_agents.recall.recalled import RecalledDemonstration
from rolellm_agents.recall.words import words_of


class DemonstrationIndex:
    """BM25 over a persona's demonstrations: the user's line and the reply together."""

    def __init__(self, persona: Persona) -> None:
        """Read the persona's demonstrations."""
        self._language = persona.language
        self._bm25 = _Bm25(
            [words_of(f"{pair.user}\n{pair.reply}", persona.language) for pair in persona.demonstrations]
        )

    def search(self, user: str, k: int) -> list[RecalledDemonstration]:
        """The `k` nearest demonstrations, best first; ties keep the persona's order.

        Demonstrations that share no word with `user` come last: they still show the voice.
        """
        if k <= 0:
            return []
        scores = self._bm25.scores(words_of(user, self._language))
        ranked = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        return [
            RecalledDemonstration(kind="demonstration", index=index, score=round(scores[index], 4))
            for index in ranked[:k]
        ]


class _Bm25:
    """bm25s with words for words: it takes lists of strings and its own vocabulary stays inside."""

    def __init__(self, documents: list[list[str]]) -> None:
        # numpy comes with it; commands that never search should not pay for that.
        import bm25s

        self._documents = len(documents)
        self._model = bm25s.BM25()
        if any(documents):
            self._model.index(documents, show_progress=False)

    def scores(self, query: list[str]) -> list[float]:
        known = [word for word in query if word in getattr(self._model, "vocab_dict", {})]
        if not known:
            return [0.0] * self._documents
        return [float(score) for score in self._model.get_scores(known)]
