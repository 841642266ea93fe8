"""The status of a cluster, its conditions and events, computed from observation and plan."""
