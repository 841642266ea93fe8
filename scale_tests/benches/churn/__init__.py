"""The effect of faults on a running cluster: killed nodes, constant churn, a partitioned network.

`faults` injects them, `scenario` runs them in order, `timeline` has the samples; `result`,
`pictures` and `report` turn them into figures, checks and a page.
"""
