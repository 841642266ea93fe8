"""The operator on a real control plane with simulated pods.

etcd, the API server, the controller-manager and the scheduler are those of `localkube`; KWOK says
of machines and pods that they run, and nothing runs: no kubelet, no container, no Erlang. What the
operator asks of nodes, the stand-in of this package answers in their place. All of it lives in
namespaces of its own (`confinement`), beside whatever runs on the machine, and ends with the
measurement.

How the parts fit: `confinement` makes the place, `control_plane` fills it, `machines` and
`stand_in` are the simulation, `operator_process` is what is measured, `audit` and `exposition` tell
what it did, by the API server's account and by its own. `measure.kwok` makes a bench of it.
"""
