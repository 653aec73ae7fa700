"""What people and checks decide about suspicious play: each act part of one transaction, and undoable."""
