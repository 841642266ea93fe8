"""What the deletion of a cluster costs its nodes and the API server, next to its formation."""
