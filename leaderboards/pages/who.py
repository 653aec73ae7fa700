"""Who is signed in to a game, for the line on its pages that says so (`_who.html`)."""

from dataclasses import dataclass

from players.access import Caller, Kind
from players.lookups import GameRecord
from players.profiles import profiles_named


@dataclass(frozen=True, slots=True)
class Who:
    game: str
    player_id: str
    name: str
    registered: bool  # who has never played has no profile yet


def who_is(caller: Caller, game: GameRecord) -> Who | None:
    if caller.kind is not Kind.PLAYER or caller.player_id is None:
        return None
    found = profiles_named([(game.pk, caller.player_id)]).get((game.pk, caller.player_id))
    name = found.display_name if found else caller.player_id
    return Who(game.slug, caller.player_id, name, registered=found is not None)
