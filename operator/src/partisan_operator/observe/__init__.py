"""What the operator sees of a cluster, and how: nodes' reports, the overlay's graph, traffic."""
