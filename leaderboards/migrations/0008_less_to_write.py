"""What begins with the mode in another index needs none of its own; a payload that lives for moments is not compressed."""

from django.db import migrations, models
from django.db.models.deletion import CASCADE

_PAYLOAD = "ALTER TABLE leaderboards_outbox ALTER COLUMN payload SET STORAGE "


def _mode() -> models.Field:
    return models.ForeignKey("leaderboards.Mode", on_delete=CASCADE, db_constraint=False, db_index=False)


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0007_ids_by_the_batch")]
    operations = [
        migrations.AlterField("outbox", "mode", _mode()),
        migrations.AlterField("placement", "mode", _mode()),
        migrations.AlterField("stamp", "mode", _mode()),
        migrations.AlterField("standing", "mode", _mode()),
        migrations.RunSQL(f"{_PAYLOAD} EXTERNAL", f"{_PAYLOAD} EXTENDED"),
    ]
