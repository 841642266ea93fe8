"""What everything that runs on a real cluster shares: the demo, the end-to-end tests, experiments.

`environment` decides which cluster and which images; `operator` installs the chart there;
`kube` speaks to the API server; `partisan` reads a PartisanCluster, `nodes` its nodes,
and `views` what they say together; `wait` waits; `must_gather` saves what somebody needs to find
out what went wrong. `fleet` has nodes without a cluster, `agent` makes them pods all the same, and
`kwok` simulates pods.
"""
