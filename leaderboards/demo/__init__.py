"""The demo game: three modes and some thousand players, so that the first look is alive."""
