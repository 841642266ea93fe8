"""`kubectl partisan`: a plugin of kubectl for people who run PartisanClusters.

It reaches the API server through kubectl, so that it supports every way of logging in, and the
nodes through the API server's proxy, so that it works from anywhere. It shares the operator's
models, graph, traffic and diagnosis. `commands/` has one module for each command, `catalogue` their
arguments; `main` runs them.
"""
