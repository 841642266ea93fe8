"""Observations: the objects of a cluster, its nodes' reports, and the graph of its overlay."""
