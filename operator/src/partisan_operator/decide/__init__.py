"""Decisions: pure functions from a cluster and an observation to actions."""
