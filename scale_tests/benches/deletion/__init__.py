"""The cost of deleting a cluster, for its nodes and the API server, next to its formation."""
