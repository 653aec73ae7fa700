"""The OpenAPI document: wire types as components, every problem named, served from the process's memory."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiResponse, extend_schema

from config import wire

F = TypeVar("F", bound=Callable[..., Any])

ALWAYS = (400, 401, 404)  # a malformed request, credentials that are not good, nothing there
_MEANINGS = {
    200: "Done",
    201: "Made",
    204: "Done, nothing to say",
    400: "Malformed",
    401: "No or bad credentials",
    403: "Not allowed to these credentials",
    404: "Not there, or another tenant's",
    409: "Clashes with what is stored",
    413: "Too large",
    415: "Not application/json",
    422: "Understood and refused",
    429: "Too many",
    503: "A store is down; try again",
}


def describe(
    summary: str, *, answers: dict[int, type | None], body: type | None = None, problems: Iterable[int] = (), tag: str
) -> Callable[[F], F]:
    """Says in the OpenAPI document what a view method takes and answers."""
    refused = {*ALWAYS, *problems, *((413, 415) if body else ()), 503}
    responses: dict[Any, Any] = {
        (status, "application/json") if wire_type else status: OpenApiResponse(
            wire.ref(wire_type) if wire_type else None, description=_MEANINGS[status]
        )
        for status, wire_type in answers.items()
    }
    for status in sorted(refused):
        responses[(status, "application/problem+json")] = OpenApiResponse(
            wire.ref(wire.Problem), description=_MEANINGS[status]
        )
    return extend_schema(
        summary=summary,
        request={"application/json": wire.ref(body)} if body else None,
        responses=responses,
        tags=[tag],
    )


def add_wire_types(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook."""
    result.setdefault("components", {}).setdefault("schemas", {}).update(wire.schemas())
    return result


@lru_cache(maxsize=1)
def document() -> bytes:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return wire.encode(schema)


def openapi_json(request: HttpRequest) -> HttpResponse:
    return HttpResponse(document(), content_type="application/json", headers={"Cache-Control": "public, max-age=60"})
