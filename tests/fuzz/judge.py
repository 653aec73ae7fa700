"""What no answer may be."""

import json
from urllib.parse import unquote

from tests.fuzz.client import Answer
from tests.fuzz.request import Request

SERVER_ERROR, UNAVAILABLE, _ERROR, _SWITCHED = 500, 503, 400, 101


def is_unavailable(answer: Answer) -> bool:
    """Said on purpose: 503 with the code `unavailable`, or the page for people that says so."""
    if answer.status != UNAVAILABLE or "retry-after" not in answer.headers:
        return False
    return _is_html(answer) or _code(answer) in {"unavailable", ""}


def fault_of(request: Request, answer: Answer) -> str | None:
    """A sentence, or None where all is well."""
    if answer.status >= SERVER_ERROR and not is_unavailable(answer):
        return f"answered {answer.status}"
    if answer.status == _SWITCHED:
        return None
    if not answer.headers.get("x-request-id"):
        return f"answered {answer.status} without X-Request-Id"
    if answer.status >= _ERROR and _is_api(request):
        return _fault_of_problem(request, answer)
    return None


def _fault_of_problem(request: Request, answer: Answer) -> str | None:
    kind = answer.headers.get("content-type", "")
    if kind != "application/problem+json":
        return f"an API answer {answer.status} as {kind!r}"
    if request.method != "HEAD" and not _code(answer):
        return f"a problem {answer.status} without a code"
    return None


def _is_api(request: Request) -> bool:
    path = unquote(request.path)
    return path == "/v1" or path.startswith(("/v1/", "/livez", "/readyz", "/metrics"))


def _is_html(answer: Answer) -> bool:
    return answer.headers.get("content-type", "").startswith("text/html")


def _code(answer: Answer) -> str:
    try:
        found = json.loads(answer.body)
    except ValueError:
        return ""
    return str(found.get("code", "")) if isinstance(found, dict) else ""
