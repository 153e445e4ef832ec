"""The page that describes the API. All its links are relative, so it also works behind a proxy."""

from functools import cache
from importlib import resources
from typing import Final

from fastapi import FastAPI, HTTPException, Response
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import RedirectResponse

_TYPES: Final = {
    "swagger-ui-bundle.js": "application/javascript",
    "swagger-ui.css": "text/css",
    "favicon-32x32.png": "image/png",
}
"""The page's files, which come in a package, so that it loads nothing from elsewhere."""
_SCRIPT, _STYLE, _ICON = _TYPES


def add_docs_page(app: FastAPI) -> None:
    """Add `/docs` and its files to an application, and send visitors of `/` there."""

    @app.get("/", include_in_schema=False)
    async def to_docs() -> Response:
        return RedirectResponse("docs")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return get_swagger_ui_html(
            openapi_url="openapi.json",
            title=app.title,
            swagger_js_url=f"swagger/{_SCRIPT}",
            swagger_css_url=f"swagger/{_STYLE}",
            swagger_favicon_url=f"swagger/{_ICON}",
        )

    @app.get("/swagger/{name}", include_in_schema=False)
    def file(name: str) -> Response:
        if name not in _TYPES:
            raise HTTPException(404)
        return Response(_content_of(name), media_type=_TYPES[name])


@cache
def _content_of(name: str) -> bytes:
    return resources.files("fastapi_swagger.resources").joinpath(name).read_bytes()
