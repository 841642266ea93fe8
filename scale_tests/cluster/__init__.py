"""A cluster, seen from outside: clients, installation, waiting, and simulated parts.

`environment` chooses cluster and images; `operator` installs the chart; `kube` is the API client;
`partisan` reads a PartisanCluster, `nodes` its nodes, `views` their overlay; `wait` waits;
`must_gather` saves a diagnostic bundle. `fleet` runs nodes without a cluster, `agent` makes them
pods, and `kwok` simulates pods.
"""
