"""Tests of what needs no cluster."""
