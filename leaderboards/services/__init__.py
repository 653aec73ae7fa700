"""What can be done to modes, scores and windows."""
