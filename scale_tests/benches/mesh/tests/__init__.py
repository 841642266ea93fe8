"""Tests of what needs no node."""
