"""Prometheus in the cluster of the demo and the tests, found and asked as anywhere else."""
