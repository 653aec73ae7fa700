"""A game small enough to read in a minute, whose replays are really played again."""
