"""The operator on a real control plane with simulated pods.

etcd, API server, controller-manager and scheduler are those of `localkube`; KWOK simulates machines
and pods, and `stand_in` answers for the nodes. Everything lives in namespaces of its own
(`confinement`) and ends with the measurement. `operator_process` is what is measured; `audit` (the
API server's log) and `exposition` (its own metrics) measure its work.
"""
