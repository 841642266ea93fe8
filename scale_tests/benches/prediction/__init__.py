"""Predictions compared with real runs.

Each real cell (`python -m scale_tests experiments run`) keeps the PartisanCluster that it was.
`compare` plans that very cluster and sets the figures side by side; `report` and `pictures`
show them.
"""
