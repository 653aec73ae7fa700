"""What every API view is made of: bytes in, a wire type out, problems for all else. JSON whatever is asked for."""

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import parse_etags
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config import wire
from config.address import client_address
from config.errors import UnsupportedMediaType

_WORTH_PACKING = 1000  # bytes
_TAKES_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE)
PUBLIC = "public, max-age=1, stale-while-revalidate=1"
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


def takes_gzip(accepted: str) -> bool:
    return _TAKES_GZIP.search(accepted) is not None


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer that may be kept: its bytes, their tag, and packed where that is worth it."""

    body: bytes
    etag: bytes
    packed: bytes | None

    @classmethod
    def of(cls, body: bytes) -> "Shown":
        packed = gzip.compress(body, compresslevel=4, mtime=0) if len(body) >= _WORTH_PACKING else None
        return cls(body, f'W/"{blake2b(body, digest_size=16).hexdigest()}"'.encode(), packed)

    def is_known_by(self, tags: bytes | None) -> bool:
        """By what `If-None-Match` says."""
        if tags is None:
            return False
        known = parse_etags(tags.decode("latin-1"))
        return "*" in known or any(tag.removeprefix("W/") == self.etag.decode()[2:] for tag in known)


class WireRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        if data is None:
            return b""
        return data if isinstance(data, bytes) else wire.encode(data)


class JsonOnly(BaseContentNegotiation):
    """One renderer, so nothing to negotiate; the `Accept` header is allowed to ask for what it likes."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> None:
        return None

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return WireRenderer(), WireRenderer.media_type


class ApiView(APIView):
    renderer_classes = [WireRenderer]
    parser_classes = []
    content_negotiation_class = JsonOnly
    http_method_names = ["get", "head", "post", "put", "delete"]

    def body(self, to: type[T], *, in_parts: bool = False) -> T:
        """The request's body as a wire type."""
        if self.media_type != "application/json":
            named = self.media_type or "a body without a Content-Type"
            raise UnsupportedMediaType(f"Send application/json, not {named}.")
        return wire.decode(self.content, to, in_parts=in_parts)

    def header(self, name: str) -> str | None:
        return self.request.headers.get(name)

    @property
    def address(self) -> str:
        return client_address(self.request.META)

    @property
    def media_type(self) -> str:
        return (self.request._request.content_type or "").lower()  # noqa: SLF001 - as in `content`

    @property
    def content(self) -> bytes:
        """The request's body as it was sent: what is small may be without end once it is unpacked."""
        if self.request.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
            raise UnsupportedMediaType("Send the body as it is: no Content-Encoding is taken.")
        return self.request._request.body  # noqa: SLF001 - DRF's stream misses a body sent in chunks

    def query(self, to: type[S]) -> S:
        return wire.query(self.request.META["QUERY_STRING"].encode("latin-1"), to)

    def check_no_query(self) -> None:
        """Where the method takes no query. One that takes some reads it when it needs it."""
        handler = getattr(self, (self.request.method or "").lower(), None)
        if getattr(handler, "query", wire.NoQuery) is None:  # none at all: a method that there is not
            self.query(wire.NoQuery)

    def answer(self, value: object = None, *, status: int = 200) -> Response:
        return Response(value, status=status)

    def shared_answer(self, value: object, *, public: bool) -> Response:
        """With an ETag, answered 304 where the caller has it, compressed where it may be. Public: for any cache."""
        shown = Shown.of(wire.encode(value))
        headers = {"ETag": shown.etag.decode(), "Cache-Control": PUBLIC if public else "private"}
        request = self.request._request  # noqa: SLF001 - DRF hides none of it
        known = get_conditional_response(request, etag=headers["ETag"])
        if known is not None:
            return Response(status=known.status_code, headers=headers | {"Vary": "Accept-Encoding"})
        body = shown.body
        if shown.packed and takes_gzip(request.headers.get("Accept-Encoding", "")):
            body, headers["Content-Encoding"] = shown.packed, "gzip"
        response = Response(body, headers=headers)
        patch_vary_headers(response, ["Accept-Encoding"])
        return response

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What credentials were shown for is nobody else's, and no shared cache may think otherwise."""
        final = super().finalize_response(request, response, *args, **kwargs)
        patch_vary_headers(final, ["Authorization"])
        if "Authorization" in request.headers:
            final.headers.setdefault("Cache-Control", "private")
        return final
