"""One turn of a scene as the graph's stream tells of it: it is recorded, and becomes events."""

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage

from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.scene import SceneLine, line_of
from rolellm_agents.scene.manners import OpeningWords
from rolellm_agents.scene.witness import audience_of, present_in
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.answer import hash_prompt, record_of
from rolellm_graphs.ensemble import Ensemble
from rolellm_graphs.events import (
    MessageDone,
    Prompted,
    Recalled,
    Retried,
    SceneEvent,
    SpeakerChosen,
    YourTurn,
)
from rolellm_graphs.prompt_parts import parts_of
from rolellm_graphs.recording import Recording
from rolellm_graphs.scene_state import Attempt
from rolellm_graphs.speaking import RETRIES, heard_by_name


class SceneTurn:
    """A turn on its way, and what happens before and after it."""

    def __init__(
        self,
        ensemble: Ensemble,
        transcript: Transcript,
        conversation: str,
        branch: str,
        path: list[Message],
    ) -> None:
        """Nothing has happened yet.

        Args:
            ensemble: who plays.
            transcript: where all is recorded.
            conversation: in which it happens.
            branch: that follows what happens.
            path: what happened before.
        """
        self.path = list(path)
        """What stands, with what this turn has added."""
        self._ensemble = ensemble
        self._transcript = transcript
        self._conversation = conversation
        self._branch = branch
        self._speaker = ""
        self._recording: Recording | None = None
        self._opening: OpeningWords | None = None
        self._answer: AIMessage | None = None
        self._told: dict[str, Any] = {}

    @property
    def last(self) -> Message | None:
        """What the speaker said when the turn ended before its end."""
        return self._recording.message if self._recording else None

    def take(self, parts: Iterable[Any]) -> list[SceneEvent]:
        """Turn parts of the graph's stream into events; words that wait together come together."""
        events: list[SceneEvent] = []
        words = ""
        for part in parts:
            speaking = bool(part["ns"]) and part["ns"][0].startswith("speak:")
            if part["type"] == "messages":
                chunk, _ = part["data"]
                words += chunk.text if speaking and isinstance(chunk, AIMessage) else ""
                continue
            events += self._heard(words)
            words = ""
            for node, update in part["data"].items():
                events += self._speaking(node, update) if speaking else self._happening(node, update)
        return [*events, *self._heard(words)]

    def stop(self) -> None:
        """Keep what was said of a turn that was stopped; nothing is left to do after one that ended."""
        recording = self._recording
        if recording is not None and recording.begun and recording.message is None:
            stopped = recording.end("stopped", None, self._told)
            self.path += [stopped] if stopped else []

    def fail(self) -> None:
        """Keep what was said of a turn that failed."""
        if self._recording is not None and self._recording.message is None:
            self._recording.fail()
            self.path += [self._recording.message] if self._recording.message else []

    def _speaking(self, node: str, update: dict[str, Any]) -> list[SceneEvent]:
        """What the speaker's own graph tells."""
        if node == "recall":
            self._told |= record_of(update)
            return [Recalled(items=tuple(update["recalled"]))]
        if node == "compose":
            return [self._prompted(update["prompt"])]
        if node == "speak":
            self._answer = update["messages"][-1]
            opening = self._opening
            return self._shown(opening.finish()) if opening else []
        return []

    def _prompted(self, prompt: list[dict[str, Any]]) -> Prompted:
        voice = self._ensemble.voices[self._speaker]
        self._told |= {
            "model": voice.model_name,
            "strategy": voice.strategy,
            "prompt": hash_prompt(prompt),
        }
        self._recording = Recording(
            self._transcript,
            self._conversation,
            self.path[-1].id if self.path else None,
            speaker=self._speaker,
            branch=self._branch,
        )
        self._opening = self._opening_words()
        return Prompted(
            parts=parts_of(prompt),
            model=voice.model_name,
            strategy=voice.strategy,
            sampling=describe_sampling(voice.model),
        )

    def _opening_words(self) -> OpeningWords:
        loaded = self._ensemble.loaded
        names = heard_by_name(loaded, self._speaker, self._lines())
        return OpeningWords(loaded.scene.manners, names, [loaded.names[self._speaker]])

    def _heard(self, words: str) -> list[SceneEvent]:
        return self._shown(self._opening.feed(words)) if words and self._opening else []

    def _shown(self, words: str) -> list[SceneEvent]:
        """Words that are sure to be part of what is said, and whose audience is known."""
        utterance = self._opening.utterance if self._opening else None
        if not words or utterance is None or self._recording is None:
            return []
        present = present_in(self._ensemble.loaded.scene, self._lines())
        audience = audience_of(utterance.kind, self._speaker, utterance.to, present)
        return [self._recording.add(words, audience=audience, kind=utterance.kind, made_by=self._told)]

    def _happening(self, node: str, update: Any) -> list[SceneEvent]:
        """What the scene's graph tells."""
        if node == "__interrupt__":
            asked = update[0].value
            return [YourTurn(seat=asked["seat"], why=asked["why"])]
        if not update:
            return []
        if node == "direct" and update.get("speaker"):
            self._speaker = update["speaker"]
            self._told = {}
            return [SpeakerChosen(seat=self._speaker, why=update["why"])]
        if node == "guard":
            return self._guarded(update["attempts"])
        if node == "witness":
            return [MessageDone(message=self._stood(update["lines"][0]))]
        return [MessageDone(message=self._added(line)) for line in update.get("lines", ())]

    def _guarded(self, attempts: list[Attempt]) -> list[SceneEvent]:
        """An attempt that must not stand is kept beside the next one."""
        last = attempts[-1]
        if not last["fault"] or len(attempts) > RETRIES or self._recording is None:
            return []
        made_by = {**self._told, **last["made_by"], "fault": last["fault"]}
        made_by.pop("usage", None)  # it stands beside
        kept = self._recording.end("complete", self._answer, made_by, text=last["text"], kind=last["kind"])
        self._recording = self._opening = self._answer = None
        return [Retried(message=kept, fault=last["fault"])]

    def _stood(self, line: SceneLine) -> Message:
        recording, self._recording, self._opening = self._recording, None, None
        made_by = {**self._told, **line["made_by"]}
        made_by.pop("usage", None)  # it stands beside
        if recording is None or not recording.begun:
            return self._added(line)
        ended = recording.end("complete", self._answer, made_by, text=line["text"], kind=line["kind"])
        if ended is None or set(ended.audience) != set(line["audience"]):
            # What was begun for others must not stand as if they alone had heard it.
            return self._added(line)
        self.path.append(ended)
        return ended

    def _added(self, line: SceneLine) -> Message:
        message = self._transcript.append(
            self._conversation,
            self.path[-1].id if self.path else None,
            speaker=line["speaker"],
            audience=line["audience"],
            kind=line["kind"],
            text=line["text"],
            made_by=line["made_by"] or None,
            branch=self._branch,
        )
        self.path.append(message)
        return message

    def _lines(self) -> list[SceneLine]:
        return [line_of(message) for message in self.path]
