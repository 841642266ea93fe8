"""Tests of the simulator's reporter."""
