"""Removes secrets from text that is shown or logged."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

MASK: Final = "***"
_SHORTEST: Final = 8
"""Shorter values of environment variables are no secrets, or occur in any text."""
_SECRET_NAME: Final = re.compile(
    r"(^|[_-])(api[_-]?key|key|token|secret|password|passwd|authorization)$", re.IGNORECASE
)
_PATTERNS: Final = (
    # A user and a password in a URL
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/?#\"'<>]*@", re.IGNORECASE), rf"\1{MASK}@"),
    # Parameters of a URL
    (
        re.compile(r"([?&](?:api[_-]?key|key|access_token|token|sig|signature)=)[^&\s\"']+", re.IGNORECASE),
        None,
    ),
    # The value of a header, whose scheme is no secret
    (re.compile(r"\b((?i:bearer|basic)\s+)(?=[^\s\"',;]*[\dA-Z_=…*])[^\s\"',;]{4,}"), None),
    # A name with its value, as in headers, JSON, Python and sentences
    (
        re.compile(
            r"\b((?:authorization|x-api-key|api[ _-]?key|password|passwd|secret|access[ _-]?token)"
            r"(?: provided)?[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic)\s+)?)"
            r"(?!\s|(?:bearer|basic)\s)[^\s\"',;&)]+",
            re.IGNORECASE,
        ),
        None,
    ),
    # Keys of well-known providers, also when the provider has shortened them itself
    (re.compile(r"\b((?:sk|pk|rk|gsk|xai|hf|rolellm)[-_])(?=[\w*-]*[\d*])[\w*-]{6,}"), None),
)


def masked(text: str) -> str:
    """The text without secrets: passwords in URLs, keys, and what environment variables hold as such."""
    for value in _secrets_of(os.environ):
        text = text.replace(value, MASK)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement or rf"\1{MASK}", text)
    return text


def masked_option(name: str, value: Any) -> Any:
    """The value of a setting, for display: hidden if the name says that it is a secret."""
    if _SECRET_NAME.search(name):
        return MASK
    return masked(value) if isinstance(value, str) else value


def _secrets_of(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if len(value) >= _SHORTEST and _SECRET_NAME.search(name):
            yield value
