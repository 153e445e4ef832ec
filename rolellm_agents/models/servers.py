"""Model servers on this machine: Ollama, LM Studio, llama-server, vLLM, KoboldCpp and others.

All known ports are asked at once for `/v1/models` and for what the program states beyond it, with one
deadline. Only loopback is asked, and the address in `OLLAMA_HOST`, which the user has set.
"""

import http.client
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from rolellm_agents.models.server_details import ServerDetails, server_details

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
    "rolellm": "rolellm",
}
"""Servers by the `owned_by` of their models, since any server may use any port."""
_OURS: Final = "rolellm"
_DEADLINE: Final = 0.12
"""Seconds for one server's answers; what it has not stated by then is unknown."""
_LONGEST: Final = 1 << 20
"""Bytes that are read of an answer."""


@dataclass(frozen=True)
class ServedModel:
    """A model that a server offers."""

    name: str
    server: str
    """The name of the program, such as `Ollama`."""
    base_url: str
    details: ServerDetails
    """Its context and abilities, as far as they are known."""


def served_models(ports: Iterable[int] = tuple(PORTS)) -> list[ServedModel]:
    """Ask the servers on this machine for their models; takes about 150 ms.

    Args:
        ports: the ports of loopback to ask.
    """
    places = dict.fromkeys([*_ollama_place(), *((LOOPBACK, port) for port in ports)])
    with ThreadPoolExecutor(max_workers=len(places) or 1) as pool:
        found = pool.map(lambda place: _models_at(*place), places)
        return [model for models in found for model in models]


def is_on_loopback(base_url: str) -> bool:
    """Whether a base URL names this machine by its loopback address."""
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
        return parts.scheme == "http" and (host in ("localhost", "::1") or host.startswith("127."))
    except ValueError:
        return False


def stated_context(base_url: str, name: str) -> int | None:
    """The context that a server on this machine states for one of its models; None if it states none.

    Args:
        base_url: the server's address; nothing is asked if it is not on loopback.
        name: the model's name as the server knows it.
    """
    if not is_on_loopback(base_url):
        return None
    parts = urlsplit(base_url)
    found = _models_at(LOOPBACK if parts.hostname == "localhost" else str(parts.hostname), parts.port or 80)
    return next((model.details.context for model in found if model.name == name), None)


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
    until = time.monotonic() + _DEADLINE

    def request(path: str, body: Mapping[str, Any] | None = None) -> Any:
        try:
            return _json_of(host, port, path, body, seconds=until - time.monotonic())
        except (OSError, ValueError, http.client.HTTPException):
            return None

    listed = request("/v1/models")
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return []
    named = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    server = _program(named, port)
    if server == _OURS:
        return []
    base_url = f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"
    details = server_details(server, named, request)
    return [ServedModel(name, server, base_url, known) for name, known in details.items()]


def _program(entries: Sequence[Mapping[str, Any]], port: int) -> str:
    """The program that answered: by the owner of its first model, or by its port."""
    owner = str(entries[0].get("owned_by") or "").lower() if entries else ""
    return _OWNERS.get(owner) or PORTS.get(port, "a server")


def _json_of(host: str, port: int, path: str, body: Mapping[str, Any] | None, *, seconds: float) -> Any:
    """A server's answer; None for an error.

    Raises:
        OSError: there is no server, or no answer in this time.
        ValueError: the answer is not JSON.
        http.client.HTTPException: the answer is not HTTP.
    """
    if seconds <= 0:
        raise TimeoutError
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        method, sent = ("GET", None) if body is None else ("POST", json.dumps(body))
        connection.request(method, path, sent, {"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != HTTPStatus.OK:
            return None
        return json.loads(response.read(_LONGEST))
    finally:
        connection.close()
