"""The runtime compared with Distributed Erlang and raw sockets: `make bench-runtime`.

`plan` orders the measurements and runs the Erlang application `bench`, `footprint` measures
idle nodes, `report` and `pictures` present.
"""
