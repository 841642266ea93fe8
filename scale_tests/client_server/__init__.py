"""Client-server at sizes at which the published implementation ran out of memory.

Nodes are processes of this machine, not pods: a thousand pods would not fit it.
"""
