"""TCP connections to the ports of one Sandbox, and the service's capability for each port, which opens them for an hour."""

from __future__ import annotations

import datetime
import time
import uuid
from typing import Dict, Set, Tuple

from .._turn import AsyncTurn
from ..service_errors import NotFoundError, UnauthenticatedError
from .api import AsyncApi
from .tunnel import AsyncTunnel

_FRESH_SECONDS = 600.0
"""Connections are cut when the access that opened them ends, after an hour: so each gets most of an hour."""


class AsyncTunnels:
    def __init__(self, api: AsyncApi, sandbox_id: str) -> None:
        self._api = api
        self._id = sandbox_id
        self._accesses: Dict[int, Tuple[str, str, float]] = {}
        """By port: the access's id, its capability, and until when it is fresh."""
        self._granted: Set[str] = set()
        # Concurrent callers share one access.
        self._asking = AsyncTurn()

    async def open(self, port: int) -> AsyncTunnel:
        try:
            return await self._connected(port)
        except UnauthenticatedError:
            # It ended early: it was revoked, or the Sandbox restarted.
            if self._accesses.pop(port, None) is None:
                raise
            return await self._connected(port)

    async def ready(self, port: int) -> None:
        """Fails where the service would refuse a tunnel to this port. Connects to nothing in the Sandbox."""
        await self._access(port)

    async def revoke(self) -> None:
        """Ends all accesses of this object, and their connections."""
        self._accesses.clear()
        while self._granted:
            access = self._granted.pop()
            try:
                await self._api.revoke_service_access(self._id, access)
            except NotFoundError:
                pass
            except BaseException:
                self._granted.add(access)
                raise

    async def _connected(self, port: int) -> AsyncTunnel:
        access, capability = await self._access(port)
        # Connections of one client live together: a newer client replaces the older.
        query = {"port": port, "client": access}
        connection = await self._api.transport.connect("/api/v2/tunnel", query, "atoll.tunnel", capability)
        return AsyncTunnel(connection)

    async def _access(self, port: int) -> Tuple[str, str]:
        async with self._asking:
            known = self._accesses.get(port)
            if known is not None and time.monotonic() < known[2]:
                return known[0], known[1]
            access = str(uuid.uuid4())
            now = datetime.datetime.fromtimestamp(self._api.transport.now(), datetime.timezone.utc)
            envelope = await self._api.create_service_access(
                self._id,
                idempotency_key=access,
                requested_at=now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                ports=[port],
            )
            self._granted.add(access)
            self._accesses[port] = (access, envelope.capability, time.monotonic() + _FRESH_SECONDS)
            return access, envelope.capability
