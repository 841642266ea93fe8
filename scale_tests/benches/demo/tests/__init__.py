"""Unit tests of the demo: everything but the cluster."""
