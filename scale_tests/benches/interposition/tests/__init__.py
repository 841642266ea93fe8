"""Tests of the comparison of pairs."""
