"""Unit tests of the Prometheus of demo and tests."""
