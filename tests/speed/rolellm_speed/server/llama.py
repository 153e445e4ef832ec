"""`python -m rolellm_speed.server.llama GGUF SLOTS CLIENTS CONTEXT THREADS [ADAPTER]`: llama.cpp's server.

It does not import llama-cpp-python, because one process must not load two builds of llama.cpp.
"""

import sys

import xllamacpp


def main() -> None:
    """Serve until standard input is closed; the first printed line is the base URL."""
    path, slots, clients, context, threads, *adapters = sys.argv[1:]
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(adapter) for adapter in adapters]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = int(slots)
    params.n_ctx = int(context) * int(slots)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
    params.n_threads_http = int(clients) + 4  # otherwise some clients wait for a thread
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.no_extra_bufts = True  # they crash on processors with AMX
    params.verbosity = 0
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main()
