"""Unit tests of the harness: everything but the cluster."""
