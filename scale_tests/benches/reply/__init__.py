"""The ways in which a `gen_server` may answer a call: `make bench-reply`.

`plan` orders the cells, the Erlang module `bench_reply` measures them, `figures` computes ratios
and crossovers, `report` and `pictures` present.
"""
