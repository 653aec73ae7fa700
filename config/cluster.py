"""The nodes of a cluster, as its client has last seen them. One plain server is a cluster of one, without a name; one
that sentinels watch over is named by where it is now.
"""

from typing import Any

Target = dict[str, Any]  # what a command is given to go to one node; nothing where there is only one


def primaries(client: Any) -> list[Target]:
    return [{"target_nodes": node} for node in client.get_primaries()] if _is_cluster(client) else [{}]


def servers(client: Any) -> dict[str, Any]:
    """A client of its own for each primary."""
    if not _is_cluster(client):
        return {_whereabouts(client.connection_pool): client}
    return {node.name: client.get_redis_connection(node) for node in client.get_primaries()}


def node_of(client: Any, key: str) -> Target:
    """Who has a key. Left to itself the library would ask a server, each time, which arguments of a call are keys."""
    if not _is_cluster(client):
        return {}
    strategy = client.load_balancing_strategy
    slot = client.keyslot(key)
    return {"target_nodes": client.nodes_manager.get_node_from_slot(slot, load_balancing_strategy=strategy)}


def _is_cluster(client: Any) -> bool:
    return hasattr(client, "nodes_manager")


def _whereabouts(pool: Any) -> str:
    return "{}:{}".format(*pool.get_master_address()) if hasattr(pool, "get_master_address") else ""
