"""An API view that knows who is calling."""

from typing import cast

from config.api import ApiView
from config.audit import Who
from players import access
from players.access import Caller
from players.authentication import CallerAuthentication


class CallerView(ApiView):
    authentication_classes = [CallerAuthentication]

    @property
    def caller(self) -> Caller:
        return cast("Caller", self.request.auth)

    @property
    def who(self) -> Who:
        return access.who(self.caller, address=self.address)
