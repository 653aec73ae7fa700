"""The log of scores: a table partitioned by day of arrival, which Django's own migrations cannot express."""

from django.db import migrations

FORWARDS = """
CREATE SEQUENCE score_attempts_id_seq AS bigint CACHE 100;

CREATE TABLE score_attempts (
    id          bigint      NOT NULL DEFAULT nextval('score_attempts_id_seq'),
    received_at timestamptz NOT NULL,
    mode_id     bigint      NOT NULL,
    player_id   bigint      NOT NULL,
    attempt_id  uuid        NOT NULL,
    score       bigint      NOT NULL,
    achieved_at timestamptz NOT NULL,
    windows     smallint    NOT NULL,
    state       smallint    NOT NULL DEFAULT 0,
    key_id      bigint,
    dimensions  jsonb,
    metadata    jsonb,
    client      jsonb
) PARTITION BY RANGE (received_at);

-- Enters the log: the moment of arrival, on a day that nobody can end while the caller's transaction lasts.
-- Around midnight a repeated attempt may be under way in yesterday's partition, uncommitted and so unseen; whoever
-- writes to a day holds its lock, and the first minutes of the next day wait for them.
CREATE FUNCTION score_attempts_enter() RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
    arrived timestamptz;
    today   integer;
BEGIN
    LOOP
        today := floor(extract(epoch FROM clock_timestamp()) / 86400);
        PERFORM pg_advisory_xact_lock_shared(7301, today);
        arrived := clock_timestamp();
        EXIT WHEN floor(extract(epoch FROM arrived) / 86400) = today;
    END LOOP;
    IF extract(epoch FROM arrived) - today::bigint * 86400 < 300 THEN
        PERFORM pg_advisory_lock(7301, today - 1);
        PERFORM pg_advisory_unlock(7301, today - 1);
    END IF;
    RETURN arrived;
END $$;
"""
BACKWARDS = "DROP FUNCTION score_attempts_enter(); DROP TABLE score_attempts; DROP SEQUENCE score_attempts_id_seq;"


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0002_streams")]
    operations = [migrations.RunSQL(FORWARDS, BACKWARDS)]
