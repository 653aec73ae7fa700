"""Modes declare values of dimensions; who brought the others is kept; the log says which of a score's found no room."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0011_what_waits_is_found")]
    operations = [
        migrations.AddField(
            "mode",
            "values",
            models.JSONField(
                blank=True,
                default=dict,
                help_text='Declared values: {"level": ["1", "2"]}. Empty: none are declared.',
            ),
        ),
        migrations.AddField(
            "mode",
            "new_values",
            models.CharField(choices=[("keys", "keys"), ("anyone", "anyone")], default="keys", max_length=6),
        ),
        migrations.AddField("dimensionvalue", "player", models.BigIntegerField(null=True)),
        migrations.AddField("dimensionvalue", "brought_at", models.DateTimeField(db_default=Now())),
        migrations.AddIndex(
            "dimensionvalue",
            models.Index(
                condition=models.Q(player__isnull=False),
                fields=["mode", "player", "brought_at"],
                name="values_brought_by_players",
            ),
        ),
        migrations.RunSQL(
            "ALTER TABLE score_attempts ADD COLUMN left_out jsonb",
            "ALTER TABLE score_attempts DROP COLUMN left_out",
        ),
    ]
