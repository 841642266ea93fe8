"""Protocols and models under every schedule of faults: counts, counterexamples, replays, speed.

`plan` lists the commands of `partisan_verify` that are run, and the exact figures; `runner` runs
them, each in a virtual machine of its own; `report` checks the cells, draws, and makes tables, also
those of the documents.
"""
