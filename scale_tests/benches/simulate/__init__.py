"""The papers' experiments on overlays and broadcast, run in the runtime's simulator.

`plan` lists the experiments and their sizes; `runner` runs them, each in a virtual machine of its
own; `published` has the papers' results and reasons for differences; `report` puts both side by
side as `build/results/simulate.json` and tables; `pictures` draws them.
"""
