"""A running cluster upgraded from an earlier revision: operator, chart, CRD and nodes.

`python -m scale_tests upgrade REVISION` builds that revision's images with its own builder, runs a
counting cluster with its chart, upgrades to this checkout while it counts, and writes
`build/results/upgrade.json`.

`earlier` builds the revision, `rolling` upgrades and samples, `report` computes what came of it.
"""
