"""A real Kubernetes on one bare Linux machine, with no Docker engine and no registry.

`python -m scale_tests.localkube up` builds the pinned Kubernetes programs (once, then they are
cached), starts them beside a containerd of their own, and waits until pods can run. `down` leaves
nothing behind. All of it is the standard library of Python 3.11, so that it runs before anything
is installed.

How the parts fit: `settings` says where everything lives; `configs` and `components` turn that
into files and command lines (pure); `processes` starts and stops them; `network`, `cgroups` and
`leftovers` prepare the machine and clean it; `cluster` puts the steps in order.

What it does not do: NetworkPolicy objects are accepted but nothing enforces them; there is one
node, one etcd member, and no cloud provider or storage class; Pod Security admission runs with its
defaults (everything is allowed unless a namespace's labels say otherwise).
"""
