"""Tests of comparisons, without simulations."""
