"""A standing is written again and again: with room on its page the new one lies beside it, and no index is touched."""

from django.db import migrations

_STANDING = "ALTER TABLE leaderboards_standing "


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0008_less_to_write")]
    operations = [
        migrations.RunSQL(f"{_STANDING} SET (fillfactor = 80)", f"{_STANDING} RESET (fillfactor)"),
    ]
