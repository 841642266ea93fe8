"""The error that every request to the API server may raise."""


class KubeError(Exception):
    """The API server refused a request, or did not answer."""

    def __init__(self, code: int, message: str, request: str = "") -> None:
        """Make an error; `code` is the HTTP status, 0 when there was no answer.

        `request` describes it, such as `apply ConfigMap ads-config`.
        """
        super().__init__(message)
        self.code = code
        self.request = request

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed a moment later.

        Not certain: the API server answers 500 to an apply of a wrong structure too.
        """
        return self.code in (0, 409, 429) or self.code >= 500

    @property
    def out_of_reach(self) -> bool:
        """Whether the kind is not served, or not permitted to this operator."""
        return self.code in (403, 404)
