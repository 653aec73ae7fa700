"""A whole `apply_config` file, in one transaction."""

from typing import Any

from django.db import transaction

from config import wire
from config.audit import HOUSE, Who
from config.errors import DomainError, InvalidRequest
from leaderboards.services.modes import Change, game_declare, mode_declare
from leaderboards.wire import ConfigFile, ModeDeclaration
from players.rates import limits_checked


def config_apply(*, declared: dict[str, Any], dry_run: bool = False, who: Who = HOUSE) -> list[Change]:
    """What each declaration did, or would do. Anything wrong refuses the whole file."""
    file = _read(declared)
    changes: list[Change] = []
    with transaction.atomic():
        for game_slug, game_wanted in file.games.items():
            game, change = game_declare(slug=game_slug, wanted=game_wanted, who=who)
            changes.append(change)
            for mode_slug, mode_wanted in game_wanted.modes.items():
                try:
                    changes.append(mode_declare(game=game, slug=mode_slug, wanted=mode_wanted, who=who)[1])
                except DomainError as error:
                    raise InvalidRequest(f"games.{game_slug}.modes.{mode_slug}: {error.detail}") from error
        transaction.set_rollback(dry_run)
    return changes


def _read(declared: dict[str, Any]) -> ConfigFile:
    _check_limits(declared)
    try:
        return wire.convert(declared, ConfigFile)
    except InvalidRequest:
        _find_wrong_mode(declared)
        raise


def _check_limits(declared: dict[str, Any]) -> None:
    for slug, game in _tables(declared.get("games")):
        try:
            limits_checked(game.get("limits", {}))
        except InvalidRequest as error:
            raise InvalidRequest(f"games.{slug}.{error.detail}") from error


def _find_wrong_mode(declared: dict[str, Any]) -> None:
    """The refusal of a whole file says "games[...].modes[...]"; read one by one, the mode can be named."""
    for game_slug, game in _tables(declared.get("games")):
        for mode_slug, mode in _tables(game.get("modes")):
            try:
                wire.convert(mode, ModeDeclaration)
            except InvalidRequest as error:
                raise InvalidRequest(f"games.{game_slug}.modes.{mode_slug}: {error.detail}") from error


def _tables(value: object) -> list[tuple[str, dict[str, Any]]]:
    return [(name, part) for name, part in value.items() if isinstance(part, dict)] if isinstance(value, dict) else []
