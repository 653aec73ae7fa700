"""A batch draws its ids with one number: as many as it can have rows lie before it."""

from django.db import migrations

FORWARDS = "ALTER SEQUENCE score_attempts_id_seq INCREMENT BY 10000 CACHE 1"
BACKWARDS = "ALTER SEQUENCE score_attempts_id_seq INCREMENT BY 1 CACHE 100"


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0006_rows_know_their_shards")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
