"""The one order in which rows are locked, by whoever rules, judges or checks. Example: to undo a ruling that
disqualified two scores, lock their player, the case, the ruling, later rulings about the same, and the two scores.

1. the player: acts about one player take turns, and scores of it are taken meanwhile
2. its case
3. rulings, the earlier first
4. a rollback, or a replay
5. attempts in the log, by player and id
6. the end of the audit, which the database locks at the commit

Who needs less skips what it does not need. Checks begin with the cases, by mode and player, before they hold back an
attempt; rollbacks begin with themselves.
"""

from django.db import connection

from anticheat.models import Case


def player_lock(player: int | None) -> None:
    """Foreign keys to the player need not wait for it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM players_player WHERE id = %s FOR NO KEY UPDATE", [player])


def case_lock(case: Case) -> Case:
    """With its player, and as it is now."""
    player_lock(case.player_id)
    return Case.objects.select_for_update(of=("self",)).select_related("held_by").get(pk=case.pk)
