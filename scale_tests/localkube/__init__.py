"""A real Kubernetes on one bare Linux machine, with no Docker engine and no registry.

`python -m scale_tests.localkube up` builds the pinned Kubernetes programs (once, then they are
cached), starts them beside a containerd of their own, and waits until pods can run. `down` leaves
nothing behind. All of it is the standard library of Python 3.11, so that it runs before anything
is installed.

How the parts fit: `settings` says where everything lives; `configs` and `components` turn that
into files and command lines (pure); `processes` starts and stops them; `network`, `cgroups` and
`leftovers` prepare the machine and clean it; `cluster` puts the steps in order.

There is one node, the machine itself. `up --nodes 3` adds two (`nodes`), each a network namespace
on a routed link (`links`), in three zones; `outage` makes a node fail, `partition` keeps nodes or
pods from reaching each other.

What it does not do: NetworkPolicy objects are accepted but nothing enforces them; there is one
etcd member, and no cloud provider or storage class; all nodes share the machine's processors,
memory and file system, and each says that it has them all; Pod Security admission runs with its
defaults (everything is allowed unless a namespace's labels say otherwise).
"""
