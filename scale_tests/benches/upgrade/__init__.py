"""A running cluster upgraded from an earlier revision: operator, chart, CRD and nodes.

`earlier` builds the revision's images with its own builder, `rolling` runs a counting cluster with
its chart, upgrades to this checkout and samples; `report` has targets.
"""
