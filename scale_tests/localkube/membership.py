"""Nodes that leave a running cluster, and nodes of it that run no pods.

A node that leaves is gone like a machine that is switched off for good.
"""

from scale_tests.localkube import cgroups, leftovers, network, outage
from scale_tests.localkube.api import Client
from scale_tests.localkube.nodes import Node, possible
from scale_tests.localkube.settings import Settings


def take_away(settings: Settings) -> bool:
    """Removes the nodes that are no longer asked for; whether there were any.

    Raises ExpectedError, which names what does not go.
    """
    beyond = possible(settings)[settings.nodes :]
    removed = [node for node in beyond if node.state.exists() or node.run.exists()]
    for node in removed:
        print(f"  {node.name}: taking it away", flush=True)
        cgroups.kill_all(node.cgroup)
        leftovers.unmount_all(node.state, node.run)
        network.disconnect(node)
        outage.end(node)
        cgroups.remove(node.cgroup)
        leftovers.remove_node_files(settings, node)
    return bool(removed)


def forget(settings: Settings, client: Client) -> None:
    """Deletes the Node objects of removed nodes. Raises ApiError.

    The controller-manager deletes their pods within a minute.
    """
    removed = {node.name for node in possible(settings)[settings.nodes :]}
    known = {item["metadata"]["name"] for item in client.get("/api/v1/nodes")["items"]}
    for name in sorted(known & removed):
        client.delete(f"/api/v1/nodes/{name}")


def obstacle(client: Client, node: Node) -> str:
    """The reason why a node runs no pods; empty if it does. Raises ApiError."""
    known = client.get(f"/api/v1/nodes/{node.name}")
    ready = [c for c in known["status"].get("conditions", []) if c["type"] == "Ready"]
    if not ready or ready[0]["status"] != "True":
        reason = ready[0]["message"] if ready else "it has not reported yet"
        return f"node {node.name} is not ready: {reason}"
    own = {taint["key"] for taint in node.taints}
    if others := [t for t in known["spec"].get("taints", ()) if t["key"] not in own]:
        return f"node {node.name} is still tainted: {others}"
    return ""
