"""A real Kubernetes on one bare Linux machine: no Docker engine, no registry.

`python -m scale_tests.localkube up` builds the pinned Kubernetes programs once, starts them and a
containerd of their own, and waits until pods can run; `down` removes every trace. It uses the
standard library of Python 3.11 alone, so that it runs before anything is installed.

`settings` places everything; `configs` and `components` turn that into files and command lines
(pure); `processes` starts and stops them; `network`, `cgroups` and `leftovers` prepare and clean
the machine; `cluster` orders the steps. The first node is the machine itself; `up --nodes 3` adds
two (`nodes`), each a network namespace on a routed link. `provisioner` makes persistent
volumes. `outage` makes a node fail, `partition` separates nodes or pods.

Limits: NetworkPolicies are not enforced; one etcd member, no cloud provider; volumes have no size;
nodes share processors, memory and file system, and each reports all of them; Pod Security admission
has its defaults.
"""
