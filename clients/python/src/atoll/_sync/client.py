# Made by `npm run clients` from _async/client.py. Not to be edited.
"""A client of one Atoll service with one API key."""

from __future__ import annotations

import os
import re
import ssl
from types import TracebackType
from typing import Generator, Optional, Type

import httpx

from .._version import __version__
from ..schemas import DESCRIPTION_VERSION, Me
from ..transition_event import TransitionEvent
from .api import Api
from .events import follow_events
from .images import Images
from .sandboxes import Sandboxes
from .snapshots import Snapshots
from .transport import Transport
from .usage import Usage
from .workspaces import Workspaces

_KEY_FORM = re.compile(r"[\x21-\x7e]+")


class Atoll:
    """
    with Atoll() as atoll:
        with atoll.sandboxes.create() as sandbox:
            result = sandbox.run(["python3", "-c", "print(6 * 7)"])

    At the end of the block its connections are closed; `close` does the same.

    api_key: by default the environment's ATOLL_API_KEY.
    url: without `/api/v2`; by default the environment's ATOLL_URL, else http://127.0.0.1:8080.
    attempt_seconds: how long one attempt of a request waits for the service: to connect, and for the next part of its answer.
        Not a command's time-out.
    patience_seconds: how long a request is retried while the service is away or a rate limit holds. 0: no retries.
    ssl_context: for a service whose certificate is not publicly trusted.
    http_client: your own client (proxies); this one does not close it. Terminals and tunnels do not use it.
    """

    sandboxes: Sandboxes
    snapshots: Snapshots
    images: Images
    workspaces: Workspaces
    usage: Usage
    api: Api
    """Every operation of the service's description, with the same retries after lost connections."""

    def __init__(
        self,
        *,
        api_key: Optional[str] = None,
        url: Optional[str] = None,
        attempt_seconds: float = 30,
        patience_seconds: float = 60,
        ssl_context: Optional[ssl.SSLContext] = None,
        http_client: Optional[httpx.Client] = None,
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
        http = http_client or httpx.Client(limits=limits, verify=ssl_context or True)
        self._own = http if http_client is None else None
        transport = Transport(
            http,
            url=at,
            api_key=key,
            tls=tls,
            attempt_seconds=attempt_seconds,
            patience_seconds=patience_seconds,
            user_agent=f"atoll-python/{__version__} (description {DESCRIPTION_VERSION})",
        )
        self.api = Api(transport)
        self.workspaces = Workspaces(self.api)
        self.sandboxes = Sandboxes(self.api, self.workspaces)
        self.snapshots = Snapshots(self.api, self.workspaces)
        self.images = Images(self.api, self.workspaces)
        self.usage = Usage(self.api)

    def me(self) -> Me:
        """The key's account, and its scopes."""
        return self.api.get_me()

    def events(self, *, after: Optional[str] = None) -> Generator[TransitionEvent, None, None]:
        """Every transition in the account, from now on or after a position. Each once, over lost connections."""
        return follow_events(self.api, None, after)

    def close(self) -> None:
        """Closes the connections. Processes in Sandboxes go on."""
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> Atoll:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()
