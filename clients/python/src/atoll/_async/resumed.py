"""A stream of events that reconnects at its position whenever its connection is lost."""

from __future__ import annotations

import asyncio
from typing import AsyncGenerator, Awaitable, Callable

import httpx

from .._event_stream import EventStreamReader, ServerSentEvent
from ..errors import ConnectionError

_PAUSE_SECONDS = 0.25
_PAUSE_MAX_SECONDS = 5.0


async def resumed(open_stream: Callable[[], Awaitable[httpx.Response]]) -> AsyncGenerator[ServerSentEvent, None]:
    """open_stream requests from the position that its caller keeps; its failure, except a lost connection, ends the stream."""
    in_vain = 0
    while True:
        try:
            answer = await open_stream()
            reader = EventStreamReader()
            try:
                async for data in answer.aiter_bytes():
                    for event in reader.feed(data):
                        in_vain = 0
                        yield event
            finally:
                await answer.aclose()
        except httpx.RequestError:
            pass
        except ConnectionError:
            if in_vain > 0:
                raise
        await asyncio.sleep(min(_PAUSE_MAX_SECONDS, _PAUSE_SECONDS * 2.0 ** min(in_vain, 10)))
        in_vain += 1
