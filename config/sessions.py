"""Sessions in the cache, as Django keeps them; while it is away, whoever signs in is told so at once, and whoever is
signed in stays so: a session that cannot be read is not gone.
"""

from contextlib import suppress
from typing import Any

from django.contrib.sessions.backends import cache
from django.contrib.sessions.backends.base import VALID_KEY_CHARS, CreateError, SessionBase, UpdateError
from django.utils.crypto import get_random_string

from config import valkey
from config.errors import Unavailable


class SessionStore(cache.SessionStore):
    """On a cache of its own name (settings.SESSION_CACHE_ALIAS) that says when it does not answer."""

    unread = False  # what it holds is not known: its key, and the cookie, are kept, and nothing is written over it

    def load(self) -> dict[str, Any]:
        found: dict[str, Any] | None = None
        try:
            with valkey.answering("cache"):
                found = self._cache.get(self.cache_key)  # type: ignore[attr-defined]  # django-stubs leave it out
        except Unavailable:
            self.unread = True
            return {}
        except Exception:  # noqa: BLE001, S110 - what makes no sense is no session, as Django has it
            pass
        if found is None:
            self._session_key = None
            return {}
        return found

    def create(self) -> None:
        """Once. Django tries ten thousand times: it cannot tell a key that is taken from a cache that does not answer,
        but one of 32 random letters is never taken. What was not read is not replaced by one that is empty.
        """
        if self.unread:
            raise _not_now()
        self._session_key = get_random_string(32, VALID_KEY_CHARS)
        try:
            self.save(must_create=True)
        except CreateError:
            raise _not_now() from None
        self.modified = True

    def save(self, must_create: bool = False) -> None:
        refused = CreateError if must_create else UpdateError
        if self.unread:
            raise refused
        try:
            with valkey.answering("cache"):
                super().save(must_create=must_create)
        except valkey.ValkeyUnavailable:
            raise refused from None

    def delete(self, session_key: str | None = None) -> None:
        """What cannot be deleted ends by itself."""
        with suppress(Unavailable), valkey.answering("cache"):
            super().delete(session_key)


def check_read(session: SessionBase) -> None:
    """For whom a session that cannot be read is not the same as none."""
    session.keys()
    if getattr(session, "unread", False):
        raise _not_now()


def _not_now() -> Unavailable:
    return Unavailable("Sessions cannot be read or kept just now.", retry_after=1)
