"""Who answers in one call of a role graph: as the graph was built, or as the call chooses."""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from langchain_core.language_models import BaseChatModel
from langgraph.config import get_config
from langgraph.runtime import get_runtime
from pydantic import TypeAdapter, ValidationError

from rolellm_agents.errors import SettingsError
from rolellm_agents.models.catalog import describe_model
from rolellm_agents.models.separated import separated
from rolellm_agents.persona import load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.prompting.composer import Prompting
from rolellm_agents.prompting.default_strategy import default_strategy
from rolellm_agents.recall import Passage, RecallOptions
from rolellm_agents.text import did_you_mean
from rolellm_graphs.role.call_context import configured
from rolellm_graphs.role.context import RoleContext
from rolellm_graphs.tracing.tags import run_metadata, run_tags

CHOICES: Final = ("persona", "user", "model", "strategy", "lorebooks", "memories")
"""The fields of `RoleContext` that say who answers."""
_KEPT: Final = 8
"""The most voices that calls have chosen and that stay prepared; each may hold indexes."""
_KEPT_MODELS: Final = 4
_LANGGRAPHS: Final = frozenset(
    ("thread_id", "thread_ts", "run_id", "graph_id", "assistant_id", "user_id", "cron_id")
)
"""Configurable values that LangGraph, its servers and its savers read."""
_LANGGRAPHS_BEGIN: Final = ("__", "langgraph_", "checkpoint_")


@dataclass(frozen=True)
class RoleVoice:
    """One persona, played by one model under one strategy."""

    prompting: Prompting
    speaker: BaseChatModel
    """The model, with its reasoning apart."""
    signature: Mapping[str, str]
    """Who has answered, for an answer's `response_metadata`."""
    tags: list[str]
    """Of the runs in which it answers, like the metadata."""
    metadata: Mapping[str, str]


class RoleCall(NamedTuple):
    """Who answers in a call, and the call's options."""

    voice: RoleVoice
    context: RoleContext


class Chooser(Protocol):
    """Says who answers in the running call."""

    def call(self) -> RoleCall:
        """The running call's voice and options."""

    async def call_async(self) -> RoleCall:
        """The same in an event loop; reads files in a thread."""


def role_voice(prompting: Prompting, model: BaseChatModel) -> RoleVoice:
    """The voice of a persona whose prompts are prepared."""
    persona, strategy = prompting.persona, prompting.strategy
    metadata = run_metadata(persona, strategy, describe_model(model))
    signature = run_metadata(persona, strategy)
    return RoleVoice(prompting, separated(model), signature, run_tags(persona, strategy), metadata)


class ChoosingCalls:
    """Calls that may choose by `RoleContext`, or by `configurable` values of the same names."""

    def __init__(
        self,
        given: Mapping[str, Any],
        *,
        recall: RecallOptions | None,
        make: Callable[[str], BaseChatModel],
        schema: type[RoleContext],
    ) -> None:
        """Prepare the voice of calls that choose nothing.

        Args:
            given: a value for each of `CHOICES`, of which `strategy` may be None.
            recall: how passages are looked up.
            make: creates a model from a spec.
            schema: the context's type.

        Raises:
            PersonaError, ModelError, SettingsError: a value names something that does not exist.
        """
        self._given = given
        self._recall = recall
        self._make = lru_cache(maxsize=_KEPT_MODELS)(make)
        self._schema = schema
        self._fields = frozenset(field.name for field in fields(schema))
        self._default = schema()
        self._chosen: OrderedDict[tuple[Any, ...], tuple[RoleContext, RoleVoice]] = OrderedDict()
        self._lock = threading.Lock()
        self.voice = self._voice_of(given)
        # LangChain's models may have configurable values, too.
        self._known = self._fields | _LANGGRAPHS | {spec.id for spec in self.voice.speaker.config_specs}

    def call(self) -> RoleCall:
        """The running call's voice and options.

        Raises:
            SettingsError: a configurable value is unknown, or has the wrong type.
            PersonaError, ModelError: there is no such persona or model.
        """
        context, choices = self._choice()
        return RoleCall(self._voice_for(context, choices) if choices else self.voice, context)

    async def call_async(self) -> RoleCall:
        """The same in an event loop; a voice is prepared in a thread."""
        context, choices = self._choice()
        if not choices:
            return RoleCall(self.voice, context)
        return RoleCall(await asyncio.to_thread(self._voice_for, context, choices), context)

    def _choice(self) -> tuple[RoleContext, dict[str, Any]]:
        """The call's context, or its configurable values, and what differs from how the graph was built.

        A graph inside another one gets all configurable values of the outer graph, which need not be meant
        for it. So they count only in the graph that was called.
        """
        context: Any = get_runtime().context
        configurable: dict[str, Any] = get_config().get("configurable", {})
        given = context if isinstance(context, RoleContext) else self._default
        if "|" not in configurable.get("checkpoint_ns", ""):
            for key in configurable:
                if key not in self._known and not key.startswith(_LANGGRAPHS_BEGIN) and "-" not in key:
                    raise self._unknown(key)
            if given is self._default and not self._fields.isdisjoint(configurable):
                given = configured(self._schema, configurable)
        return given, {
            name: value
            for name in CHOICES
            if (value := getattr(given, name)) is not None
            and value is not self._given[name]
            and not (isinstance(value, str) and value == self._given[name])
        }

    def _voice_for(self, context: RoleContext, choices: Mapping[str, Any]) -> RoleVoice:
        key = tuple((name, _identity(name, value)) for name, value in choices.items())
        with self._lock:
            if key in self._chosen:
                self._chosen.move_to_end(key)
                return self._chosen[key][1]
        voice = self._voice_of({**self._given, **choices})
        with self._lock:
            # The context is kept, so that no other object gets the identity of one of its own.
            self._chosen[key] = context, voice
            while len(self._chosen) > _KEPT:
                self._chosen.popitem(last=False)
        return voice

    def _voice_of(self, given: Mapping[str, Any]) -> RoleVoice:
        persona, model, user = given["persona"], given["model"], given["user"]
        found = load_persona(persona) if isinstance(persona, str) else persona
        prompting = Prompting(
            with_macros(found, user),
            given["strategy"] or default_strategy(model),
            user=user,
            lorebooks=given["lorebooks"],
            recall=self._recall,
            memories=_passages(given["memories"]),
        )
        return role_voice(prompting, self._make(model) if isinstance(model, str) else model)

    def _unknown(self, key: str) -> SettingsError:
        known = sorted(self._fields)
        return SettingsError(
            f"There is nothing to configure by the name {key!r}{did_you_mean(key, known)}; "
            f"known are {', '.join(known)}, and LangGraph's own names."
        )


def _identity(name: str, value: Any) -> Any:
    """What makes a choice the same as in the node before, which may have read it from JSON anew."""
    if isinstance(value, str):
        return value
    if name == "memories":
        return repr(value)
    return tuple(id(one) for one in value) if name == "lorebooks" else id(value)


def _passages(memories: Any) -> list[Passage]:
    """The memories; servers pass them as JSON."""
    try:
        return TypeAdapter(list[Passage]).validate_python(list(memories))
    except ValidationError as error:
        raise SettingsError(
            "A memory is no passage; give each a “kind” (memory), a “text” and a “source”."
        ) from error
