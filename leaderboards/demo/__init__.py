"""The demo game: two modes and some thousand players, so that the first look is alive."""
