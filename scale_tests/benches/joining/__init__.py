"""The cost of starting a cluster, of watching it, and of each of its nodes: `make bench`."""
