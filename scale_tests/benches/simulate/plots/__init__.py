"""What is drawn of a run, by what it tells of."""
