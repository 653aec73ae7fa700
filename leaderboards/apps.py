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
        for path in settings.SCORE_CHECKS:
            try:
                import_string(path)
            except ImportError as error:
                raise ConfigurationError(
                    f"RUNG_SCORE_CHECKS names {path!r}, which cannot be imported: {error}."
                ) from None
