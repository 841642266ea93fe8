"""What starting a cluster, watching it and being one of its nodes cost: `make bench`."""
