from django.apps import AppConfig


class PlayersApp(AppConfig):
    name = "players"

    def ready(self) -> None:
        from players import revocation  # noqa: PLC0415 - signals are connected once the models exist

        revocation.connect()
