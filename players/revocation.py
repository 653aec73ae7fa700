"""Whatever is remembered about games and keys is forgotten everywhere as soon as a change to one is committed."""

from django.db.models.signals import post_delete, post_save

from config.recall import forget_after_commit
from players.models import ApiKey, Game


def _changed(**_: object) -> None:
    forget_after_commit()


def connect() -> None:
    for model in (Game, ApiKey):
        for signal in (post_save, post_delete):
            signal.connect(_changed, sender=model, dispatch_uid=f"forget-{model.__name__}-{id(signal)}")
