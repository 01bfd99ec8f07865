"""What Hone uses of Ray beside its public interface. All machines of a cluster must have the same version,
which `engines/cluster/address.py` compares, and names both where they differ."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ray.actor import ActorHandle
    from ray.exceptions import RayActorError


def head_messages() -> ModuleType:
    """The messages of a head's RPC service. Ray's public clients do not tell a wrong token from none, and
    print what they think of it."""
    from ray.core.generated import gcs_service_pb2

    return gcs_service_pb2


def is_of(error: RayActorError, actor: ActorHandle) -> bool:
    """Whether `error` is about `actor`: errors name an actor by its id, which a handle does not tell."""
    return getattr(error, "actor_id", None) == actor._actor_id.hex()
