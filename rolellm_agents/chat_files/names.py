"""What the speakers of a conversation are called in files that have names and no ids."""

from dataclasses import dataclass

from rolellm_agents.text import one_line
from rolellm_agents.transcript.message import USER


@dataclass(frozen=True)
class SpeakerNames:
    """The names of the two; anybody else is called by their id."""

    persona_id: str
    persona: str
    user: str

    def of(self, speaker: str) -> str:
        """A speaker's name, in one line."""
        known = {USER: self.user, self.persona_id: self.persona}
        return one_line(known.get(speaker, speaker))
