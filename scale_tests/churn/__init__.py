"""What failures do to a running cluster: nodes killed one by one and at once, the network cut.

`faults` does it, `recorder` looks on, `programme` puts both in order; `result` and `report` make
figures, claims, pictures and a page of it.
"""
