"""The OpenAPI document: wire types as components, every problem named, served from the process's memory."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from config import wire

F = TypeVar("F", bound=Callable[..., Any])

ALWAYS = (400, 401, 404)  # a malformed request, credentials that are not good, nothing there
_MEANINGS = {
    200: "Done",
    201: "Made",
    202: "Taken; on the boards in a moment",
    204: "Done, nothing to say",
    304: "As you have it",
    400: "Malformed",
    401: "No or bad credentials",
    403: "Not allowed to these credentials",
    404: "Not there, or another tenant's",
    409: "Clashes with what is stored",
    413: "Too large",
    415: "Not of a media type that is taken",
    422: "Understood and refused",
    429: "Too many",
    503: "A store is down; try again",
}
_HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {
        "description": "The caller's own, where it was harmless, else a new one; also in our logs",
        "required": True,
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
    },
    "Retry-After": {"description": "Seconds", "schema": {"type": "integer", "minimum": 0}},
    "RateLimit-Policy": {
        "description": "Of each bucket that the call met: q, how much it holds; w, the seconds in which it refills",
        "schema": {"type": "string", "examples": ['"address-read";q=200;w=1']},
    },
    "RateLimit": {
        "description": "Of each: r, what is left; t, the seconds until it is full. Not in answers for any cache",
        "schema": {"type": "string", "examples": ['"address-read";r=137;t=1']},
    },
    "WWW-Authenticate": {"required": True, "schema": {"type": "string"}},
}
_HEADERS_OF = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}
_making = Lock()
_path_types: dict[str, Any] = {}


def describe(  # noqa: PLR0913 - one for each thing that is said
    summary: str,
    *,
    answers: dict[int, type | None],
    body: type | None = None,
    upload: Iterable[str] = (),
    query: type[msgspec.Struct] | None = None,
    headers: Mapping[str, Any] | None = None,
    problems: Iterable[int] = (),
    tag: str,
) -> Callable[[F], F]:
    """Says in the OpenAPI document what a view method takes and answers. `upload`: media types of bytes it takes."""
    taken = {kind: {"description": "Bytes, taken as they are"} for kind in upload} or None
    refused = {*ALWAYS, *problems, *((413, 415) if body or taken else ()), 429, 503}
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

    def decorate(method: F) -> F:
        extend: Callable[[F], F] = extend_schema(
            operation_id=_operation_id(method.__qualname__),
            summary=summary,
            request={"application/json": wire.ref(body)} if body else taken,
            parameters=[*(_query_parameters(query) if query else ()), *_header_parameters(headers or {})] or None,
            responses=responses,
            tags=[tag],
        )
        described = extend(method)
        described.query = query  # type: ignore[attr-defined]  # config/api.py asks for it
        return described

    return decorate


def _query_parameters(query: type[msgspec.Struct]) -> Iterator[OpenApiParameter]:
    for field in msgspec.structs.fields(query):
        yield OpenApiParameter(
            field.encode_name,
            type=wire.schema_of(field.type),
            location=OpenApiParameter.QUERY,
            required=field.required,
        )


def _header_parameters(headers: Mapping[str, Any]) -> Iterator[OpenApiParameter]:
    for name, wire_type in headers.items():
        yield OpenApiParameter(name, type=wire.schema_of(wire_type), location=OpenApiParameter.HEADER)


def in_path(**types: Any) -> None:
    """Says what the parts of addresses look like, by name; the same everywhere, so said once."""
    _path_types.update(types)


def add_wire_types(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {}).update(wire.schemas())
    components["headers"] = _HEADERS
    for operation in _operations(result):
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path":
                parameter["schema"] = wire.schema_of(_path_types[parameter["name"]])
        if "requestBody" in operation:
            operation["requestBody"]["required"] = True
        for status, response in operation["responses"].items():
            names = ("X-Request-Id", "RateLimit-Policy", "RateLimit", *_HEADERS_OF.get(int(status), ()))
            response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    return result


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        yield from methods.values()


def _operation_id(qualified_name: str) -> str:
    """PlayerExportView.get: player_export_get"""
    view, _, method = qualified_name.partition(".")
    return re.sub("(?<!^)(?=[A-Z])", "_", view.removesuffix("View")).lower() + f"_{method}"


def document() -> bytes:
    with _making:
        return _document()


@lru_cache(maxsize=1)
def _document() -> bytes:
    """Never made twice at once: what makes it keeps what it has found so far, and is not for threads."""
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return wire.encode(schema)


@csrf_exempt  # so that a POST is told that there is none, not that it lacks a cookie
@require_safe
def openapi_json(request: HttpRequest) -> HttpResponse:
    wire.query(request.META["QUERY_STRING"].encode("latin-1"), wire.NoQuery)
    return HttpResponse(document(), content_type="application/json", headers={"Cache-Control": "public, max-age=60"})
