"""`make demo`: a bare machine, or one's own cluster, to a converged overlay of 32 nodes.

`flow` goes through the steps, `sampler` observes the cluster, `live` shows it, `diagnosis` says
why a run does not go on, `result` computes and `report` writes what came out, and `pictures`
draws it.
"""
