"""When each cluster is reconciled, how much of it is observed, and when failures count."""
