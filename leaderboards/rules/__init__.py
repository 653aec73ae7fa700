"""The rules of a mode as pure functions: no clock, no store, no Django. The time is always an argument."""
