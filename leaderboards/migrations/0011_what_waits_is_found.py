"""Attempts in quarantine are few: each day of the log has an index of them alone. partitions.py makes it for new days."""

from django.db import migrations

_EACH = """
DO $$ DECLARE part regclass; BEGIN
    FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'score_attempts'::regclass LOOP
        EXECUTE format('CREATE INDEX ON %s (mode_id, player_id) WHERE state = 1', part);
    END LOOP;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0010_tuned_checks")]
    operations = [migrations.RunSQL(_EACH, migrations.RunSQL.noop)]
