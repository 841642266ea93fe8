"""A node agent that runs pods as plain processes of this machine, like a kubelet.

Two CPUs and 24 GiB hold some six hundred Erlang nodes in containers, and a thousand without: shim,
sandbox, cgroups, mounts and interfaces use more than the node. The agent registers a Node and
starts what the image starts as a process with its own address. API server, controllers, scheduler,
operator and the pods' objects are real; there is no image, namespace, cgroup or limit, and no
`kubectl logs` or `exec`: results measured this way are marked.

`python -m scale_tests.cluster.agent -- COMMAND` runs a command with it.
"""
