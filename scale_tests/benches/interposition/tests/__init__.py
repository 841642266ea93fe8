"""Tests of the measurement of deletions."""
