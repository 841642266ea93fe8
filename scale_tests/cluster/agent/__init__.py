"""A node agent that runs pods as plain processes of this machine: like a kubelet, but no kubelet.

Two CPUs and 24 GiB hold some six hundred Erlang nodes in containers, and a thousand without: what
else a container takes (a shim, a sandbox, its cgroups, mounts and network interfaces) is more than
the node. The agent registers a Node of its own, whose pods the scheduler gives it, and starts what
the image starts as a process on an address of its own. API server, controllers, scheduler and
operator are as ever, and so are the pods' objects: manifests, ConfigMaps, Secrets, environment,
probes, conditions, deletion with its grace. There is no image, no namespace, no cgroup and no limit
behind them, and `kubectl logs` and `exec` reach nothing: results that were measured so say it.

`python -m scale_tests.cluster.agent -- COMMAND` runs a command while the agent is there.
"""
