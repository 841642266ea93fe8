"""Benches with simulated pods: `experiment` puts the steps in order, `session` concludes."""
