"""What was found suspicious, who decided what about it, and which attempts were taken back."""

from typing import ClassVar

from django.db import models
from django.utils.timezone import now

from anticheat.entries import AuditEntry, AuditHead
from anticheat.replays import Replay
from leaderboards.models import Mode
from players.models import ApiKey, Ban, Game, Player

__all__ = ["AuditEntry", "AuditHead", "Case", "Finding", "OwnPlayer", "Replay", "Rollback", "Ruling", "Withdrawal"]


class Case(models.Model):
    """All that is suspicious about one player in one mode. Closed, it opens again when more is found."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        WATCHING = "watching", "watching"
        CLEARED = "cleared", "cleared"
        CONFIRMED = "confirmed", "confirmed"

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="cases")
    mode = models.ForeignKey(Mode, on_delete=models.CASCADE, related_name="cases", db_index=False)
    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="cases")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    risk = models.FloatField(default=0)  # 0 to 1, of all its findings together
    rank = models.PositiveIntegerField(null=True, blank=True)  # the best that its scores have, or would have
    priority = models.FloatField(default=0)  # risk, weighed by the rank affected: the order of the queue
    note = models.TextField(blank=True, max_length=4000)
    held_by = models.ForeignKey("auth.User", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    held_until = models.DateTimeField(null=True, blank=True)
    snoozed_until = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-priority", "pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["mode", "player"], name="one_case_a_player_and_mode")]
        indexes: ClassVar = [models.Index(fields=["state", "-priority"])]

    def __str__(self) -> str:
        return f"case {self.pk}"


class Finding(models.Model):
    """What one check said of one attempt; said once, however often it is looked at again."""

    class Verdict(models.TextChoices):
        FLAG = "flag", "flag: on the board, in the queue"
        QUARANTINE = "quarantine", "quarantine: on no board until somebody looks"
        REJECT = "reject", "reject: counts nowhere"

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="findings")
    attempt = models.BigIntegerField()  # id in the log
    attempt_id = models.UUIDField(db_index=True)
    received_at = models.DateTimeField()  # and the day to find it in
    score = models.BigIntegerField()  # scaled
    check_name = models.CharField(max_length=32)
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    risk = models.FloatField()
    reason = models.CharField(max_length=500)  # for people who decide
    details = models.JSONField(default=dict)  # numbers behind the reason
    found_at = models.DateTimeField(default=now)

    class Meta:
        ordering = ["-found_at", "-pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["attempt", "check_name"], name="finding_once")]

    def __str__(self) -> str:
        return f"{self.check_name}: {self.reason}"


class Rollback(models.Model):
    """Attempts taken back in bulk: which, how far it is, and whether it was undone."""

    class State(models.TextChoices):
        HELD = "held", "waits for a second person"
        WAITING = "waiting", "waiting"
        RUNNING = "running", "running"
        DONE = "done", "done"
        UNDOING = "undoing", "being undone"
        UNDONE = "undone", "undone"

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="rollbacks")
    mode = models.ForeignKey(Mode, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    player = models.ForeignKey(Player, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    attempt_id = models.UUIDField(null=True, blank=True)  # one attempt of the player
    since = models.DateTimeField()  # by time of arrival
    until = models.DateTimeField()
    predicate = models.JSONField(default=dict, blank=True)  # {"build": "1.42.0", "platform": "ios", "level": "7"}
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    total = models.PositiveBigIntegerField(default=0)  # attempts, as counted before
    done = models.PositiveBigIntegerField(default=0)
    cursor_day = models.DateField(null=True)  # how far it is: this day of the log, up to this id
    cursor_id = models.BigIntegerField(default=0)
    made_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-made_at"]

    def __str__(self) -> str:
        return f"rollback {self.pk}"


class Withdrawal(models.Model):
    """An attempt that a rollback covers. One that counted counts again when none covers it any more."""

    pk = models.CompositePrimaryKey("rollback_id", "attempt")
    rollback = models.ForeignKey(Rollback, on_delete=models.CASCADE, related_name="withdrawals", db_index=False)
    attempt = models.BigIntegerField(db_index=True)  # id in the log
    mode = models.ForeignKey(Mode, on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+")
    player = models.ForeignKey(Player, on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="+")
    received_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"attempt {self.attempt} in rollback {self.rollback_id}"


class Ruling(models.Model):
    """What a person, or a key, decided: with a reason, and undoable."""

    class Kind(models.TextChoices):
        RELEASE = "release", "release: the attempts count"
        REJECT = "reject", "disqualify: the attempts count nowhere"
        CLEAR = "clear", "clear: nothing wrong"
        WATCH = "watch", "watch: no act yet"
        CONFIRM = "confirm", "confirm: it was cheating"
        HIDE = "hide", "hide: off every board, may submit"
        SHADOW = "shadow", "shadow ban: nobody else sees the player"
        SUSPEND = "suspend", "suspend: a ban with an end"
        BAN = "ban", "ban: off every board, may not submit"
        ROLLBACK = "rollback", "roll back: attempts taken back in bulk"

    class State(models.TextChoices):
        PROPOSED = "proposed", "waits for a second person"
        DONE = "done", "done"
        UNDONE = "undone", "undone"
        WITHDRAWN = "withdrawn", "not done"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DONE)
    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="rulings")
    case = models.ForeignKey(Case, on_delete=models.CASCADE, null=True, blank=True, related_name="rulings")
    mode = models.ForeignKey(Mode, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    player = models.ForeignKey(Player, on_delete=models.CASCADE, null=True, blank=True, related_name="rulings")
    reason = models.CharField(max_length=500)  # which the player may be told
    note = models.TextField(blank=True, max_length=4000)  # which nobody but operators sees
    ends_at = models.DateTimeField(null=True, blank=True)
    ban = models.ForeignKey(Ban, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    rollback = models.ForeignKey(Rollback, on_delete=models.SET_NULL, null=True, blank=True, related_name="rulings")
    before = models.JSONField(default=dict)  # what undoing needs: services/ruling_acts.py writes and reads it
    by = models.ForeignKey("auth.User", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    by_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    at = models.DateTimeField(default=now)
    approved_by = models.ForeignKey("auth.User", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    undone_by = models.ForeignKey("auth.User", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    undone_by_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_why = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-at", "-pk"]
        permissions: ClassVar = [
            ("rule", "Can rule on cases and players"),
            ("roll_back", "Can take attempts back in bulk"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["-at", "-id"], name="ruling_newest"),
            models.Index(fields=["id"], name="ruling_proposed", condition=models.Q(state="proposed")),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display().partition(':')[0]}, ruling {self.pk}"


class OwnPlayer(models.Model):
    """A player that an operator plays as: its cases are shown to others, and others judge it."""

    user = models.ForeignKey("auth.User", on_delete=models.CASCADE, related_name="own_players", db_index=False)
    player = models.ForeignKey(Player, on_delete=models.CASCADE, related_name="+")

    class Meta:
        verbose_name = "operator's own player"
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "player"], name="own_player_once")]

    def __str__(self) -> str:
        return f"{self.player}, played by {self.user}"
