from django.apps import AppConfig


class LeaderboardsApp(AppConfig):
    name = "leaderboards"

    def ready(self) -> None:
        from leaderboards.services import corrections  # noqa: PLC0415 - signals are connected once the models exist

        corrections.connect()
