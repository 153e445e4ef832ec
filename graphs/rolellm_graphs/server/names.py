"""Parse the `model` of a request: a persona, a scene or a model alone, with strategy, model and seat.

`sherlock-holmes`, `sherlock-holmes@few-shot-dialogue`, `sherlock-holmes@llamacpp:smollm2@system`,
`scene:last-booth@juno-macguff` (the user's seat), `plain` (a model without a persona), `as-card` (the
character of the client's system message). Headers do the same for clients that cannot change the
name: `X-RoleLLM-Strategy`, `X-RoleLLM-Model`, `X-RoleLLM-Seat`. Suffixes take precedence.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from rolellm_agents.prompting.strategies import strategy_names
from rolellm_agents.text import did_you_mean, one_line
from rolellm_graphs.server.failures import ApiError

SCENE: Final = "scene:"
STRATEGY_HEADER: Final = "X-RoleLLM-Strategy"
MODEL_HEADER: Final = "X-RoleLLM-Model"
SEAT_HEADER: Final = "X-RoleLLM-Seat"
PLAIN: Final = "plain"
AS_CARD: Final = "as-card"
Kind = Literal["persona", "scene", "plain", "as-card"]
_SHOWN = 80


@dataclass(frozen=True)
class AgentName:
    """A parsed name."""

    id: str
    """Id of the persona or scene; for the other kinds, their name."""
    kind: Kind
    strategy: str | None
    model: str | None
    """A spec that the server offers."""
    seat: str | None
    """Seat of the user, in scenes only."""


def agent_named(name: str, headers: Mapping[str, str], models: Collection[str]) -> AgentName:
    """Parse a name.

    Args:
        name: the `model` field of the request.
        headers: the request's headers, with lower-case names.
        models: the model specs that the server offers.

    Raises:
        ApiError: a suffix or header is neither a strategy nor an offered model.
    """
    base, *suffixes = name.strip().split("@")
    kind = _kind_of(base)
    strategies = strategy_names() if kind in ("persona", "scene") else ()
    wished = headers.get(STRATEGY_HEADER.lower()) if strategies else None
    strategy = _one_of(strategies, wished, STRATEGY_HEADER, "strategy")
    model = _one_of(models, headers.get(MODEL_HEADER.lower()), MODEL_HEADER, "model")
    seat = headers.get(SEAT_HEADER.lower()) if kind == "scene" else None
    for suffix in suffixes:
        if suffix in strategies:
            strategy = suffix
        elif suffix in models:
            model = suffix
        elif kind == "scene":
            seat = suffix
        else:
            _one_of([*strategies, *models], suffix, "model", "strategy or model")
    return AgentName(base.removeprefix(SCENE), kind, strategy, model, seat)


def _kind_of(base: str) -> Kind:
    if base == PLAIN:
        return "plain"
    if base == AS_CARD:
        return "as-card"
    return "scene" if base.startswith(SCENE) else "persona"


def unknown_agent(name: str, known: Collection[str]) -> ApiError:
    """The error for an unknown name."""
    suggestion = did_you_mean(name, known)
    return ApiError(
        HTTPStatus.NOT_FOUND,
        f"There is no model {one_line(name, _SHOWN)!r}{suggestion}; GET /v1/models lists all.",
        code="model_not_found",
        param="model",
    )


def _one_of(known: Collection[str], value: str | None, param: str, kind: str) -> str | None:
    if value is None or value in known:
        return value
    raise ApiError(
        HTTPStatus.NOT_FOUND,
        f"There is no {kind} {one_line(value, _SHOWN)!r} here{did_you_mean(value, known)}; "
        f"this server has {', '.join(known)}.",
        code="model_not_found",
        param=param,
    )
