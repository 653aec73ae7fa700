import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0003_score_log")]

    operations = [
        migrations.CreateModel(
            name="DimensionValue",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "mode_id", "name", "value", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(max_length=32)),
                ("value", models.CharField(max_length=64)),
                (
                    "mode",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="leaderboards.mode",
                    ),
                ),
            ],
        ),
    ]
