"""DRF: games, modes and, next, scores and boards."""
