"""Everything that changes something, at the API server or in the nodes."""
