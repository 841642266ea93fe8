"""`spec.restore`: the backup that the nodes start from."""

from pydantic import ConfigDict

from partisan_operator.models.base import Resource, one_of
from partisan_operator.models.names import ReferencedName

BACKUP_KEY = "backup"
"""The key that holds a backup in its ConfigMap or Secret."""


class Restore(Resource):
    """A backup of `kubectl partisan backup`, which every start of a node joins to the state.

    A union: the one member that is set names the object.
    """

    model_config = ConfigDict(
        json_schema_extra=one_of(
            ("configMap", "secret"),
            "restore needs exactly one of configMap and secret, the object with the backup: set"
            " one, or remove restore",
        )
    )

    config_map: ReferencedName | None = None
    """ConfigMap in the namespace of the cluster whose key `backup` holds the backup."""

    secret: ReferencedName | None = None
    """Secret in the namespace of the cluster whose key `backup` holds the backup."""
