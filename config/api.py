"""What every API view is made of: bytes in, a wire type out, problems for all else. JSON whatever is asked for."""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from django.utils.cache import patch_vary_headers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from config import wire
from config.errors import UnsupportedMediaType

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)


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
        request = self.request._request  # noqa: SLF001 - DRF's stream misses a body sent in chunks
        media_type = (request.content_type or "").lower()
        if media_type != "application/json":
            raise UnsupportedMediaType(f"Send application/json, not {media_type or 'a body without a Content-Type'}.")
        return wire.decode(request.body, to, in_parts=in_parts)

    def query(self, to: type[S]) -> S:
        """The query's parameters that the type knows; others are ignored."""
        known = {field.encode_name for field in msgspec.structs.fields(to)}
        given = {name: value for name, value in self.request.query_params.items() if name in known}
        return wire.convert(given, to, strict=False)

    def answer(self, value: object = None, *, status: int = 200) -> Response:
        return Response(value, status=status)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """What credentials were shown for is nobody else's, and no shared cache may think otherwise."""
        final = super().finalize_response(request, response, *args, **kwargs)
        patch_vary_headers(final, ["Authorization"])
        if "Authorization" in request.headers:
            final.headers.setdefault("Cache-Control", "private")
        return final
