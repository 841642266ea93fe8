"""The operator on a real control plane with simulated pods.

etcd, API server, controller-manager and scheduler are those of `localkube`; KWOK simulates nodes
and pods, and `stand_in` answers for the Erlang nodes. All processes run in namespaces of their own
(`confinement`) and end with the measurement. `operator_process` is the object of the measurement;
`audit` (the API server's log) and `exposition` (its own metrics) yield the figures.
"""
