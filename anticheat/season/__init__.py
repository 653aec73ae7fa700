"""A labelled season: a month of invented play in which it is known who cheats. Pure: a seed says all of it."""
