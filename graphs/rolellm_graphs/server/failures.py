"""Errors in OpenAI's format, with a one-sentence message."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from rolellm_agents.errors import MessageError, ModelError, RoleLLMError, SettingsError
from rolellm_agents.text import one_line

_log = logging.getLogger(__name__)
_SHOWN = 300
_UNKNOWN = "An internal error occurred; see the server's log."
_TYPES: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.NOT_FOUND: "not_found_error",
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error",
}


class ApiError(Exception):
    """A rejected request."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Create the error.

        Args:
            status: the HTTP status.
            message: one sentence with the problem and the next step.
            code: for programs, such as `model_not_found`.
            param: the invalid field of the request.
            headers: further response headers.
        """
        super().__init__(message)
        self.status = int(status)
        self.message = message
        self.code = code
        self.param = param
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """The error in OpenAI's format."""
        kind = (
            "server_error" if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        )
        error = {
            "message": self.message,
            "type": _TYPES.get(self.status, kind),
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}

    def response(self) -> Response:
        """The HTTP response."""
        return JSONResponse(self.body, self.status, self.headers)


def api_error(error: Exception) -> ApiError:
    """Convert any error to a response. Internal errors are logged and not shown."""
    match error:
        case ApiError():
            return error
        case RequestValidationError():
            return _invalid(error)
        case HTTPException():
            return ApiError(error.status_code, f"{error.detail}.", headers=error.headers)
        case MessageError() | SettingsError():
            return ApiError(HTTPStatus.BAD_REQUEST, str(error))
        case ModelError() if "too long" in str(error):
            return ApiError(
                HTTPStatus.BAD_REQUEST, str(error), code="context_length_exceeded", param="messages"
            )
        case ModelError():
            return ApiError(HTTPStatus.BAD_GATEWAY, str(error), code="model_error")
        case TimeoutError():
            return ApiError(
                HTTPStatus.GATEWAY_TIMEOUT,
                "The answer took too long; request fewer tokens, or try again when the server is "
                "less busy.",
                code="timeout",
            )
        case RoleLLMError():
            return ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        case _:
            _log.error("An answer failed.", exc_info=error)
            return ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, _UNKNOWN, code="internal_error")


def add_error_handlers(app: FastAPI) -> None:
    """Register handlers, so that all errors have the same format."""

    async def on_error(_: Request, error: Exception) -> Response:
        return api_error(error).response()

    for kind in (ApiError, RoleLLMError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, on_error)


def _invalid(error: RequestValidationError) -> ApiError:
    """The path and message of the first invalid field."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return ApiError(HTTPStatus.BAD_REQUEST, "The request is not JSON; send a JSON object.")
    path = [str(part) for part in first["loc"][1:]]
    field = ".".join(path) or "the body"
    message = one_line(f"{field}: {first['msg'].removeprefix('Value error, ')}.", _SHOWN)
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, message, param=".".join(path) or None)
