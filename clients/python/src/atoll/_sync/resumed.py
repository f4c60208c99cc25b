# Made by `npm run clients` from _async/resumed.py. Not to be edited.
"""A stream of events that reconnects at its position whenever its connection is lost."""

from __future__ import annotations

import time
from typing import Callable, Generator

import httpx

from .._event_stream import EventStreamReader, ServerSentEvent
from ..errors import ConnectionError

_PAUSE_SECONDS = 0.25
_PAUSE_MAX_SECONDS = 5.0


def resumed(open_stream: Callable[[], httpx.Response]) -> Generator[ServerSentEvent, None, None]:
    """open_stream requests from the position that its caller keeps; its failure, except a lost connection, ends the stream."""
    in_vain = 0
    while True:
        try:
            answer = open_stream()
            reader = EventStreamReader()
            try:
                for data in answer.iter_bytes():
                    for event in reader.feed(data):
                        in_vain = 0
                        yield event
            finally:
                answer.close()
        except httpx.RequestError:
            pass
        except ConnectionError:
            if in_vain > 0:
                raise
        time.sleep(min(_PAUSE_MAX_SECONDS, _PAUSE_SECONDS * 2.0 ** min(in_vain, 10)))
        in_vain += 1
