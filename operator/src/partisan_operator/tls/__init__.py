"""The certificate authority of one cluster: what it keeps, when it renews, and how it signs."""
