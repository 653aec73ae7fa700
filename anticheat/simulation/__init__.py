"""A believable stream of play into a running house: the people and the cheaters of the labelled season, hurried up."""
