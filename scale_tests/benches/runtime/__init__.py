"""The runtime beside Distributed Erlang and raw sockets, in one run: `make bench-runtime`.

`plan` says what is measured, `wire` makes the network between two virtual machines, `driver` runs
the measurements (the Erlang application `bench` does the work), `footprint` weighs idle nodes,
`report` and `pictures` say what came out.
"""
