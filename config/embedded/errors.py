"""What can stand in the way of a start, said to the person who started it."""


class CannotStart(Exception):  # noqa: N818  a fact about the start, read aloud as one sentence
    """One clear sentence for the operator; never shown with a traceback."""
