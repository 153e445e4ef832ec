"""`POST /v1/embeddings`: vectors of texts, by the embeddings that recall uses."""

import asyncio
import base64
import struct
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Response
from pydantic import BaseModel, BeforeValidator, Field
from starlette.responses import JSONResponse

from rolellm_agents.recall.embeddings import NamedEmbeddings
from rolellm_agents.text import did_you_mean, estimated_tokens, one_line
from rolellm_graphs.server.failures import ApiError
from rolellm_graphs.server.wire import UnicodeRequest, as_list

_SHOWN = 80


class EmbeddingRequest(UnicodeRequest):
    """`POST /v1/embeddings`."""

    model: str = Field(min_length=1, max_length=300)
    """The name of embeddings that the server offers."""
    input: Annotated[
        list[str],
        Field(min_length=1, max_length=2048),
        BeforeValidator(as_list, json_schema_input_type=str | list[str]),
    ]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    """The length of the vectors, which cannot be changed."""


class Embedding(BaseModel):
    """The vector of a text."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str
    """The numbers, or base64 of them as little-endian 32-bit floats."""


class EmbeddingUsage(BaseModel):
    """Estimated token counts."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingList(BaseModel):
    """The answer to `POST /v1/embeddings`."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage


def add_embeddings(app: FastAPI, offered: Mapping[str, NamedEmbeddings]) -> None:
    """Add the path to an application.

    Args:
        app: the application.
        offered: the embeddings by their names.
    """

    @app.post("/v1/embeddings", summary="Vectors of texts", response_model=EmbeddingList)
    async def embed(body: EmbeddingRequest) -> Response:
        embeddings = offered.get(body.model)
        if embeddings is None:
            raise _unknown(body.model, offered)
        vectors = await asyncio.to_thread(embeddings.embed, body.input)
        if body.dimensions not in (None, len(vectors[0])):
            raise ApiError(
                HTTPStatus.BAD_REQUEST,
                f"The vectors of {body.model} have {len(vectors[0])} dimensions; leave out dimensions.",
                code="invalid_value",
                param="dimensions",
            )
        return JSONResponse(_answer(body, vectors).model_dump())


def _answer(body: EmbeddingRequest, vectors: list[list[float]]) -> EmbeddingList:
    encode: Any = _as_base64 if body.encoding_format == "base64" else list
    tokens = sum(map(estimated_tokens, body.input))
    return EmbeddingList(
        data=[Embedding(index=place, embedding=encode(vector)) for place, vector in enumerate(vectors)],
        model=body.model,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )


def _as_base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _unknown(name: str, offered: Collection[str]) -> ApiError:
    return ApiError(
        HTTPStatus.NOT_FOUND,
        f"There are no embeddings {one_line(name, _SHOWN)!r}{did_you_mean(name, offered)}; this server has "
        f"{', '.join(offered)}.",
        code="model_not_found",
        param="model",
    )
