"""Boards in Valkey."""
