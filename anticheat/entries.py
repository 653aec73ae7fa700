"""The audit: what operators, keys and commands did, each row bound to the one before it.

Appended to, never changed: PostgreSQL itself refuses, and numbers the rows when their transaction commits
(migration 0002, docs/adr/0022). It refers to players, users and keys by number alone, so that it outlives them.
"""

from typing import ClassVar

from django.db import models


class AuditEntry(models.Model):
    class By(models.TextChoices):
        OPERATOR = "operator", "operator"
        KEY = "key", "API key"
        PLAYER = "player", "the player itself"
        COMMAND = "command", "command"
        NOBODY = "nobody", "nobody known"
        HOUSE = "house", "Rung itself"

    seq = models.BigIntegerField(
        "row", null=True, unique=True, editable=False
    )  # from 1, without a gap; set at the commit
    at = models.DateTimeField("when")
    verb = models.CharField("what", max_length=64)  # "mode.change", "key.revoke"
    by = models.CharField("who", max_length=8, choices=By.choices)
    user = models.BigIntegerField(null=True, blank=True)  # pks, of rows that may be gone
    key = models.BigIntegerField(null=True, blank=True)
    command = models.CharField(max_length=64, blank=True)
    address = models.CharField("from", max_length=45, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    game = models.BigIntegerField(null=True, blank=True)
    mode = models.BigIntegerField(null=True, blank=True)
    player = models.BigIntegerField(null=True, blank=True)
    about = models.CharField(max_length=100, blank=True)  # "players.ban:17"
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    why = models.TextField(blank=True)
    digest = models.BinaryField(max_length=32)  # of all the above but `seq`
    prev = models.BinaryField(max_length=32, null=True)  # the hash of the row before
    hash = models.BinaryField(max_length=32, null=True)  # of seq, prev and digest

    class Meta:
        ordering = ["-seq"]
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"
        default_permissions = ("view",)
        permissions: ClassVar = [("export_auditentry", "Can export the audit")]
        indexes: ClassVar = [
            models.Index(fields=[first, "-seq"], name=f"audit_by_{first}")
            for first in ("verb", "user", "key", "address", "request_id", "game", "player", "about", "at")
        ]

    def __str__(self) -> str:
        return f"{self.seq}: {self.verb}"


class AuditHead(models.Model):
    """The end of the chain, in one row: rows missing at its end are missed."""

    seq = models.BigIntegerField()
    hash = models.BinaryField(max_length=32)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.seq}:{bytes(self.hash).hex()}"
