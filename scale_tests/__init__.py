"""Runs on real clusters: a local Kubernetes, the demo, end-to-end tests."""
