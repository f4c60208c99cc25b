# Made by `npm run clients` from _async/operation.py. Not to be edited.
"""A command that runs in a Sandbox, with or without a waiting client."""

from __future__ import annotations

import time
from typing import Generator, Iterator, Mapping, Optional

from ..errors import WaitTimeout
from ..output_chunk import OutputChunk
from ..schemas import Operation as OperationRecord
from ..schemas import OperationOutputChunk, OutputStream, Transition
from .api import Api
from .output import follow_output
from .paged import paged

_WAIT_MAX_SECONDS = 30.0
"""The longest wait of one request."""

_TERMINAL = ("completed", "cancelled", "failed")


class Operation:
    id: str
    sandbox_id: str
    record: OperationRecord
    """As the service's last answer has it."""

    def __init__(self, api: Api, record: OperationRecord) -> None:
        self._api = api
        self.record = record
        self.id = record.id
        self.sandbox_id = record.sandbox_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.record.status}>"

    def refresh(self) -> OperationRecord:
        self.record = self._api.get_operation(self.sandbox_id, self.id).operation
        return self.record

    def wait(self, *, within_seconds: Optional[float] = None) -> OperationRecord:
        """Waits until it is completed, cancelled or failed.

        within_seconds: how long to wait; then it fails with WaitTimeout, and the command goes on. By default until the operation has ended.
        """
        until = None if within_seconds is None else time.monotonic() + within_seconds
        while True:
            left = _WAIT_MAX_SECONDS if until is None else max(0.0, until - time.monotonic())
            once = min(_WAIT_MAX_SECONDS, left)
            answer = self._api.wait_operation(
                self.sandbox_id, self.id, timeout_seconds=once, attempt_seconds=once + 15
            )
            self.record = answer.operation
            if self.record.status in _TERMINAL:
                return self.record
            if until is not None and time.monotonic() >= until:
                raise WaitTimeout(f"The operation {self.id} is {self.record.status} after {within_seconds} s; it goes on.")

    def cancel(self) -> OperationRecord:
        """Ends the command: TERM to its whole tree, and KILL after 2 s. An operation that had ended before keeps its result."""
        self.record = self._api.cancel_operation(self.sandbox_id, self.id).operation
        return self.record

    def output(self, *, from_: Optional[Mapping[OutputStream, int]] = None) -> Generator[OutputChunk, None, None]:
        """Its output as it is written, until the operation has ended and all output was yielded:

            for chunk in operation.output():
                print(chunk.stream, chunk.offset, chunk.data)

        A lost connection is reopened at its offset. At the end `record` is the ended operation.

        The service keeps only the end of each stream (16 MiB by default). A chunk after a gap is `truncated`, and
        its `missing_bytes` counts the gap; such a chunk may itself be empty. To miss nothing, fail on the first one.

        from_: absolute byte offsets to begin at, such as `{"stdout": 1000}`.
        """
        told = follow_output(self._api, self.sandbox_id, self.id, from_)
        try:
            for one in told:
                if isinstance(one, OutputChunk):
                    yield one
                else:
                    self.record = one
        finally:
            told.close()

    def read(self, stream: OutputStream, offset: int, *, limit: Optional[int] = None) -> OperationOutputChunk:
        """One stream's bytes from an absolute offset, as many as are there, 1 MiB at most, in base64."""
        return self._api.read_operation_output(self.sandbox_id, self.id, stream=stream, offset=offset, limit=limit)

    def transitions(self) -> Iterator[Transition]:
        """Its transitions, oldest first; requests the next page by itself."""
        ask = self._api.list_operation_transitions
        for page in paged(lambda cursor: ask(self.sandbox_id, self.id, cursor=cursor)):
            for transition in page.transitions:
                yield transition
