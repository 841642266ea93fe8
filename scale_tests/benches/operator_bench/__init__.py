"""The cost of the operator with thousands of simulated pods: `make bench-operator`."""
