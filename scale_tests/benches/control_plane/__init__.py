"""Capacity of one real control plane, with simulated pods: `make bench-control-plane`."""
