"""A client of one Atoll service with one API key."""

from __future__ import annotations

import os
import re
import ssl
from types import TracebackType
from typing import AsyncGenerator, Optional, Type

import httpx

from .._version import __version__
from ..schemas import DESCRIPTION_VERSION, Me
from ..transition_event import TransitionEvent
from .api import AsyncApi
from .events import follow_events
from .images import AsyncImages
from .sandboxes import AsyncSandboxes
from .snapshots import AsyncSnapshots
from .transport import AsyncTransport
from .usage import AsyncUsage
from .workspaces import AsyncWorkspaces

_KEY_FORM = re.compile(r"[\x21-\x7e]+")


class AsyncAtoll:
    """
    async with AsyncAtoll() as atoll:
        async with atoll.sandboxes.create() as sandbox:
            result = await sandbox.run(["python3", "-c", "print(6 * 7)"])

    At the end of the block its connections are closed; `aclose` does the same.

    api_key: by default the environment's ATOLL_API_KEY.
    url: without `/api/v2`; by default the environment's ATOLL_URL, else http://127.0.0.1:8080.
    attempt_seconds: how long one attempt of a request waits for the service: to connect, and for the next part of its answer.
        Not a command's time-out.
    patience_seconds: how long a request is retried while the service is away or a rate limit holds. 0: no retries.
    ssl_context: for a service whose certificate is not publicly trusted.
    http_client: your own client (proxies); this one does not close it. Terminals and tunnels do not use it.
    """

    sandboxes: AsyncSandboxes
    snapshots: AsyncSnapshots
    images: AsyncImages
    workspaces: AsyncWorkspaces
    usage: AsyncUsage
    api: AsyncApi
    """Every operation of the service's description, with the same retries after lost connections."""

    def __init__(
        self,
        *,
        api_key: Optional[str] = None,
        url: Optional[str] = None,
        attempt_seconds: float = 30,
        patience_seconds: float = 60,
        ssl_context: Optional[ssl.SSLContext] = None,
        http_client: Optional[httpx.AsyncClient] = None,
    ) -> None:
        key = api_key or os.environ.get("ATOLL_API_KEY")
        if not key:
            raise ValueError("No API key: give api_key, or set ATOLL_API_KEY.")
        if not _KEY_FORM.fullmatch(key):
            raise ValueError("The API key has characters that no key has: a line end, perhaps.")
        at = url or os.environ.get("ATOLL_URL") or "http://127.0.0.1:8080"
        if not at.lower().startswith(("http://", "https://")):
            raise ValueError(f"The service's URL begins with http:// or https://; {at!r} does not.")
        # A program that watches many Sandboxes has as many streams. The service keeps an idle connection for 65 s.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=30)
        tls = ssl_context or ssl.create_default_context()
        http = http_client or httpx.AsyncClient(limits=limits, verify=ssl_context or True)
        self._own = http if http_client is None else None
        transport = AsyncTransport(
            http,
            url=at,
            api_key=key,
            tls=tls,
            attempt_seconds=attempt_seconds,
            patience_seconds=patience_seconds,
            user_agent=f"atoll-python/{__version__} (description {DESCRIPTION_VERSION})",
        )
        self.api = AsyncApi(transport)
        self.workspaces = AsyncWorkspaces(self.api)
        self.sandboxes = AsyncSandboxes(self.api, self.workspaces)
        self.snapshots = AsyncSnapshots(self.api, self.workspaces)
        self.images = AsyncImages(self.api, self.workspaces)
        self.usage = AsyncUsage(self.api)

    async def me(self) -> Me:
        """The key's account, and its scopes."""
        return await self.api.get_me()

    def events(self, *, after: Optional[str] = None) -> AsyncGenerator[TransitionEvent, None]:
        """Every transition in the account, from now on or after a position. Each once, over lost connections."""
        return follow_events(self.api, None, after)

    async def aclose(self) -> None:
        """Closes the connections. Processes in Sandboxes go on."""
        if self._own is not None:
            await self._own.aclose()

    async def __aenter__(self) -> AsyncAtoll:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.aclose()
