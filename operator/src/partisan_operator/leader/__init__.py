"""Leader election: at most one operator acts on a cluster at a time."""
