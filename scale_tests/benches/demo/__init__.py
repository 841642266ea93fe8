"""`make demo`: a bare machine, or one's own cluster, to a converged overlay of 32 nodes.

`flow` goes through the steps, `live` shows the samples, `result` computes, `report` writes and
`pictures` draws the result.
"""
