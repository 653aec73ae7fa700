"""The audit, and its guard: PostgreSQL numbers and chains rows at the commit, and refuses to change one."""

from django.db import migrations, models

FORWARDS = """
-- At the commit of whoever recorded, so that the lock on the head is the last and the shortest: docs/adr/0022.
CREATE FUNCTION anticheat_audit_chain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    head anticheat_audithead;
BEGIN
    SELECT * INTO head FROM anticheat_audithead WHERE id = 1 FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO anticheat_audithead (id, seq, hash) VALUES (1, 0, decode(repeat('00', 32), 'hex'))
            ON CONFLICT DO NOTHING;
        SELECT * INTO head FROM anticheat_audithead WHERE id = 1 FOR UPDATE;
    END IF;
    UPDATE anticheat_auditentry e
        SET seq = head.seq + 1, prev = head.hash, hash = sha256(int8send(head.seq + 1) || head.hash || NEW.digest)
        WHERE e.id = NEW.id RETURNING e.seq, e.hash INTO head.seq, head.hash;
    UPDATE anticheat_audithead h SET seq = head.seq, hash = head.hash WHERE h.id = 1;
    RETURN NULL;
END $$;

CREATE FUNCTION anticheat_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The audit is appended to, never changed: % of % is refused.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;

-- A row is given its place in the chain once, by the function above and nobody else, and stays. One that comes with a
-- place of its own is refused when the function gives it one.
CREATE FUNCTION anticheat_audit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    place text[] := '{seq,prev,hash}';
BEGIN
    IF pg_trigger_depth() > 1 AND OLD.seq IS NULL AND to_jsonb(NEW) - place = to_jsonb(OLD) - place THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The audit is appended to, never changed: % of % is refused.', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE CONSTRAINT TRIGGER audit_chain AFTER INSERT ON anticheat_auditentry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION anticheat_audit_chain();
CREATE TRIGGER audit_guard BEFORE UPDATE ON anticheat_auditentry
    FOR EACH ROW EXECUTE FUNCTION anticheat_audit_guard();
CREATE TRIGGER audit_no_delete BEFORE DELETE ON anticheat_auditentry
    FOR EACH ROW EXECUTE FUNCTION anticheat_audit_refuse();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON anticheat_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION anticheat_audit_refuse();

CREATE TRIGGER audit_head_guard BEFORE INSERT OR UPDATE ON anticheat_audithead
    FOR EACH ROW WHEN (pg_trigger_depth() < 1) EXECUTE FUNCTION anticheat_audit_refuse();
CREATE TRIGGER audit_head_no_delete BEFORE DELETE ON anticheat_audithead
    FOR EACH ROW EXECUTE FUNCTION anticheat_audit_refuse();
CREATE TRIGGER audit_head_no_truncate BEFORE TRUNCATE ON anticheat_audithead
    FOR EACH STATEMENT EXECUTE FUNCTION anticheat_audit_refuse();
"""
BACKWARDS = """
DROP TRIGGER audit_chain ON anticheat_auditentry;
DROP TRIGGER audit_guard ON anticheat_auditentry;
DROP TRIGGER audit_no_delete ON anticheat_auditentry;
DROP TRIGGER audit_no_truncate ON anticheat_auditentry;
DROP TRIGGER audit_head_guard ON anticheat_audithead;
DROP TRIGGER audit_head_no_delete ON anticheat_audithead;
DROP TRIGGER audit_head_no_truncate ON anticheat_audithead;
DROP FUNCTION anticheat_audit_chain();
DROP FUNCTION anticheat_audit_guard();
DROP FUNCTION anticheat_audit_refuse();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('anticheat', '0001_cases'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditHead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('hash', models.BinaryField(max_length=32)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField(editable=False, null=True, unique=True, verbose_name='row')),
                ('at', models.DateTimeField(verbose_name='when')),
                ('verb', models.CharField(max_length=64, verbose_name='what')),
                ('by', models.CharField(choices=[('operator', 'operator'), ('key', 'API key'), ('player', 'the player itself'), ('command', 'command'), ('nobody', 'nobody known'), ('house', 'Rung itself')], max_length=8, verbose_name='who')),
                ('user', models.BigIntegerField(blank=True, null=True)),
                ('key', models.BigIntegerField(blank=True, null=True)),
                ('command', models.CharField(blank=True, max_length=64)),
                ('address', models.CharField(blank=True, max_length=45, verbose_name='from')),
                ('request_id', models.CharField(blank=True, max_length=64)),
                ('game', models.BigIntegerField(blank=True, null=True)),
                ('mode', models.BigIntegerField(blank=True, null=True)),
                ('player', models.BigIntegerField(blank=True, null=True)),
                ('about', models.CharField(blank=True, max_length=100)),
                ('before', models.JSONField(default=dict)),
                ('after', models.JSONField(default=dict)),
                ('why', models.TextField(blank=True)),
                ('digest', models.BinaryField(max_length=32)),
                ('prev', models.BinaryField(max_length=32, null=True)),
                ('hash', models.BinaryField(max_length=32, null=True)),
            ],
            options={
                'verbose_name': 'audit entry',
                'verbose_name_plural': 'audit entries',
                'ordering': ['-seq'],
                'permissions': [('export_auditentry', 'Can export the audit')],
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['verb', '-seq'], name='audit_by_verb'), models.Index(fields=['user', '-seq'], name='audit_by_user'), models.Index(fields=['key', '-seq'], name='audit_by_key'), models.Index(fields=['address', '-seq'], name='audit_by_address'), models.Index(fields=['request_id', '-seq'], name='audit_by_request_id'), models.Index(fields=['game', '-seq'], name='audit_by_game'), models.Index(fields=['player', '-seq'], name='audit_by_player'), models.Index(fields=['about', '-seq'], name='audit_by_about'), models.Index(fields=['at', '-seq'], name='audit_by_at')],
            },
        ),
        migrations.RunSQL(FORWARDS, BACKWARDS),
    ]
