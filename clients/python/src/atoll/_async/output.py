"""An operation's output, followed by absolute offsets over lost connections: nothing is missing, nothing comes twice."""

from __future__ import annotations

import json
from typing import AsyncGenerator, Dict, Mapping, Optional, Union

import httpx

from ..output_chunk import OutputChunk
from ..schemas import Operation, OutputStream
from .api import AsyncApi
from .resumed import resumed


async def follow_output(
    api: AsyncApi, sandbox_id: str, operation_id: str, from_: Optional[Mapping[OutputStream, int]]
) -> AsyncGenerator[Union[OutputChunk, Operation], None]:
    """The ended operation, once all of its output has come."""
    at: Dict[OutputStream, int] = {"stdout": 0, "stderr": 0, **(from_ or {})}

    async def open_stream() -> httpx.Response:
        return await api.stream_operation_output(
            sandbox_id, operation_id, stdout_offset=at["stdout"], stderr_offset=at["stderr"]
        )

    events = resumed(open_stream)
    try:
        async for event in events:
            if event.event == "output":
                chunk = OutputChunk.from_event(event.data, at)
                at[chunk.stream] = chunk.next_offset
                yield chunk
            elif event.event == "operation":
                yield Operation.from_json(json.loads(event.data)["operation"])
                return
    finally:
        await events.aclose()
