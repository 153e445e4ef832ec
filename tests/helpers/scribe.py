"""Writes answers in a prescribed form: a model, a context and a sampler, without engine and chat."""

from pathlib import Path

from rolellm_agents.models.llamacpp.context import LlamaContext, Row
from rolellm_agents.models.llamacpp.model import LlamaModel
from rolellm_agents.models.llamacpp.sampling import Sampler, Sampling
from rolellm_agents.models.llamacpp.tuning import Tuning


class Scribe:
    """One model for many answers, one after the other."""

    def __init__(self, path: Path, *, n_ctx: int = 4096) -> None:
        self.model = LlamaModel(path)
        self._context = LlamaContext(self.model, n_ctx=n_ctx, sequences=1, tuning=Tuning(n_threads=1))

    def write(
        self, grammar: str, *, seed: int, prompt: str = "Answer:", limit: int = 60, top_k: int = 0
    ) -> bytes:
        """An answer at temperature 1; after `limit` tokens it is brought to its end."""
        everything = Sampling(temperature=1, top_k=top_k, top_p=1, min_p=0, seed=seed, grammar=grammar)
        sampler = Sampler(self.model, everything)
        tokens = self.model.prompt_tokens(prompt)
        self._context.truncate(0, 0)
        self._context.decode([Row(t, n, 0, n == len(tokens) - 1) for n, t in enumerate(tokens)], None)
        answer = b""
        for number in range(limit):
            token = self._context.choose(-1, sampler)
            if self.model.is_end(token):
                return answer
            answer += self.model.bytes_of(token)
            self._context.decode([Row(token, len(tokens) + number, 0, True)], None)
        return answer + self._rest(sampler, len(tokens) + limit)

    def _rest(self, sampler: Sampler, position: int) -> bytes:
        """What brings it to its end, in as many steps as the sampler foretold."""
        rest = b""
        foretold = sampler.tokens_to_end()
        for number in range(foretold):
            token = self._context.choose_nearest_end(-1, sampler)
            if self.model.is_end(token):
                assert number == foretold - 1
                return rest
            rest += self.model.bytes_of(token)
            self._context.decode([Row(token, position + number, 0, True)], None)
        raise AssertionError(f"no end after {foretold} more tokens: {rest!r}")
