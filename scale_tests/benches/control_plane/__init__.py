"""What one real control plane carries, with simulated pods: `make bench-control-plane`."""
