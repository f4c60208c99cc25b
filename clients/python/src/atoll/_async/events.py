"""Transitions as they are committed: each once, those of one actor in order, over lost connections."""

from __future__ import annotations

from typing import AsyncGenerator, Optional

import httpx

from ..transition_event import TransitionEvent
from .api import AsyncApi
from .resumed import resumed


async def follow_events(
    api: AsyncApi, sandbox_id: Optional[str], after: Optional[str]
) -> AsyncGenerator[TransitionEvent, None]:
    """sandbox_id None: the whole account's. Fails with CursorStaleError after a position that is older than the stored events."""
    position = after

    async def open_stream() -> httpx.Response:
        if sandbox_id is None:
            return await api.stream_events(after=position)
        return await api.stream_sandbox_events(sandbox_id, after=position)

    events = resumed(open_stream)
    try:
        async for event in events:
            position = event.id or position
            if event.event == "transition":
                yield TransitionEvent.from_event(event.data, event.id)
    finally:
        await events.aclose()
