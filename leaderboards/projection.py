"""What stamping keeps in PostgreSQL: pending rows, numbered batches, standings. All of it follows from the log."""

from datetime import UTC, datetime
from typing import ClassVar

from django.db import models
from django.db.models.functions import Now
from django.utils.timezone import now


class Outbox(models.Model):
    """What was committed and is not on the boards yet: one row a commit and (mode, shard)."""

    class Kind(models.IntegerChoices):
        SCORES = 0
        PLACED = 1  # where or whether players are listed has changed: region, country, ban, erasure
        RETOLD = 2  # which of their attempts count has changed

    mode = models.ForeignKey("leaderboards.Mode", on_delete=models.CASCADE, db_constraint=False, db_index=False)
    shard = models.SmallIntegerField()
    shards = models.SmallIntegerField(db_default=0)  # of how many; others than the mode's: leaderboards/resplit.py
    kind = models.SmallIntegerField(choices=Kind.choices)
    payload = models.BinaryField()  # msgpack, leaderboards/outbox.py
    tries = models.SmallIntegerField(default=0)  # how often the same was set aside before
    created_at = models.DateTimeField(default=now)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["mode", "shards", "shard", "id"])]

    def __str__(self) -> str:
        return f"outbox {self.pk}"


class SetAside(models.Model):
    """A pending row that could not be applied: out of the way of the others, until it is tried again."""

    mode = models.ForeignKey("leaderboards.Mode", on_delete=models.CASCADE, db_constraint=False)
    shard = models.SmallIntegerField()
    kind = models.SmallIntegerField(choices=Outbox.Kind.choices)
    payload = models.BinaryField()
    tries = models.SmallIntegerField(default=1)
    error = models.TextField()
    created_at = models.DateTimeField()  # of the row
    set_aside_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name = "batch set aside"
        verbose_name_plural = "batches set aside"

    def __str__(self) -> str:
        return f"{self.get_kind_display().lower()} {self.pk}, set aside"


class Stream(models.Model):
    """A (mode, shard): its consumer locks this row, and numbers its batches here, without gaps."""

    pk = models.CompositePrimaryKey("mode_id", "shard")
    mode = models.ForeignKey("leaderboards.Mode", on_delete=models.CASCADE, related_name="streams")
    shard = models.SmallIntegerField()
    seq = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"stream {self.mode_id}.{self.shard}"


class Stamp(models.Model):
    """A numbered batch with its frozen effect; kept a day, for the tail that a failover loses."""

    pk = models.CompositePrimaryKey("mode_id", "shard", "seq")
    mode = models.ForeignKey("leaderboards.Mode", on_delete=models.CASCADE, db_constraint=False, db_index=False)
    shard = models.SmallIntegerField()
    seq = models.BigIntegerField()
    effect = models.BinaryField()
    created_at = models.DateTimeField(default=now, db_index=True)

    def __str__(self) -> str:
        return f"stamp {self.mode_id}.{self.shard} #{self.seq}"


class Standing(models.Model):
    """A player's score in one window, for all scopes that come from the player ("") or for one that was submitted."""

    pk = models.CompositePrimaryKey("mode_id", "player_id", "window", "scope")
    mode = models.ForeignKey("leaderboards.Mode", on_delete=models.CASCADE, db_constraint=False, db_index=False)
    player = models.ForeignKey("players.Player", on_delete=models.CASCADE, db_constraint=False)
    window = models.CharField(max_length=32)
    scope = models.CharField(max_length=100)
    score = models.BigIntegerField()
    achieved_at = models.DateTimeField()
    attempt = models.BigIntegerField()  # id in the log
    received_at = models.DateTimeField(default=datetime(1970, 1, 1, tzinfo=UTC))  # and the day to find it in

    def __str__(self) -> str:
        return f"standing of {self.player_id} in {self.mode_id} {self.window} {self.scope}"


class DimensionValue(models.Model):
    """A value that a submitted dimension has taken; how many it may take, and from whom, are the mode's rules."""

    pk = models.CompositePrimaryKey("mode_id", "name", "value")
    mode = models.ForeignKey("leaderboards.Mode", on_delete=models.CASCADE, db_constraint=False, db_index=False)
    name = models.CharField(max_length=32)
    value = models.CharField(max_length=64)
    player = models.BigIntegerField(null=True)  # who brought it, of the players; their number is bounded for each
    brought_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["mode", "player", "brought_at"],
                condition=models.Q(player__isnull=False),
                name="values_brought_by_players",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name}:{self.value} in {self.mode_id}"


class Placement(models.Model):
    """Where the boards have a player of a mode: which region and country, and whether at all."""

    pk = models.CompositePrimaryKey("mode_id", "player_id")
    mode = models.ForeignKey("leaderboards.Mode", on_delete=models.CASCADE, db_constraint=False, db_index=False)
    player = models.ForeignKey("players.Player", on_delete=models.CASCADE, db_constraint=False)
    region = models.CharField(max_length=32)
    country = models.CharField(max_length=2)
    listed = models.BooleanField()

    def __str__(self) -> str:
        return f"placement of {self.player_id} in {self.mode_id}"
