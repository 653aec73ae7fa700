"""What a player did in an attempt, as its game recorded it: where the bytes are, and what playing them again showed."""

from typing import ClassVar

from django.core.files.storage import Storage, storages
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from players.models import ApiKey, Game, Player


class Replay(models.Model):
    """One for each attempt. The bytes are in the storage `replays`, under a name of ours."""

    class State(models.TextChoices):
        KEPT = "kept", "kept: nobody verifies it"
        WAITING = "waiting", "waiting to be verified"
        VERIFIED = "verified", "verified: it reaches the score"
        WRONG = "wrong", "wrong: it does not"
        UNVERIFIED = "unverified", "could not be verified"

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="+")
    mode = models.ForeignKey("leaderboards.Mode", on_delete=models.CASCADE, related_name="+")
    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="replays", db_index=False)
    attempt = models.BigIntegerField(unique=True)  # id in the log
    attempt_id = models.UUIDField()
    received_at = models.DateTimeField()  # and the day to find it in
    name = models.CharField(max_length=100)  # in the storage
    sha256 = models.BinaryField(max_length=32)
    size = models.PositiveIntegerField()
    media_type = models.CharField(max_length=100)
    state = models.CharField(max_length=10, choices=State.choices)
    said = models.CharField(max_length=500, blank=True)  # by the verifier, or about it; for people who decide
    tries = models.PositiveSmallIntegerField(default=0)
    claimed_until = models.DateTimeField(null=True, blank=True)  # somebody verifies it, or has died while at it
    uploaded_at = models.DateTimeField(default=now)
    by_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["player", "attempt_id", "received_at"], name="one_replay_an_attempt")
        ]
        indexes: ClassVar = [
            models.Index(fields=["uploaded_at"], condition=Q(state="waiting"), name="replays_waiting"),
            models.Index(fields=["uploaded_at"], name="replays_by_age"),
            models.Index(fields=["settled_at"], condition=Q(state="verified"), name="replays_verified"),
        ]

    def __str__(self) -> str:
        return f"replay {self.pk}"


def storage() -> Storage:
    return storages["replays"]
