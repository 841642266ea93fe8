"""A run as in staging: clusters of several sizes, with faults, watched by a real Prometheus."""
