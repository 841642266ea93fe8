"""What the operator costs with thousands of pods, which are simulated: `make bench-operator`."""
