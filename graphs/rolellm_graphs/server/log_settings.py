"""What the server process writes to its log."""

import copy
from typing import Any

from uvicorn.config import LOGGING_CONFIG

from rolellm_graphs.server.access_log import ACCESS_LOGGER
from rolellm_graphs.server.options import ServerOptions


def log_settings(options: ServerOptions) -> dict[str, Any]:
    """The settings for `logging`: uvicorn's, with our loggers and the level that the owner chose.

    The access log goes to stdout, everything else to stderr.
    """
    settings: dict[str, Any] = copy.deepcopy(LOGGING_CONFIG)
    level = options.log_level.upper()
    settings["formatters"]["line"] = {"format": "%(message)s"}
    settings["handlers"]["requests"] = {
        "class": "logging.StreamHandler",
        "formatter": "line",
        "stream": "ext://sys.stdout",
    }
    for name in ("rolellm_agents", "rolellm_graphs"):
        settings["loggers"][name] = {"handlers": ["default"], "level": level}
    settings["loggers"][ACCESS_LOGGER] = {"handlers": ["requests"], "level": "INFO", "propagate": False}
    return settings
