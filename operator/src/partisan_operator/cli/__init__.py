"""`kubectl partisan`: a plugin of kubectl for people who look after PartisanClusters.

It reaches the API server through kubectl itself, so that whatever kubectl can log in to it can,
and the nodes through the API server's proxy, so that it works from anywhere. What it says comes
from the operator's own models, graph, traffic and diagnosis. `commands/` has one module for each
command; `parser` says what they take, `main` runs them.
"""
