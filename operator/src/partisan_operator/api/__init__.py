"""The API server and Prometheus: the client, its watches, the fence and the metrics."""
