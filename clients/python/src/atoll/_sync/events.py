# Made by `npm run clients` from _async/events.py. Not to be edited.
"""Transitions as they are committed: each once, those of one actor in order, over lost connections."""

from __future__ import annotations

from typing import Generator, Optional

import httpx

from ..transition_event import TransitionEvent
from .api import Api
from .resumed import resumed


def follow_events(
    api: Api, sandbox_id: Optional[str], after: Optional[str]
) -> Generator[TransitionEvent, None, None]:
    """sandbox_id None: the whole account's. Fails with CursorStaleError after a position that is older than the stored events."""
    position = after

    def open_stream() -> httpx.Response:
        if sandbox_id is None:
            return api.stream_events(after=position)
        return api.stream_sandbox_events(sandbox_id, after=position)

    events = resumed(open_stream)
    try:
        for event in events:
            position = event.id or position
            if event.event == "transition":
                yield TransitionEvent.from_event(event.data, event.id)
    finally:
        events.close()
