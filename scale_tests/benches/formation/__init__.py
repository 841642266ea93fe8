"""How clusters form and fail on real sockets: the release itself, one virtual machine per node.

Nodes are plain processes on loopback addresses: the container runtime is not measured.
"""
