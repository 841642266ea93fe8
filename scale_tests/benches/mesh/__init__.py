"""How large a cluster gets: Distributed Erlang's mesh next to this runtime's overlays.

All nodes start at once on one machine, each a virtual machine on a loopback address of its own,
with the release's emulator flags. Sizes double until a system no longer forms or holds, or memory
ends.
"""
