"""A whole `apply_config` file, in one transaction."""

from typing import Any

from django.db import transaction

from config import wire
from config.errors import DomainError, InvalidRequest
from leaderboards.services.modes import Change, game_declare, mode_declare
from leaderboards.wire import ConfigFile


def config_apply(*, declared: dict[str, Any], dry_run: bool = False) -> list[Change]:
    """What each declaration did, or would do. Anything wrong refuses the whole file."""
    file = wire.convert(declared, ConfigFile)
    changes: list[Change] = []
    with transaction.atomic():
        for game_slug, game_wanted in file.games.items():
            game, change = game_declare(slug=game_slug, wanted=game_wanted)
            changes.append(change)
            for mode_slug, mode_wanted in game_wanted.modes.items():
                try:
                    changes.append(mode_declare(game=game, slug=mode_slug, wanted=mode_wanted)[1])
                except DomainError as error:
                    raise InvalidRequest(f"games.{game_slug}.modes.{mode_slug}: {error.detail}") from error
        transaction.set_rollback(dry_run)
    return changes
