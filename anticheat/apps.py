from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate

from config.env import ConfigurationError
from leaderboards.apps import check_paths

_LONGEST = 500  # as Ruling.reason


class AnticheatApp(AppConfig):
    name = "anticheat"
    verbose_name = "Trust"

    def ready(self) -> None:
        from anticheat import sign_ins  # noqa: PLC0415 - signals are connected once the models exist
        from anticheat.roles import roles_make  # noqa: PLC0415 - as above
        from anticheat.services import erasing, replays  # noqa: PLC0415 - as above

        sign_ins.connect()
        replays.connect()
        erasing.connect()
        # the last of our apps: by then all permissions are made
        post_migrate.connect(roles_make, sender=self, dispatch_uid="roles")
        check_paths("RUNG_LOG_CHECKS", settings.LOG_CHECKS)
        check_paths("RUNG_REPLAY_VERIFIERS", settings.REPLAY_VERIFIERS.values())
        _check_rulings()


def _check_rulings() -> None:
    from anticheat.models import Ruling  # noqa: PLC0415 - models exist by now

    kinds = Ruling.Kind.values
    if unknown := [word for word in settings.TWO_PERSONS if word not in kinds]:
        raise ConfigurationError(f"RUNG_TWO_PERSONS names {unknown[0]!r}; there are {', '.join(kinds)}.")
    if not settings.RULING_REASONS or any(len(one) > _LONGEST for one in settings.RULING_REASONS):
        raise ConfigurationError(
            f"RUNG_RULING_REASONS must have a sentence at least, and none of more than {_LONGEST} characters."
        )
