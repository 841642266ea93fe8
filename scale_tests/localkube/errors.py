"""The root of this package's errors."""


class LocalkubeError(Exception):
    """The cluster cannot do what was asked; the message says why and what to do."""
