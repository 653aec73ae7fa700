"""The OpenAPI document is made once, however many ask for it first."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from config import openapi


def test_the_document_is_never_made_twice_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asked while it was made got a 500 now and then: what makes it is not for threads."""
    made = list[int]()

    class Generator:
        def get_schema(self, **_: object) -> dict[str, str]:
            made.append(1)
            time.sleep(0.1)
            return {"openapi": "3"}

    monkeypatch.setattr(openapi, "SchemaGenerator", Generator)
    openapi._document.cache_clear()  # noqa: SLF001 - as in a new process
    try:
        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(lambda _: openapi.document(), range(8)))) == 1
    finally:
        openapi._document.cache_clear()  # noqa: SLF001 - as above
    assert made == [1]
