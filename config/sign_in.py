"""How often somebody may try to sign in to the admin, counted before any password is hashed (docs/adr/0027).

An account is never closed: whoever attacks it from elsewhere only makes tries fewer for addresses that have not proven
themselves, and two are left to each. A browser in which an operator has signed in before has tries of its own, by a
signed cookie, whatever goes on elsewhere.
"""

import secrets
import unicodedata
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase, parse_cookie
from django.utils.crypto import salted_hmac

from config import hashing
from config.address import client_address, network_of
from config.counting import Count, Step, count
from config.errors import RateLimited

WINDOW = 15 * 60  # seconds
FROM_AN_ADDRESS = 20  # tries in that time, whatever accounts are named
FROM_AN_ADDRESS_FOR_AN_ACCOUNT = 5
WHILE_ATTACKED = 2  # instead of those five, for an account that strangers have failed at so often in an hour:
ATTACKED_AFTER, _HOUR = 20, 3600
IN_A_KNOWN_BROWSER = 10
_COOKIE, _SALT = "rung_browser", "config.sign_in"
_COOKIE_SECONDS = 180 * 24 * 3600
_MOST_ACCOUNTS = 5  # that one browser is known for
_LONGEST_NAME = 200


class TooManyTries(RateLimited):
    pass


class _Counted:
    """What is counted when it is begun, and counted back where it is not to be held against anybody."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    def give_back(self) -> None:
        count(*(step._replace(by=-1) for step in self._steps))

    def _allow(self, name: str, most: int) -> None:
        found = self._count(name)
        if found.value > most:
            raise TooManyTries(retry_after=found.seconds_left)

    def _count(self, name: str) -> Count:
        self._steps.append(Step(f"rung:sign_in:{name}", WINDOW))
        return count(self._steps[-1])[0]


class Try(_Counted):
    """One, of a name with a password."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__()
        name = unicodedata.normalize("NFKC", request.POST.get("username", "")[:_LONGEST_NAME]).casefold()
        self.account = _hashed(name)
        self.address = _hashed(network_of(client_address(request.META)))
        self.browser = _Browser.of(request.COOKIES)
        self.is_known = False

    def admit(self) -> None:
        """Raises where there were too many. What is refused by address makes no count for the name it brought."""
        if self.account in self.browser.accounts:
            self.is_known = self._count(f"browser:{self.browser.nonce}").value <= IN_A_KNOWN_BROWSER
        if self.is_known:
            return
        self._allow(f"address:{self.address}", FROM_AN_ADDRESS)
        attacked = count(self._failures(by=0))[0].value >= ATTACKED_AFTER
        most = WHILE_ATTACKED if attacked else FROM_AN_ADDRESS_FOR_AN_ACCOUNT
        self._allow(f"both:{self.address}:{self.account}", most)

    def fail(self) -> None:
        if not self.is_known:
            count(self._failures(by=1))

    def succeed(self, response: HttpResponseBase) -> None:
        self.give_back()
        self.browser.remember(self.account, response)

    def _failures(self, *, by: int) -> Step:
        return Step(f"rung:sign_in:failures:{self.account}", _HOUR, by)


class PasswordChange(_Counted):
    """Whoever sits down at somebody's open browser does not guess for long either."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__()
        self.user = request.user.pk

    def admit(self) -> None:
        self._allow(f"change:{self.user}", IN_A_KNOWN_BROWSER)


class _Browser:
    """One that somebody has signed in with; which accounts, only we can read."""

    def __init__(self, nonce: str, accounts: list[str]) -> None:
        self.nonce, self.accounts = nonce, accounts

    @classmethod
    def of(cls, cookies: Mapping[str, str]) -> "_Browser":
        try:
            known: Any = signing.loads(cookies.get(_COOKIE, ""), salt=_SALT, max_age=_COOKIE_SECONDS)
            return cls(str(known["nonce"]), [str(account) for account in known["accounts"]])
        except (signing.BadSignature, KeyError, TypeError, ValueError):
            return cls(secrets.token_urlsafe(12), [])

    def remember(self, account: str, response: HttpResponseBase) -> None:
        accounts = [account, *(other for other in self.accounts if other != account)][:_MOST_ACCOUNTS]
        response.set_cookie(
            _COOKIE,
            signing.dumps({"nonce": self.nonce, "accounts": accounts}, salt=_SALT),
            max_age=_COOKIE_SECONDS,
            path="/admin/",
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )


def must_wait(cookies: str) -> bool:
    """Whether a try with this Cookie header is refused unseen: of a stranger, while another one has the turn."""
    return hashing.strangers_must_wait() and not _Browser.of(parse_cookie(cookies)).accounts


def _hashed(who: str) -> str:
    return salted_hmac(_SALT, who.encode("utf-8", "surrogatepass"), algorithm="sha256").hexdigest()[:24]
