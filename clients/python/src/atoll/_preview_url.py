"""Addresses in a preview."""

from __future__ import annotations

from typing import Mapping, Optional

import httpx


def preview_url(own: str, path: str, params: Optional[Mapping[str, str]]) -> httpx.URL:
    """Of a path, or of a whole address of this preview. Fails with ValueError."""
    base = httpx.URL(own)
    url = base.join(path)
    if url.scheme in ("ws", "wss"):
        url = url.copy_with(scheme=base.scheme)
    if (url.scheme, url.netloc) != (base.scheme, base.netloc):
        raise ValueError(
            f'{path!r} is no address of this preview. Give a path, such as "/health". A preview has a separate host name '
            "and no path of the API's origin: pages there would share cookies with the console and with other previews."
        )
    return url if params is None else url.copy_merge_params(dict(params))
