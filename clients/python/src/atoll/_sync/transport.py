# Made by `npm run clients` from _async/transport.py. Not to be edited.
"""The requests of one client over httpx, retried where that cannot apply anything twice."""

from __future__ import annotations

import ssl
import time
from email.utils import parsedate_to_datetime
from typing import Any, Callable, Mapping, Optional, TypeVar

import httpx

from .._answers import decoded, error_of
from .._patience import Patience
from .._request import Content, Request
from ..errors import AtollError, ConnectionError
from .websocket import WebSocket

T = TypeVar("T")

_SILENT_MAX_SECONDS = 45.0
"""A heartbeat comes every 15 s: after three missed ones a stream counts as dead."""

_CLOCK_TOLERANCE_SECONDS = 5.0
"""Known in whole seconds: a smaller difference is none."""

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


class Transport:
    """Fails with AtollError, ConnectionError or UnreadableAnswer."""

    def __init__(
        self,
        http: httpx.Client,
        *,
        url: str,
        api_key: str,
        tls: ssl.SSLContext,
        attempt_seconds: float,
        patience_seconds: float,
        user_agent: str,
    ) -> None:
        self._http = http
        self._tls = tls
        self._ahead_seconds = 0.0
        self._url = url.rstrip("/")
        self._headers = {
            "Accept": "*/*",
            # Compression in a Sandbox takes more time than it saves: an archive would take ten times as long.
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {api_key}",
            "User-Agent": user_agent,
        }
        self._attempt_seconds = attempt_seconds
        self._patience_seconds = patience_seconds

    def json(self, request: Request, decode: Callable[[Any], T], attempt_seconds: Optional[float] = None) -> T:
        return decoded(self._answer(request, attempt_seconds), decode)

    def nothing(self, request: Request, attempt_seconds: Optional[float] = None) -> None:
        self._answer(request, attempt_seconds)

    def content(self, request: Request, attempt_seconds: Optional[float] = None) -> Content:
        answer = self._answer(request, attempt_seconds)
        return Content(answer.content, answer.headers)

    def open(self, request: Request) -> httpx.Response:
        """An unread stream; its reader closes it, and handles a connection that is lost meanwhile."""
        return self._answer(request, _SILENT_MAX_SECONDS, is_stream=True)

    def connect(
        self, path: str, query: Mapping[str, object], protocol: str, token: Optional[str] = None
    ) -> WebSocket:
        """A WebSocket. token: a capability instead of the API key."""
        headers = self._headers if token is None else {**self._headers, "Authorization": f"Bearer {token}"}
        given = {name: str(value) for name, value in query.items() if value is not None}
        url = httpx.URL(self._url + path, params=given)
        patience = Patience(self._patience_seconds)
        while True:
            try:
                return WebSocket.open(
                    url, protocol=protocol, headers=headers, tls=self._tls, seconds=self._attempt_seconds
                )
            except (AtollError, ConnectionError) as fault:
                # Its effects ended with its connection.
                pause = patience.pause_after(fault, is_repeatable=True)
                if pause is None:
                    raise
            time.sleep(pause)

    @property
    def origin(self) -> httpx.URL:
        return httpx.URL(self._url).copy_with(raw_path=b"/")

    @property
    def tls(self) -> ssl.SSLContext:
        return self._tls

    @property
    def attempt_seconds(self) -> float:
        return self._attempt_seconds

    def now(self) -> float:
        """The service's time of day, by its last answer, to the second. Seconds since 1970."""
        return time.time() + self._ahead_seconds

    def _note_clock(self, answer: httpx.Response) -> None:
        told = parsedate_to_datetime(answer.headers["Date"]) if "Date" in answer.headers else None
        ahead = 0.0 if told is None else told.timestamp() - time.time()
        self._ahead_seconds = 0.0 if abs(ahead) < _CLOCK_TOLERANCE_SECONDS else ahead

    def _answer(
        self, request: Request, attempt_seconds: Optional[float], *, is_stream: bool = False
    ) -> httpx.Response:
        """Of status 2xx."""
        patience = Patience(self._patience_seconds)
        while True:
            try:
                return self._attempt(request, attempt_seconds or self._attempt_seconds, is_stream)
            except (AtollError, ConnectionError) as fault:
                pause = patience.pause_after(fault, request.is_repeatable)
                if pause is None:
                    raise
            time.sleep(pause)

    def _attempt(self, request: Request, seconds: float, is_stream: bool) -> httpx.Response:
        sent = self._http.build_request(
            request.method,
            self._url + request.filled_path,
            params=request.parameters,
            headers={**self._headers, **request.sent_headers},
            content=request.body,
            timeout=seconds,
        )
        try:
            answer = self._http.send(sent, stream=is_stream, follow_redirects=False)
            self._note_clock(answer)
            if answer.is_success and is_stream:
                return answer
            if is_stream:
                _read_to_end(answer)
            # The answer and its stream reference each other: read bytes would stay until the cycle collector runs.
            answer.stream = httpx.ByteStream(b"")
            if answer.is_success:
                return answer
        except httpx.UnsupportedProtocol:
            raise
        except httpx.RequestError as thrown:
            raise _lost(request, seconds, thrown) from thrown
        raise error_of(answer)


def _read_to_end(answer: httpx.Response) -> None:
    try:
        answer.read()
    finally:
        answer.close()


def _lost(request: Request, seconds: float, thrown: httpx.RequestError) -> ConnectionError:
    is_late = isinstance(thrown, httpx.TimeoutException)
    why = f"no answer within {seconds:g} s" if is_late else "the service was not reached, or cut the connection"
    message = f"{request.method} {request.filled_path}: {why} ({type(thrown).__name__}: {thrown})."
    return ConnectionError(message, "notApplied" if isinstance(thrown, _NEVER_SENT) else "unknown")
