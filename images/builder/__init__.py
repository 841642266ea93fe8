"""Builds the images of nodes and operator, with or without a registry.

`python -m images.builder build` makes stand-ins for the official base images from the Debian
packages of this machine's apt, builds the Dockerfiles of `images/` on them, and writes OCI archives
to `build/images`, if anything has changed. `push REGISTRY` pushes them. `catalogue` lists the
images; `bases` makes the stand-ins; `wheels` fetches the operator's packages.
"""
