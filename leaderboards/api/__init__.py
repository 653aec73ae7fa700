"""DRF: games and modes, scores and attempts, boards."""
