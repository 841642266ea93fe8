"""The root of this package's errors."""


class LocalkubeError(Exception):
    """The request failed; the message names the reason and the remedy."""
