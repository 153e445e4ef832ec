"""llama.cpp's own OpenAI-compatible server over a GGUF file, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTEXT = 2048
"""How many tokens a conversation with it may hold."""


@contextmanager
def llama_server(
    gguf: Path, *, alias: str, api_key: str, grammar: str = "", chat_template: str = ""
) -> Iterator[str]:
    """Run it on an ephemeral port of loopback; gives its base URL, up to and with `/v1`.

    A grammar holds for every answer, in llama.cpp's notation; a chat template replaces the file's own.
    """
    with subprocess.Popen(
        (sys.executable, __file__, str(gguf), alias, api_key, grammar, chat_template),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            assert address, "the server ended before it listened"
            yield f"{address}/v1"
        finally:
            try:
                server.communicate(timeout=30)  # closes its standard input, at which it ends
            except subprocess.TimeoutExpired:
                server.kill()


def _serve(gguf: str, alias: str, api_key: str, grammar: str, chat_template: str) -> None:
    from xllamacpp import CommonGrammar, CommonParams, Server, common_grammar_type

    params = CommonParams()
    params.model.path = gguf
    params.model_alias = {alias}
    params.api_keys = [api_key]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.no_extra_bufts = True  # they crash on processors with AMX
    params.cache_prompt = False  # the same request takes the same steps
    params.warmup = False
    params.verbosity = 0
    if grammar:
        kind = common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        params.sampling.grammar = CommonGrammar(kind, grammar)
    if chat_template:
        params.chat_template = chat_template
        params.use_jinja = True
    server = Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
