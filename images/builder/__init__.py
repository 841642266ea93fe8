"""Builds the images of the node and the operator, with or without a registry.

`python -m images.builder build` makes stand-ins for the official base images from the Debian
packages that this machine's own apt offers, builds the Dockerfiles of `images/` on them, and
writes OCI archives to `build/images`. What has not changed is not built again.
`python -m images.builder push REGISTRY` pushes the archives.

How the parts fit: `catalogue` says what the images are made of; `bases` makes the stand-ins;
`wheels` fetches the operator's packages; `build` runs the Dockerfiles and writes the archives.
"""
