"""Connections to Valkey cut, of this worker's processes and no other's: the server is all workers'."""

from config import valkey


def connections_cut(url: str, kind: str) -> None:
    """`kind` as in CLIENT LIST TYPE."""
    server = valkey.client(url)
    own = server.client_id()
    for client in server.client_list(_type=kind):
        if client["db"] == url.rpartition("/")[2] and int(client["id"]) != own:
            server.client_kill_filter(_id=client["id"])
