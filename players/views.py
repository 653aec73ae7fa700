"""An API view that knows who is calling."""

from typing import Any, cast

from rest_framework.request import Request

from config.api import PUBLIC, ApiView
from config.audit import Who
from players import access
from players.access import Caller
from players.authentication import CallerAuthentication
from players.limits import Quota, read_quotas


class CallerView(ApiView):
    authentication_classes = [CallerAuthentication]
    reads_by_post = False
    quota: Quota | None = None

    @property
    def caller(self) -> Caller:
        return cast("Caller", self.request.auth)

    @property
    def who(self) -> Who:
        return access.who(self.caller, address=self.address)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.method in ("GET", "HEAD") or (self.reads_by_post and request.method == "POST"):
            self.limit(read_quotas([(self.caller, kwargs.get("game", ""), self.address)])[0])
        self.check_no_query()

    def limit(self, quota: Quota | None) -> None:
        self.quota = quota
        if quota is not None and (refusal := quota.refusal) is not None:
            raise refusal

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        final = super().finalize_response(request, response, *args, **kwargs)
        if self.quota is not None:
            for name, value in self.quota.headers(public=final.headers.get("Cache-Control") == PUBLIC):
                final.headers[name] = value
        return final
