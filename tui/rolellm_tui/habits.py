"""What the user has chosen for the app's prompts and notices."""

from dataclasses import dataclass
from typing import Self

from rolellm_agents.config.settings import NoticeKind, Settings


@dataclass(frozen=True)
class AppHabits:
    """The settings that the app itself applies."""

    vim_keys: bool = False
    notice: NoticeKind = "off"
    notice_command: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of the settings."""
        return cls(settings.vim_keys, settings.notice, settings.notice_command)
