"""Tests of the experiments' parts that need no cluster."""
