"""`spec.pods.override`: fields of a pod that `spec.pods` lacks."""

from typing import Any

from pydantic import Field

from partisan_operator.models.base import Resource


class PodOverride(Resource):
    """A patch of the pods. It adds, and changes nothing that the operator or another field sets."""

    spec: dict[str, Any] = Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
    """Fields of a pod's spec. Objects merge by field, lists such as `containers` and `volumes` by
    name; the node's container is `node`."""
