"""Every address that Rung answers, gathered from the URL patterns and our own OpenAPI document, as plain data."""

import re
from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.staticfiles.finders import get_finders
from django.urls import get_resolver

from tests.fuzz.target import Route, Routes

_METHODS = ("get", "put", "post", "delete", "patch")
_SLOT = re.compile(r"<(?:\w+:)?(\w+)>")
_NAMED_GROUP = re.compile(r"\(\?P<(\w+)>[^)]*\)")
# what no URL pattern names: the door and the middleware answer these, or nobody does
_OTHERS = ["/livez", "/readyz", "/metrics", "/static/", "/ws", "/v1", "/v1/", "/nothing/here", "//", "/admin"]


def gather(document: dict[str, Any]) -> Routes:
    routes = [*_api(document), *_by_pattern(), *_static()]
    routes += [Route("other", path) for path in _OTHERS]
    by_kind: dict[str, list[Route]] = {}
    for route in routes:
        by_kind.setdefault(route.kind, []).append(route)
    return Routes(by_kind, document["components"]["schemas"])


def _api(document: dict[str, Any]) -> Iterator[Route]:
    for path, operations in document["paths"].items():
        shared = operations.get("parameters", [])
        for method, operation in operations.items():
            if method not in _METHODS:
                continue
            parameters = [*shared, *operation.get("parameters", [])]
            query = tuple((one["name"], one["schema"]) for one in parameters if one["in"] == "query")
            content = operation.get("requestBody", {}).get("content", {})
            body = next((taken.get("schema") for taken in content.values()), None)
            yield Route("api", path, (method.upper(),), query, body, tuple(content))


def _by_pattern() -> Iterator[Route]:
    documented = ("v1/games",)
    for pattern, name in _walk(get_resolver().url_patterns):
        if pattern.startswith(documented):
            continue
        path = "/" + _SLOT.sub(r"{\1}", _NAMED_GROUP.sub(r"<\1>", pattern)).replace("^", "").replace("$", "")
        if path.startswith("/admin/"):
            yield _of_admin(path, name)
        else:
            yield Route("page" if not path.startswith("/v1") else "other", path, ("GET", "POST"))


def _walk(patterns: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        whole = prefix + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from _walk(pattern.url_patterns, whole)
        else:
            yield whole, pattern.name or ""


def _of_admin(path: str, name: str) -> Route:
    for model, own in admin.site._registry.items():  # noqa: SLF001 - the only list of all there is
        label = f"{model._meta.app_label}.{model._meta.model_name}"  # noqa: SLF001
        if path.startswith(f"/admin/{label.replace('.', '/')}/"):
            fields = tuple(one.name for one in model._meta.get_fields())  # noqa: SLF001
            filters = tuple(_filter_name(one) for one in own.list_filter)
            actions = tuple(getattr(one, "__name__", str(one)) for one in own.actions or ())
            return Route(
                "admin",
                path,
                ("GET", "POST"),
                model=label,
                fields=fields,
                filters=filters,
                actions=("delete_selected", *actions),
            )
    return Route("admin", path, ("GET", "POST"), model=name)


def _filter_name(one: Any) -> str:
    if isinstance(one, str):
        return one
    return str(getattr(one, "parameter_name", one[0] if isinstance(one, tuple) else ""))


def _static() -> Iterator[Route]:
    paths = sorted({path for finder in get_finders() for path, _ in finder.list([])})
    ours = [path for path in paths if "/" not in path] + paths[::20]
    yield from (Route("static", f"/static/{path}") for path in ours)
