"""What is attacked, as plain data: workers have no Django."""

from dataclasses import dataclass, field
from typing import Any

CSRF = "c" * 32  # the cookie and the form have the same


@dataclass(frozen=True)
class Route:
    """`kind`: api, page, admin, static or other. `path` has its parameters in braces."""

    kind: str
    path: str
    methods: tuple[str, ...] = ("GET",)
    query: tuple[tuple[str, Any], ...] = ()  # declared parameters with their schemas
    body: Any = None  # its schema
    takes: tuple[str, ...] = ()  # media types of bodies
    model: str = ""  # of the admin: app.model
    fields: tuple[str, ...] = ()  # of that model
    filters: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    forms: list[dict[str, list[str]]] = field(default_factory=list)  # as its pages have them

    @property
    def label(self) -> str:
        return f"{self.kind} {self.path}"


@dataclass(frozen=True)
class Routes:
    by_kind: dict[str, list[Route]]
    components: dict[str, Any]  # of the OpenAPI document

    def all(self) -> list[Route]:
        return [route for routes in self.by_kind.values() for route in routes]


@dataclass(frozen=True)
class World:
    names: dict[str, list[str]]  # by the name of a parameter or a field: what exists
    credentials: dict[str, str]  # by caller: its Authorization header
    cookies: dict[str, str]  # by caller: its Cookie header
    rows: dict[str, list[str]] = field(default_factory=dict)  # by app.model: primary keys
