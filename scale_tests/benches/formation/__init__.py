"""How clusters form and fail on real sockets: the release itself, one virtual machine per node.

Nodes are plain processes on loopback addresses of their own, without containers: what is measured
is the runtime, and not the machine's container runtime.
"""
