"""Settings of the installation that apply to all clusters."""

from dataclasses import dataclass

from partisan_operator.models.pods import ALLOWED_ANNOTATIONS


@dataclass(frozen=True)
class Installation:
    """Settings of the operator that apply to every cluster."""

    node_image: str
    """The image of clusters whose `spec.image` is empty."""

    allowed_annotations: tuple[str, ...] = ALLOWED_ANNOTATIONS
    """Keys of annotations that clusters may give their pods: exact, `DOMAIN/*`, or `*` for all."""

    nodes_monitored: bool = False
    """Whether a PodMonitor of the installation selects the nodes of all clusters."""
