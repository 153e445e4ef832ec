"""One turn of a scene: records the graph's stream and converts it to events."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage

from rolellm_agents.models.catalog import describe_sampling
from rolellm_agents.scene import SceneLine, line_of
from rolellm_agents.scene.utterances import UtteranceStream
from rolellm_agents.scene.witness import audience_of, present_in
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs.chat.answer import delay_in, hash_prompt, record_of
from rolellm_graphs.chat.recording import Recording
from rolellm_graphs.events import (
    MessageDone,
    Prompted,
    Recalled,
    Retried,
    SceneEnded,
    SceneEvent,
    SpeakerChosen,
    YourTurn,
)
from rolellm_graphs.role.prompt_parts import parts_of
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.speaking import addressee_names, broken_off, needs_retry
from rolellm_graphs.scene.state import Attempt

SET_ASIDE = "set_aside"
"""Key in the provenance of a rejected answer; another answer replaces it as a swipe."""


class SceneTurn:
    """A running turn, with the scheduled events and narration around it."""

    def __init__(
        self,
        ensemble: Ensemble,
        transcript: Transcript,
        conversation: str,
        branch: str,
        path: list[Message],
    ) -> None:
        """Prepare the turn. The branch points to new messages; `path` has the messages before the turn."""
        self.path = list(path)
        """The messages of the branch, including those of this turn."""
        self.lines = [line_of(message) for message in path]
        """The same messages as lines."""
        self._began = len(path)
        self._ensemble = ensemble
        self._transcript = transcript
        self._conversation = conversation
        self._branch = branch
        self._speaker = ""
        self._recording: Recording | None = None
        self._opening: UtteranceStream | None = None
        self._answer: AIMessage | None = None
        self._provenance: dict[str, Any] = {}
        self._present: tuple[str, ...] = ()
        self._audience: tuple[str, ...] = ()

    @property
    def brought(self) -> bool:
        """Whether the turn added a message to the branch."""
        return len(self.path) > self._began

    def take(self, part: Any) -> list[SceneEvent]:
        """Convert a part of the graph's stream to events."""
        speaking = bool(part["ns"]) and part["ns"][0].startswith("speak:")
        if part["type"] == "messages":
            chunk, _ = part["data"]
            return self._feed(chunk.text) if speaking and isinstance(chunk, AIMessage) else []
        if part["type"] == "custom":
            delay = delay_in(part["data"])
            return [delay] if delay else []
        take = self._speaker_events if speaking else self._scene_events
        return [event for node, update in part["data"].items() for event in take(node, update)]

    def stop(self) -> Message | None:
        """Record the received part of a stopped turn; does nothing after a finished turn."""
        return self._kept(lambda recording: recording.end("stopped", None, self._provenance))

    def fail(self) -> Message | None:
        """Record the received part of a failed turn."""
        return self._kept(Recording.fail)

    def _kept(self, end: Callable[[Recording], object]) -> Message | None:
        recording, self._recording = self._recording, None
        if recording is None:
            return None
        if self._opening and self._opening.utterance:
            said = replace(self._opening.utterance, text=recording.text)
            recording.text = broken_off(self._ensemble.loaded, self._speaker, self.lines, said)
        end(recording)
        if recording.message:
            self._advance(recording.message)
        return recording.message

    def _speaker_events(self, node: str, update: dict[str, Any]) -> list[SceneEvent]:
        """Events for an update of the speaker's role graph."""
        if node == "recall":
            self._provenance |= record_of(update)
            return [Recalled(items=tuple(update["recalled"]))]
        if node == "compose":
            return [self._prompted(update["prompt"])]
        if node == "speak":
            self._answer = update["messages"][-1]
            opening = self._opening
            return self._word_events(opening.finish()) if opening else []
        return []

    def _prompted(self, prompt: list[dict[str, Any]]) -> Prompted:
        voice = self._ensemble.voices[self._speaker]
        self._provenance |= {
            "model": voice.model_name,
            "strategy": voice.strategy,
            "prompt": hash_prompt(prompt),
        }
        self._present = present_in(self._ensemble.loaded.scene, self.lines)
        self._recording = self._recorder()
        self._opening = self._opening_words()
        return Prompted(
            parts=parts_of(prompt),
            model=voice.model_name,
            strategy=voice.strategy,
            sampling=describe_sampling(voice.model),
        )

    def _recorder(self) -> Recording:
        return Recording(
            self._transcript,
            self._conversation,
            self.path[-1].id if self.path else None,
            speaker=self._speaker,
            branch=self._branch,
        )

    def _opening_words(self) -> UtteranceStream:
        loaded = self._ensemble.loaded
        names = addressee_names(loaded, self._speaker, self.lines)
        return UtteranceStream(loaded.scene.turn_kinds, names, [loaded.names[self._speaker]])

    def _feed(self, words: str) -> list[SceneEvent]:
        return self._word_events(self._opening.feed(words)) if words and self._opening else []

    def _word_events(self, words: str) -> list[SceneEvent]:
        """Events for words that certainly belong to the line, once its audience is known."""
        utterance = self._opening.utterance if self._opening else None
        if not words or utterance is None or self._recording is None:
            return []
        kind = self._ensemble.loaded.kinds[utterance.kind]
        self._audience = audience_of(kind, self._speaker, utterance.to, self._present)
        return [
            self._recording.add(
                words, audience=self._audience, kind=utterance.kind, made_by=self._provenance
            )
        ]

    def _scene_events(self, node: str, update: Any) -> list[SceneEvent]:
        """Events for an update of the scene graph."""
        if node == "__interrupt__":
            asked = update[0].value
            return [YourTurn(seat=asked["seat"], why=asked["why"])]
        if not update:
            return []
        if node == "direct" and update.get("speaker"):
            self._speaker = update["speaker"]
            self._provenance = {}
            return [SpeakerChosen(seat=self._speaker, why=update["why"])]
        if node == "direct" and update.get("ended"):
            return [SceneEnded(why=update["ended"])]
        if node == "guard":
            return self._guarded(update["attempts"])
        if node == "witness":
            return self._stood(update["lines"][0])
        return [MessageDone(message=self._added(line)) for line in update.get("lines", ())]

    def _guarded(self, attempts: list[Attempt]) -> list[SceneEvent]:
        """Record a rejected attempt as a swipe of the next one."""
        last = attempts[-1]
        again = needs_retry(self._ensemble, self._speaker, self.lines, attempts)
        if not again or self._recording is None:
            return []
        made_by = {**self._provenance, **last["made_by"], "fault": last["fault"], SET_ASIDE: True}
        made_by.pop("usage", None)  # the message has its own field for it
        kept = self._recording.end("complete", self._answer, made_by, text=last["text"], kind=last["kind"])
        self._recording = self._opening = self._answer = None
        return [Retried(message=kept, fault=last["fault"])]

    def _stood(self, line: SceneLine) -> list[SceneEvent]:
        recording, self._recording, self._opening = self._recording, None, None
        if recording is None:
            return [MessageDone(message=self._added(line))]
        made_by = {**self._provenance, **line["made_by"]}
        made_by.pop("usage", None)  # the message has its own field for it
        events: list[SceneEvent] = []
        if recording.started and set(self._audience) != set(line["audience"]):
            # The audience has changed, so the first words are kept as a rejected answer.
            aside = recording.end("complete", None, {SET_ASIDE: True})
            events.append(
                Retried(message=aside, fault="Its audience differs from that of its first words.")
            )
            recording = self._recorder()
        if not recording.started:
            events.append(
                recording.add(
                    line["text"], audience=line["audience"], kind=line["kind"], made_by=self._provenance
                )
            )
        message = recording.end("complete", self._answer, made_by, text=line["text"], kind=line["kind"])
        if message is not None:
            self._advance(message)
            events.append(MessageDone(message=message))
        return events

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
        self._advance(message)
        return message

    def _advance(self, message: Message) -> None:
        self.path.append(message)
        self.lines.append(line_of(message))
