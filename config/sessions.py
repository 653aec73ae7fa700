"""Sessions in the cache, as Django keeps them; while it is away, whoever signs in is told so at once."""

from django.contrib.sessions.backends import cache
from django.contrib.sessions.backends.base import VALID_KEY_CHARS, CreateError
from django.utils.crypto import get_random_string

from config.errors import Unavailable


class SessionStore(cache.SessionStore):
    def create(self) -> None:
        """Once. Django tries ten thousand times: it cannot tell a key that is taken from a cache that does not answer,
        but one of 32 random letters is never taken.
        """
        self._session_key = get_random_string(32, VALID_KEY_CHARS)
        try:
            self.save(must_create=True)
        except CreateError:
            raise Unavailable("Sessions cannot be kept just now.", retry_after=1) from None
        self.modified = True
