"""What can go wrong with games, players and credentials."""

from config.errors import DomainError, NotFound


class GameNotFound(NotFound):
    code, title = "game_not_found", "Game not found"


class PlayerNotFound(NotFound):
    code, title = "player_not_found", "Player not found"


class PlayerBanned(DomainError):
    code, status, title = "player_banned", 422, "Player banned"
