"""Errors in OpenAI's format, with a one-sentence message."""

import logging
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rolellm_agents.errors import (
    AnswerFormatError,
    ContextLengthError,
    MessageError,
    ModelError,
    RoleLLMError,
)
from rolellm_agents.text import one_line, plain
from rolellm_agents.text.masking import masked
from rolellm_graphs.server.current_request import request_id, request_name
from rolellm_graphs.server.invalid_requests import problem_of

_log = logging.getLogger(__name__)
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
    """Convert any error to a response.

    Only what concerns the request itself is told to the client. Anything else may have paths, addresses or
    another server's words; it is logged, and the client gets the id under which the log has it.
    """
    match error:
        case ApiError():
            return error
        case RequestValidationError():
            problem = problem_of(error.errors())
            return ApiError(HTTPStatus.BAD_REQUEST, problem.message, code=problem.code, param=problem.param)
        case HTTPException():
            return ApiError(error.status_code, f"{error.detail}.", headers=error.headers)
        case MessageError():
            return ApiError(HTTPStatus.BAD_REQUEST, str(error))
        case AnswerFormatError():
            return ApiError(
                HTTPStatus.BAD_REQUEST, one_line(str(error)), code="invalid_schema", param="response_format"
            )
        case ContextLengthError():
            return ApiError(
                HTTPStatus.BAD_REQUEST,
                "The messages are too long for the model; shorten them, or leave out the oldest.",
                code="context_length_exceeded",
                param="messages",
            )
        case TimeoutError():
            return ApiError(
                HTTPStatus.GATEWAY_TIMEOUT,
                "The answer took too long; request fewer tokens, or try again when the server is "
                "less busy.",
                code="timeout",
            )
        case ModelError():
            return _logged(error, HTTPStatus.BAD_GATEWAY, "The model could not answer", "model_error")
        case _:
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            return _logged(error, status, "An internal error occurred", "internal_error")


class UnexpectedErrors:
    """Middleware that reports errors which no route expected, as the others are reported.

    Beyond it, uvicorn would log them with all that they say.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; an answer that has begun is broken off."""
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            reported = api_error(error)
            if not has_begun:
                await reported.response()(scope, receive, send)


def log_failure(error: Exception) -> None:
    """Log an error with the request that it belongs to; without its traceback if a user can mend it."""
    if isinstance(error, RoleLLMError):
        causes: list[BaseException] = [error]
        # An error that was raised from itself is its own cause.
        while (cause := causes[-1].__cause__) is not None and cause not in causes:
            causes.append(cause)
        told = " <- ".join(f"{type(cause).__name__}: {one_line(str(cause))}" for cause in causes)
    else:
        told = plain("".join(traceback.format_exception(error)))
    _log.error("Request %s failed: %s", request_name(), masked(told))


def _logged(error: Exception, status: HTTPStatus, problem: str, code: str) -> ApiError:
    log_failure(error)
    return ApiError(status, f"{problem}; the server's log has the reason under {request_id()}.", code=code)


def add_error_handlers(app: FastAPI) -> None:
    """Register handlers, so that all errors have the same format."""

    async def on_error(_: Request, error: Exception) -> Response:
        return api_error(error).response()

    for kind in (ApiError, RoleLLMError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, on_error)
