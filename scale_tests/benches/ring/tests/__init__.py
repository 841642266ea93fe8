"""Tests of the ways to answer a call."""
