"""llama.cpp's own server, from the wheel `xllamacpp`, with a slot for each character.

It does not import llama-cpp-python, because one process must not load two builds of llama.cpp.
"""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from threading import Barrier
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import xllamacpp

from rolellm_agents.errors import ModelError
from rolellm_speed.engine.system import EngineTask, SpokenTurn, features_in, together_rate

_ANSWER_SECONDS = 600


def open_engine(job: EngineTask) -> "LlamaServer":
    """Start the server, which loads the model."""
    return LlamaServer(job)


class _ServerReply(NamedTuple):
    """The result of a request."""

    tokens: list[int]
    text: str
    moments: list[float]
    """Arrival times of the tokens."""
    read: int
    """Number of computed prompt tokens."""


class LlamaServer:
    """An `EngineUnderTest` behind HTTP on the loopback interface, with a minimal client."""

    def __init__(self, job: EngineTask) -> None:
        """Start the server in threads of this process."""
        self.at_once = job.sequences
        self.features = features_in(xllamacpp.get_system_info())
        self._server = xllamacpp.Server(_server_params(job, self.features))
        self._address = urlsplit(self._server.listening_address).netloc
        # The default sampler chain would sort forty candidates to select the first one.
        self._sampling = {"samplers": ["top_k"], "top_k": 1} if job.tuned else {}

    def turn(self, character: int, prompt: Sequence[int], n: int) -> SpokenTurn:
        """Send one streaming request to the character's slot."""
        began = time.perf_counter()
        answer = self._complete(character, prompt, n)
        tokens = answer.tokens
        if len(tokens) < n:
            # If a character consists of several tokens, the stream contains only the last one.
            tokens = self._ask("/tokenize", {"content": answer.text})["tokens"][:n]
        return SpokenTurn(tokens, answer.moments[0] - began, answer.read)

    def between(self, heard: Sequence[Sequence[int]]) -> None:
        """Do nothing, because the server has no prefetch."""

    def decode_together(self, prompts: Sequence[Sequence[int]], n: int) -> float:
        """Send all requests concurrently, after each slot has prefilled its prompt."""
        for slot, prompt in enumerate(prompts):
            self._complete(slot, prompt, 1)
        ready = Barrier(len(prompts))

        def complete(slot: int) -> _ServerReply:
            ready.wait()
            return self._complete(slot, prompts[slot], n)

        with ThreadPoolExecutor(len(prompts)) as threads:
            answers = list(threads.map(complete, range(len(prompts))))
        return together_rate([answer.moments for answer in answers], n)

    def close(self) -> None:
        """Stop the server."""
        del self._server

    def _complete(self, slot: int, prompt: Sequence[int], n: int) -> _ServerReply:
        response = self._post(
            "/completion",
            {
                "prompt": prompt,
                "id_slot": slot,
                "n_predict": n,
                "temperature": 0,
                "ignore_eos": True,
                "cache_prompt": True,
                "return_tokens": True,
                "stream": True,
                **self._sampling,
            },
        )
        # Only the arrival times are recorded meanwhile; the tokens are parsed at the end.
        events = []
        while line := response.readline():
            if line.startswith(b"data: "):
                events.append((time.perf_counter(), line))
        said = [(moment, json.loads(line.removeprefix(b"data: "))) for moment, line in events]
        last = said[-1][1] if said else {}
        if "timings" not in last:
            raise ModelError(f"llama.cpp's server stopped: {json.dumps(last)[:500]}")
        return _ServerReply(
            tokens=[token for _, event in said for token in event["tokens"]],
            text="".join(event["content"] for _, event in said),
            moments=[moment for moment, event in said if event["tokens"]],
            read=last["timings"]["prompt_n"],
        )

    def _ask(self, path: str, body: dict[str, Any]) -> Any:
        return json.loads(self._post(path, body).read())

    def _post(self, path: str, body: dict[str, Any]) -> HTTPResponse:
        # The server closes the connection after a stream, so each request opens a new one.
        connection = HTTPConnection(self._address, timeout=_ANSWER_SECONDS)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise ModelError(f"llama.cpp's server answers {response.status}: {response.read()[:500]!r}")
        return response


def _server_params(job: EngineTask, features: Sequence[str]) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = job.weights
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = job.n_ctx * job.sequences
    params.n_parallel = job.sequences
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = job.threads
    params.no_extra_bufts = True  # they crash on processors with AMX
    params.verbosity = 0
    if job.tuned:
        kinds = xllamacpp.llama_flash_attn_type
        params.flash_attn_type = (
            kinds.LLAMA_FLASH_ATTN_TYPE_ENABLED
            if job.flash_attention
            else kinds.LLAMA_FLASH_ATTN_TYPE_DISABLED
        )
        params.kv_unified = False
        params.cache_ram_mib = 0  # no unused copies of slots
        params.no_extra_bufts = any(feature.startswith("AMX") for feature in features)
    return params
