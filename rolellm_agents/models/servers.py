"""Model servers on this machine: Ollama, LM Studio, llama-server, vLLM, KoboldCpp and others.

All known ports are asked at once for `/v1/models`, with a deadline. Only loopback is asked, and the address
in `OLLAMA_HOST`, which the user has set.
"""

import http.client
import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

LOOPBACK: Final = "127.0.0.1"
PORTS: Final[Mapping[int, str]] = {
    11434: "Ollama",
    1234: "LM Studio",
    8080: "llama-server",
    8000: "vLLM",
    5001: "KoboldCpp",
    5000: "text-generation-webui",
    30000: "SGLang",
    1337: "Jan",
}
"""The default ports of servers."""
_OWNERS: Final[Mapping[str, str]] = {
    "library": "Ollama",
    "organization_owner": "LM Studio",
    "llamacpp": "llama-server",
    "vllm": "vLLM",
    "koboldcpp": "KoboldCpp",
    "sglang": "SGLang",
}
"""Servers by the `owned_by` of their models, since any server may use any port."""
_OURS: Final = "rolellm"
_DEADLINE: Final = 0.12
"""Seconds for one server's answer."""
_LONGEST: Final = 1 << 20
"""Bytes that are read of an answer."""


@dataclass(frozen=True)
class ServedModel:
    """A model that a server offers."""

    name: str
    server: str
    """The name of the program, such as `Ollama`."""
    base_url: str
    context: int | None
    """Tokens of its context; None if the server does not state it."""


def served_models(ports: Iterable[int] = tuple(PORTS)) -> list[ServedModel]:
    """Ask the servers on this machine for their models; takes about 150 ms.

    Args:
        ports: the ports of loopback to ask.
    """
    places = dict.fromkeys([*_ollama_place(), *((LOOPBACK, port) for port in ports)])
    with ThreadPoolExecutor(max_workers=len(places) or 1) as pool:
        found = pool.map(lambda place: _models_at(*place), places)
        return [model for models in found for model in models]


def _ollama_place() -> list[tuple[str, int]]:
    given = os.environ.get("OLLAMA_HOST", "").strip()
    if not given:
        return []
    try:
        parts = urlsplit(given if "//" in given else f"//{given}")
        host, port = parts.hostname or LOOPBACK, parts.port or 11434
    except ValueError:
        return []
    # Ollama listens on all addresses then, and is reached by loopback.
    return [(LOOPBACK if host in ("0.0.0.0", "localhost", "::") else host, port)]  # noqa: S104


def _models_at(host: str, port: int) -> list[ServedModel]:
    try:
        listed = _get(host, port, "/v1/models")
    except (OSError, ValueError, http.client.HTTPException):
        return []
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return []
    models = [
        _served(entry, host, port)
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    ]
    return [model for model in models if model is not None]


def _served(entry: dict[str, Any], host: str, port: int) -> ServedModel | None:
    owner = str(entry.get("owned_by") or "").lower()
    if owner == _OURS:
        return None
    meta = entry.get("meta")
    context = entry.get("max_model_len") or (meta.get("n_ctx_train") if isinstance(meta, dict) else None)
    return ServedModel(
        name=entry["id"],
        server=_OWNERS.get(owner) or PORTS.get(port, "a server"),
        base_url=f"http://{f'[{host}]' if ':' in host else host}:{port}/v1",
        context=context if isinstance(context, int) else None,
    )


def _get(host: str, port: int, path: str) -> Any:
    connection = http.client.HTTPConnection(host, port, timeout=_DEADLINE)
    try:
        connection.request("GET", path, headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            return None
        return json.loads(response.read(_LONGEST))
    finally:
        connection.close()
