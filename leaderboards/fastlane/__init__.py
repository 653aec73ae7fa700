"""The hot routes in front of Django: the same questions, asked together."""
