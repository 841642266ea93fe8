"""A server with many clients, at sizes at which the published one ran out of memory.

Nodes are processes of this machine, not pods: a thousand pods would not fit it.
"""
