"""The connections of this process, for its protocols and for the door."""

import resource
from typing import Any

from django.conf import settings

from config.serving.connections import Connections

_OTHER_FILES = 512  # that a process has open beside its connections


def _most() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(16, min(settings.WEB_CONNECTIONS, files - _OTHER_FILES))


connections = Connections(most=_most(), share=None if settings.PROXIES else settings.CONNECTIONS_AN_ADDRESS)
direct: Any = None  # config.direct.Direct, once the application is there: it answers hot requests
