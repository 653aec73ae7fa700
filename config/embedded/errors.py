"""What can stand in the way of a start, said to the person who started it."""


class CannotStart(Exception):
    """One clear sentence for the operator; never shown with a traceback."""
