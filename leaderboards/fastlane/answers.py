"""Answers as Django would give them, header by header; what its middlewares add is asked of them, once."""

from collections.abc import Callable
from functools import lru_cache
from io import BytesIO

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from config import problem, wire
from config.api import PUBLIC, Shown, takes_gzip
from config.errors import DomainError
from leaderboards.fastlane.calls import Answer, Call, Headers

_JSON = (b"content-type", b"application/json")
_PROBLEM = (b"content-type", problem.CONTENT_TYPE.encode())
_VARY = (b"vary", b"Authorization")
_PRIVATE = (b"cache-control", b"private")
_PUBLIC = (b"cache-control", PUBLIC.encode())
_ADDING = ("SecurityMiddleware", "CSPMiddleware", "XFrameOptionsMiddleware")


def told(call: Call, value: object, *, status: int = 200) -> Answer:
    body = wire.encode(value)
    headers = _ordinary(call.route.allow, settings.SECURE_SSL_REDIRECT, private=b"authorization" in call.headers)
    return Answer(status, _measured(_limited(call, headers), body), body)


@lru_cache(maxsize=64)
def _ordinary(allow: bytes, secure: bool, *, private: bool) -> Headers:
    headers = [_JSON, (b"allow", allow), _VARY, *_added_by(secure)]
    return [*headers, _PRIVATE] if private else headers


def page(call: Call, shown: Shown, *, public: bool) -> Answer:
    """With an ETag, 304 where the caller has it, packed where it may be."""
    cached = _PUBLIC if public else _PRIVATE
    headers = [(b"etag", shown.etag), cached, (b"vary", b"Accept-Encoding, Authorization")]
    headers += [(b"allow", call.route.allow), *_added()]
    headers = _limited(call, headers, public=public)
    if shown.is_known_by(call.headers.get(b"if-none-match")):
        return Answer(304, _measured(headers, b""), b"")
    body = shown.body
    if shown.packed and takes_gzip(call.headers.get(b"accept-encoding", b"").decode("latin-1")):
        body = shown.packed
        headers.append((b"content-encoding", b"gzip"))
    return Answer(200, _measured([_JSON, *headers], body), body)


def refused(call: Call, error: DomainError) -> Answer:
    body = problem.body_of(error, request_id=call.request_id)
    own = [(name.lower().encode(), value.encode()) for name, value in problem.headers_of(error).items()]
    headers = _limited(call, [_PROBLEM, *own, (b"allow", call.route.allow), _VARY, *_added()])
    return Answer(error.status, _measured(headers, body), body)


def _limited(call: Call, headers: Headers, *, public: bool = False) -> Headers:
    if call.quota is None:
        return headers
    said = [(name.lower().encode(), value.encode()) for name, value in call.quota.headers(public=public)]
    return [*headers, *said]


def _measured(headers: Headers, body: bytes) -> Headers:
    return [*headers, (b"content-length", str(len(body)).encode())]


def _added() -> Headers:
    return _added_by(settings.SECURE_SSL_REDIRECT)


@lru_cache(maxsize=2)
def _added_by(secure: bool) -> Headers:
    handler: Callable[[HttpRequest], HttpResponse] = lambda _: HttpResponse()  # noqa: E731 - replaced at once
    for path in reversed([path for path in settings.MIDDLEWARE if path.endswith(_ADDING)]):
        handler = import_string(path)(handler)
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/v1/", "SERVER_NAME": "localhost", "SERVER_PORT": "443"}
    scheme = {"wsgi.url_scheme": "https", "HTTP_X_FORWARDED_PROTO": "https"} if secure else {"wsgi.url_scheme": "http"}
    answer = handler(WSGIRequest({**environ, **scheme, "wsgi.input": BytesIO()}))
    names = [name for name in answer.headers if name != "Content-Type"]
    return [(name.lower().encode(), answer.headers[name].encode()) for name in names]
