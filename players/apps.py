from django.apps import AppConfig
from django.conf import settings
from django.utils.module_loading import import_string

from config.env import ConfigurationError


class PlayersApp(AppConfig):
    name = "players"

    def ready(self) -> None:
        from players import bars, profiles, revocation  # noqa: PLC0415 - signals are connected once the models exist

        bars.connect()
        profiles.connect()
        revocation.connect()
        for path in settings.NAME_CHECKS:
            try:
                import_string(path)
            except ImportError as error:
                raise ConfigurationError(
                    f"RUNG_NAME_CHECKS names {path!r}, which cannot be imported: {error}."
                ) from None
