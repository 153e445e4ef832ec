"""What the user has chosen for the app's prompts, notices and texts."""

from dataclasses import dataclass
from typing import Self

from rolellm_agents.config.settings import NoticeKind, Settings, TextWidth


@dataclass(frozen=True)
class AppHabits:
    """The settings that the app itself applies."""

    vim_keys: bool = False
    notice: NoticeKind = "off"
    notice_command: str | None = None
    text_width: TextWidth = 100

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of the settings."""
        return cls(settings.vim_keys, settings.notice, settings.notice_command, settings.text_width)

    @property
    def style_variables(self) -> dict[str, str]:
        """The variables of our style sheets; an app that shows one of our screens needs them."""
        return {"text-width": "100%" if self.text_width == "full" else str(self.text_width)}
