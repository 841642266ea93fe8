"""What failures do to a running cluster: killed nodes, constant churn, a network cut in two.

`faults` does it, `recorder` looks on, `programme` puts both in order; `result` and `report` make
figures, claims, pictures and a page of it.
"""
