"""This host: its commands, its processes, and units."""
