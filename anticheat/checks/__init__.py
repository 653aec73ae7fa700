"""What a submitted score is held against: each a small class, listed in settings.SCORE_CHECKS."""
