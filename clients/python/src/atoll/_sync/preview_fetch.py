# Made by `npm run clients` from _async/preview_fetch.py. Not to be edited.
"""Requests to a preview, by way of the API's own address."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Union

import httpx

from ..errors import ConnectionError, Outcome
from .transport import Transport

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class PreviewTransport(httpx.BaseTransport):
    """Carries what is for the preview's host to the API's address. The host stays in the request, and is the server name of TLS (SNI)."""

    def __init__(self, inner: httpx.BaseTransport, origin: httpx.URL, host: str) -> None:
        self._inner = inner
        self._origin = origin
        self._host = host

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.host != self._host:
            return self._inner.handle_request(request)
        carried = httpx.Request(
            request.method,
            self._origin.copy_with(raw_path=request.url.raw_path),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": self._host},
        )
        return self._inner.handle_request(carried)

    def close(self) -> None:
        self._inner.close()


def fetch_preview(
    transport: Transport,
    url: httpx.URL,
    *,
    method: str,
    headers: Optional[Mapping[str, str]],
    content: Optional[Union[str, bytes]],
    json: Optional[Any],
    seconds: Optional[float],
) -> httpx.Response:
    """Follows redirects. Fails with ConnectionError."""
    inner = httpx.HTTPTransport(verify=transport.tls)
    carrier = PreviewTransport(inner, transport.origin, url.host)
    with httpx.Client(transport=carrier, timeout=seconds or transport.attempt_seconds) as http:
        try:
            return http.request(
                method, url, headers=dict(headers or {}), content=content, json=json, follow_redirects=True
            )
        except httpx.TransportError as thrown:
            outcome: Outcome = "notApplied" if isinstance(thrown, _NEVER_SENT) else "unknown"
            what = f"{method} {url}: the service was not reached, or cut the connection ({type(thrown).__name__}: {thrown})."
            raise ConnectionError(what, outcome) from thrown
