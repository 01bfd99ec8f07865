"""Asks a cluster's head about itself, in milliseconds and without joining the cluster."""

from __future__ import annotations

import os
import socket
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypedDict

from trainer.protocol.failures import Failure

# The cluster's HOST:PORT and the file with its token, in the environment of every trainer of the service.
ADDRESS = "HONE_CLUSTER"
TOKEN_FILE = "HONE_CLUSTER_FILE"

# How long a head may take to accept a connection, and to answer.
CONNECT_SECONDS = 0.2
ANSWER_SECONDS = 5.0

NO_RAY = "Ray is not installed in trainer/.venv."

NODES = "/ray.rpc.NodeInfoGcsService/"
RESOURCES = "/ray.rpc.NodeResourceInfoGcsService/"


def wanted() -> str | None:
    """The HOST:PORT of the cluster that the service was started with, or None."""
    return os.environ.get(ADDRESS) or None


def why_no_cluster() -> str | None:
    """Why this machine uses no cluster, whatever its head says; None where it uses one."""
    if find_spec("ray") is None:
        return NO_RAY
    return None if wanted() else "Hone was started without --cluster."


def token() -> str:
    """The cluster's token; Failure `cluster_unavailable` when there is none."""
    path = os.environ.get(TOKEN_FILE)
    try:
        found = Path(path).read_text(encoding="utf-8").strip() if path else ""
    except OSError as error:
        raise unavailable(f"The cluster's token cannot be read: {error}.") from error
    if not found:
        raise unavailable("The cluster's token is missing.")
    return found


class Node(TypedDict):
    """A node of the cluster, with its cores and GPUs, and those that are free."""

    address: str
    cpus: int
    gpus: int
    free_cpus: int
    free_gpus: int


def look(address: str) -> list[Node]:
    """The nodes of the cluster at `address`, the head first: `address`, `cpus`, `gpus`, `free_cpus`
    and `free_gpus` of each.

    Failure `cluster_unavailable` with the reason: no Ray here, nothing that answers, a wrong token, none at
    all, another version of Ray.
    """
    if find_spec("ray") is None:
        raise unavailable(NO_RAY, "Run `npm start` again. There is no Ray for macOS on Intel processors.")
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise unavailable(f"Nothing answers at {address}: {error}.") from error
    import grpc

    from trainer.libraries.ray import head_messages

    messages = head_messages()
    with grpc.insecure_channel(address) as channel:

        def ask(method: str, reply: Any, authorized: bool = True) -> Any:
            call = channel.unary_unary(
                method, request_serializer=bytes, response_deserializer=reply.FromString
            )
            credentials = [("authorization", f"Bearer {token()}")] if authorized else []
            return call(b"", timeout=ANSWER_SECONDS, metadata=credentials)

        try:
            ask(f"{NODES}CheckAlive", messages.CheckAliveReply, authorized=False)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAUTHENTICATED:
                raise unavailable(f"{address} does not answer as a Ray head: {error.details()}.") from error
        else:
            raise unavailable(
                f"The cluster at {address} asks for no token: whoever reaches it can run programs on it.",
                "Start it with `hone cluster start`, or with RAY_AUTH_MODE=token.",
            )
        try:
            theirs = ask(f"{NODES}CheckAlive", messages.CheckAliveReply).ray_version
            nodes = ask(f"{NODES}GetAllNodeInfo", messages.GetAllNodeInfoReply).node_info_list
            free = ask(f"{RESOURCES}GetAllAvailableResources", messages.GetAllAvailableResourcesReply)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAUTHENTICATED:
                raise unavailable(f"{address} does not answer: {error.details()}.") from error
            raise unavailable(
                f"The cluster at {address} does not accept the token.",
                "Copy the file cluster/token of the head's data folder to this machine's data folder.",
            ) from error
    ours = metadata.version("ray")
    if theirs != ours:
        raise unavailable(
            f"The cluster at {address} runs Ray {theirs}, and this machine has {ours}.",
            "Use the same version of Hone on all machines.",
        )
    left = {node.node_id: node.resources_available for node in free.resources_list}
    return [
        {
            "address": node.node_manager_address,
            "cpus": int(node.resources_total.get("CPU", 0)),
            "gpus": int(node.resources_total.get("GPU", 0)),
            "free_cpus": int(left.get(node.node_id, {}).get("CPU", 0)),
            "free_gpus": int(left.get(node.node_id, {}).get("GPU", 0)),
        }
        for node in sorted(nodes, key=lambda node: (not node.is_head_node, node.node_manager_address))
        if node.state == 0
    ]


def state() -> dict[str, object]:
    """The answer of `python -m trainer cluster`: the nodes of the cluster, or why it cannot be used."""
    where = wanted() or ""
    try:
        return {"address": where, "available": True, "reason": None, "nodes": look(where)}
    except Failure as failure:
        reason = f"{failure.message} {failure.advice}"
        return {"address": where, "available": False, "reason": reason, "nodes": []}


def unavailable(message: str, advice: str | None = None) -> Failure:
    """The Failure `cluster_unavailable`."""
    return Failure("cluster_unavailable", message, advice)
