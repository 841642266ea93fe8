"""The custom resource `PartisanCluster` as typed models.

These models are the only source of the resource's shape: its defaults, bounds, descriptions
and validation rules live here, and the CustomResourceDefinition is generated from them
(`python -m partisan_operator.models.crd`).
"""

from partisan_operator.models.cluster import PartisanCluster
from partisan_operator.models.spec import PartisanClusterSpec
from partisan_operator.models.status import PartisanClusterStatus

__all__ = ["PartisanCluster", "PartisanClusterSpec", "PartisanClusterStatus"]
