"""The effect of faults on a running cluster: killed nodes, constant churn, a partitioned network.

`faults` injects them, `scenario` puts them in order, `timeline` has the samples; `result`,
`pictures` and `report` make figures, checks and a page of them.
"""
