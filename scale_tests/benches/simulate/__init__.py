"""The papers' experiments on overlays and broadcast, run in the runtime's simulator.

`plan` says which experiments run at which size; `runner` runs them, each in a virtual machine of
its own; `published` has what the papers report and why ours may differ; `report` puts both side by
side as `build/results/simulate.json` and tables; `pictures` draws them.
"""
