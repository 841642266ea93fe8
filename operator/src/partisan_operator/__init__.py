"""An operator that runs clusters of Partisan overlay nodes on Kubernetes."""

__version__ = "0.2.0"
