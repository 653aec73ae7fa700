"""How good the checks are, told by a season in which it is known who cheats. Nothing here is of use to the product."""
