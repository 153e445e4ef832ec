"""The models of a scene: a voice for each seat, and the models of the narrator and the director."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from langchain_core.language_models import BaseChatModel

from rolellm_agents.cards import Lorebook
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.local import count_tokens
from rolellm_agents.prompting.strategies import Strategy
from rolellm_agents.recall import Passage, RecallOptions
from rolellm_agents.scene import LoadedScene
from rolellm_agents.scene.directors import DirectorFunction
from rolellm_agents.scene.file_models import with_models_that_count
from rolellm_agents.scene.view import instruction_for
from rolellm_graphs.chat.voice import Voice

SCENE_STRATEGY = "system"
"""The default strategy; it adds few tokens, because a scene's prompts are long anyway."""

_ANSWER = 256
"""Tokens reserved for an answer if the model has no `max_tokens`."""
_CONTEXT = 16_384
"""Assumed context size in tokens if the model has no `n_ctx`."""
_SLACK = 64
"""Tokens reserved for the chat template, with a margin."""


class Ensemble:
    """The models of a scene, not loaded yet; seats with the same spec share a model."""

    def __init__(
        self,
        loaded: LoadedScene,
        *,
        model: BaseChatModel | str | None = None,
        models: Mapping[str, BaseChatModel | str] | None = None,
        usual: str = DEFAULT_MODEL,
        director: DirectorFunction | None = None,
        strategy: str | Strategy | None = None,
        lorebooks: Sequence[Lorebook] = (),
        recall: RecallOptions | None = None,
        memories: Mapping[str, Sequence[Passage]] | None = None,
        make: Callable[..., BaseChatModel] = get_model,
    ) -> None:
        """Prepare the voices.

        Args:
            loaded: the scene.
            model: the model of all seats without their own; overrides the scene's model, and all models of
                a file from elsewhere to which the user has not agreed.
            models: models by seat; they override the scene's.
            usual: the model if neither `model` nor the scene names one.
            director: chooses the next speaker; overrides the scene's director.
            strategy: the strategy of all seats without their own; overrides the scene's strategy.
            lorebooks: lorebooks of all seats, beside each persona's own.
            recall: how passages are looked up.
            memories: passages of earlier conversations by seat.
            make: creates a model from a spec; takes `conversations`, as `get_model` does.

        Raises:
            SceneError: a model or memories are given for a seat that does not exist.
            TrustError: models of a file from elsewhere would be used, and nobody has agreed to them.
            ModelError: there is no such model.
            SettingsError: there is no such strategy.
            PersonaError: a persona's lorebook cannot be used.
        """
        given = models or {}
        for seat_id in (*given, *(memories or {})):
            loaded.check_seat(seat_id)
        loaded = with_models_that_count(loaded, has_model=model is not None, seats=given)
        scene = loaded.scene
        self.loaded = loaded
        self._made: dict[str, BaseChatModel] = {}
        self._make = make
        default = model or scene.model or usual
        user = next((seat.name for seat in scene.cast if seat.person), DEFAULT_USER)
        self.voices = {
            seat.id: Voice(
                loaded.personas[seat.id],
                model=self._model(given.get(seat.id) or seat.model or default),
                model_name=_spec(given.get(seat.id) or seat.model or default),
                strategy=seat.strategy or strategy or scene.strategy or SCENE_STRATEGY,
                user=user,
                lorebooks=lorebooks,
                recall=recall,
                memories=(memories or {}).get(seat.id, ()),
            )
            for seat in scene.cast
        }
        self.choose_speaker = director
        """The function that overrides the scene's director, if any."""
        self._director = scene.director.model or default
        self._narrator = (scene.narrator and scene.narrator.model) or default
        self.models = self._used()
        """All models that the scene uses, without duplicates."""
        self._fixed = {seat_id: self._fixed_text(seat_id) for seat_id in self.voices}
        self._count = {id(one): _counter(one) for one in (v.model for v in self.voices.values())}

    @property
    def director_kind(self) -> str | None:
        """The kind of the scene's director; None if a function overrides it."""
        return None if self.choose_speaker else self.loaded.scene.director.kind

    @property
    def director(self) -> BaseChatModel:
        """The director's model, for directors that use one."""
        return self._model(self._director)

    @property
    def narrator(self) -> BaseChatModel:
        """The narrator's model."""
        return self._model(self._narrator)

    def _used(self) -> list[BaseChatModel]:
        scene = self.loaded.scene
        models = [voice.model for voice in self.voices.values()]
        models += [self.director] if self.director_kind == "model" else []
        models += [self.narrator] if scene.narrator else []
        return list({id(model): model for model in models}.values())

    def count(self, seat: str, text: str) -> int:
        """The number of tokens of a text for a seat's model."""
        return self._count[id(self.voices[seat].model)](text)

    def room(self, seat: str) -> int:
        """The number of tokens that the history may take in a seat's prompt."""
        voice = self.voices[seat]
        context = getattr(voice.model, "n_ctx", None) or _CONTEXT
        answer = getattr(voice.model, "max_tokens", None) or _ANSWER
        fixed = self.count(seat, self._fixed[seat])
        return max(_ANSWER, int(context) - int(answer) - fixed - _SLACK)

    def _fixed_text(self, seat: str) -> str:
        """The part of a seat's prompt that does not depend on the history."""
        persona = self.voices[seat].prompting.compose([], [], "")
        return "".join(message.text for message in persona) + instruction_for(self.loaded, seat, [])

    def _model(self, given: BaseChatModel | str) -> BaseChatModel:
        if isinstance(given, BaseChatModel):
            return given
        if given not in self._made:
            # One more than there are seats, for the director, the narrator and the summaries.
            self._made[given] = self._make(given, conversations=len(self.loaded.seats) + 1)
        return self._made[given]


def _spec(given: BaseChatModel | str) -> str | None:
    return given if isinstance(given, str) else None


def _counter(model: BaseChatModel) -> Callable[[str], int]:
    @lru_cache(maxsize=4096)
    def count(text: str) -> int:
        return count_tokens(model, text)[0]

    return count
