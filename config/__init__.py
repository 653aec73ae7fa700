"""The roof (settings, doors, Celery) and the ground floor (errors, problems, the one Valkey client) of Rung."""
