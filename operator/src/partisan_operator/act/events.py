"""Writes Kubernetes Events about clusters."""

from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import FIELD_MANAGER, Kube
from partisan_operator.models import PartisanCluster
from partisan_operator.models.clock import to_wire, utc_now
from partisan_operator.models.cluster import KIND, PREFERRED
from partisan_operator.status.announcements import Announcement


async def announce(kube: Kube, cluster: PartisanCluster, announcement: Announcement) -> None:
    """Write an Event, or increment the count of an existing one. Raises `KubeError`.

    Its name is a digest of its contents, so that a new leader finds it too.
    """
    now = f"{to_wire(utc_now())[:19]}Z"
    name = f"{cluster.name}.{announcement.digest(cluster.uid)}"
    news = {"message": announcement.message[:1024], "lastTimestamp": now}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": cluster.namespace},
        "type": announcement.type,
        "reason": announcement.reason,
        "firstTimestamp": now,
        "count": 1,
        "source": {"component": FIELD_MANAGER},
        "reportingComponent": FIELD_MANAGER,
        "involvedObject": {
            "apiVersion": PREFERRED,
            "kind": KIND,
            "namespace": cluster.namespace,
            "name": cluster.name,
            "uid": cluster.uid,
        },
        **news,
    }
    try:
        await kube.create(event)
    except KubeError as error:
        if error.code != 409:
            raise
        earlier = await kube.get("Event", cluster.namespace, name)
        count = (earlier or {}).get("count") or 1
        await kube.merge("Event", cluster.namespace, name, {**news, "count": count + 1})
