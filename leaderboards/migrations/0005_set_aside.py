"""Batches that cannot be applied wait aside; the log has reasons; a standing knows when its attempt arrived."""

import datetime
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('leaderboards', '0004_dimension_values'),
    ]

    operations = [
        migrations.RunSQL(
            'ALTER TABLE score_attempts ADD COLUMN reasons jsonb, ALTER COLUMN metadata TYPE json',
            'ALTER TABLE score_attempts DROP COLUMN reasons, ALTER COLUMN metadata TYPE jsonb',
        ),
        migrations.AddField(
            model_name='outbox',
            name='tries',
            field=models.SmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='standing',
            name='received_at',
            field=models.DateTimeField(default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)),
        ),
        migrations.CreateModel(
            name='SetAside',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shard', models.SmallIntegerField()),
                ('kind', models.SmallIntegerField(choices=[(0, 'Scores'), (1, 'Placed'), (2, 'Retold')])),
                ('payload', models.BinaryField()),
                ('tries', models.SmallIntegerField(default=1)),
                ('error', models.TextField()),
                ('created_at', models.DateTimeField()),
                ('set_aside_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('mode', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, to='leaderboards.mode')),
            ],
            options={
                'verbose_name': 'batch set aside',
                'verbose_name_plural': 'batches set aside',
            },
        ),
    ]
