"""The product: modes, scores, boards and windows."""
