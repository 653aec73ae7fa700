from collections.abc import Iterable

from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import import_string

from config.env import ConfigurationError


class LeaderboardsApp(AppConfig):
    name = "leaderboards"

    def ready(self) -> None:
        from leaderboards import known  # noqa: PLC0415 - signals are connected once the models exist
        from leaderboards.services import corrections  # noqa: PLC0415 - as above

        known.connect()
        corrections.connect()
        check_paths("RUNG_SCORE_CHECKS", settings.SCORE_CHECKS)
        check_paths("RUNG_STAMP_CHECKS", settings.STAMP_CHECKS)


def check_paths(variable: str, paths: Iterable[str]) -> None:
    """What is named wrong is said when it starts."""
    for path in paths:
        try:
            import_string(path)
        except ImportError as error:
            raise ConfigurationError(f"{variable} names {path!r}, which cannot be imported: {error}.") from None
