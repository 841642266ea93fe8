"""What is known of this host: its commands, its processes, and units."""
