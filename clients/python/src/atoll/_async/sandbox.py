"""An isolated machine."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from types import TracebackType
from typing import AsyncGenerator, AsyncIterator, Callable, List, Mapping, Optional, Sequence, Type, Union

from .._given import UNSET, Given, unless_none
from .._listens import listens_command
from .._random_key import random_key
from ..errors import ConnectionError, WaitTimeout
from ..lineage import Lineage
from ..run_result import KEEP_BYTES, Gathered, RunResult, stdin_fields
from ..schemas import (
    LineageChild,
    LineageParent,
    Checkpoints,
    Lifetime,
    LogEntry,
    MissingInFork,
    Process,
    Profile,
    RefusedFork,
    SandboxStatus,
    Transition,
)
from ..schemas import Sandbox as SandboxRecord
from ..transition_event import TransitionEvent
from .api import AsyncApi
from .events import follow_events
from .files import AsyncFiles
from .forward import AsyncForward
from .opening import opening
from .operation import AsyncOperation
from .paged import paged
from .previews import AsyncPreviews
from .snapshots import AsyncSnapshot
from .terminal import AsyncTerminal
from .tunnel import AsyncTunnel
from .tunnels import AsyncTunnels

_LOOK_EVERY_SECONDS = 0.2


@dataclass(frozen=True)
class AsyncFork:
    """What a fork made."""

    snapshot: AsyncSnapshot
    """What they were made of. A new one is deleted after 24 hours, or at `expires_at`; with `at_revision` it is one that there was."""
    sandboxes: List[AsyncSandbox]
    """In order."""
    refused: List[RefusedFork]
    """Those that a limit, the credit or the hosts refused."""
    missing: Optional[MissingInFork]
    """With `at_revision`: what happened up to that revision and is not in the snapshot. Else None."""


class AsyncSandbox:
    id: str
    workspace_id: str
    files: AsyncFiles
    previews: AsyncPreviews
    record: SandboxRecord
    """As the service's last answer has it."""

    def __init__(self, api: AsyncApi, record: SandboxRecord) -> None:
        self._api = api
        self.record = record
        self.id = record.id
        self.workspace_id = record.workspace_id
        self.files = AsyncFiles(api, record.id)
        self._tunnels = AsyncTunnels(api, record.id)
        self.previews = AsyncPreviews(api, record.id, self._listens)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"

    @property
    def status(self) -> SandboxStatus:
        """As the service's last answer has it."""
        return self.record.status

    async def refresh(self) -> AsyncSandbox:
        self.record = (await self._api.get_sandbox(self.id)).sandbox
        return self

    async def until_running(self, *, within_seconds: float = 120) -> AsyncSandbox:
        """Waits while it is pending. Fails with WaitTimeout, and with its status if it will not run by itself."""
        await self._while(("pending",), within_seconds)
        if self.status not in ("running", "sleeping"):
            reason = self.record.status_reason
            why = "" if reason is None else f" ({reason.code}: {reason.message})"
            raise WaitTimeout(f"The Sandbox {self.id} is {self.status}{why}, and will not run by itself.")
        return self

    async def boot(self, *, within_seconds: float = 120, idempotency_key: Optional[str] = None) -> AsyncSandbox:
        """Starts it again with its volume, and waits until it runs."""
        key = idempotency_key or random_key()
        answer = await self._api.start_sandbox(self.id, idempotency_key=key, wait="running", attempt_seconds=45)
        self.record = answer.sandbox
        return await self.until_running(within_seconds=within_seconds)

    async def stop(self, *, within_seconds: float = 120) -> AsyncSandbox:
        """Ends all processes in it; its volume stays."""
        self.record = (await self._api.stop_sandbox(self.id, attempt_seconds=45)).sandbox
        await self._while(("stopping", "restoring"), within_seconds)
        return self

    async def update(
        self,
        *,
        name: Given[Optional[str]] = UNSET,
        metadata: Given[Optional[Mapping[str, Optional[str]]]] = UNSET,
        env: Given[Optional[Mapping[str, Optional[str]]]] = UNSET,
        profile: Given[Optional[Profile]] = UNSET,
        lifetime: Given[Optional[Lifetime]] = UNSET,
        checkpoints: Given[Optional[Checkpoints]] = UNSET,
    ) -> AsyncSandbox:
        """Changes the given fields. None removes a field, or a mapping's entry of that name; entries that are not given stay.

        env: later commands get the new variables.
        profile: its sizes; those that are not given stay, and a virtual machine has them at its next start.
        lifetime: times count from the boot and from the stop, not from this change.
        checkpoints: the snapshots that it takes by itself; parts that are not given stay.
        """
        answer = await self._api.update_sandbox(
            self.id,
            name=name,
            metadata=dict(metadata) if isinstance(metadata, Mapping) else metadata,
            env=dict(env) if isinstance(env, Mapping) else env,
            profile=profile,
            lifetime=lifetime,
            checkpoints=checkpoints,
        )
        self.record = answer.sandbox
        return self

    async def delete(self) -> None:
        """Permanently, with its volume."""
        await self._api.delete_sandbox(self.id, attempt_seconds=45)

    async def snapshot(
        self,
        *,
        name: Optional[str] = None,
        memory: Optional[bool] = None,
        expires_at: Optional[str] = None,
        until_ready: bool = True,
        within_seconds: float = 120,
        idempotency_key: Optional[str] = None,
    ) -> AsyncSnapshot:
        """Keeps its volume as it is now, and waits until the image is ready. It outlives the Sandbox.

        memory: with the running processes, where the runtime can do that.
        expires_at: when it is deleted by itself, as RFC 3339; by default never.
        until_ready: False returns a snapshot that its host may still be making.
        within_seconds: how long to wait until it is ready; then it fails with WaitTimeout.
        idempotency_key: names this snapshot: the same key returns the same one, also from another process. By default a new key.
        """
        answer = await self._api.create_snapshot(
            self.id,
            idempotency_key=idempotency_key or random_key(),
            name=unless_none(name),
            memory=unless_none(memory),
            expires_at=unless_none(expires_at),
        )
        snapshot = AsyncSnapshot(self._api, answer.snapshot)
        return await snapshot.until_ready(within_seconds=within_seconds) if until_ready else snapshot

    async def fork(
        self,
        count: int = 1,
        *,
        names: Optional[Sequence[Optional[str]]] = None,
        at_revision: Optional[int] = None,
        memory: Optional[bool] = None,
        metadata: Optional[Mapping[str, str]] = None,
        lifetime: Optional[Lifetime] = None,
        expires_at: Optional[str] = None,
        until_running: bool = True,
        within_seconds: float = 120,
        idempotency_key: Optional[str] = None,
    ) -> AsyncFork:
        """Makes copies of it that begin with one and the same volume, and waits until each runs or has failed, as its `status` says.

        count: how many, at most 100.
        names: theirs, in order; those without one are called as this Sandbox is.
        at_revision: begins from the newest snapshot at or before this revision of its log, and takes none; `missing` says what that does not contain.
        memory: with the running processes, where the runtime can do that.
        metadata, lifetime: of each; by default those of this Sandbox.
        expires_at: when the snapshot is deleted, as RFC 3339; by default after 24 hours.
        until_running: False returns pending Sandboxes.
        within_seconds: how long to wait for all of them; then it fails with WaitTimeout.
        idempotency_key: names this fork: the same key returns the same Sandboxes, also from another process. By default a new key.
        """
        until = time.monotonic() + within_seconds
        answer = await self._api.fork_sandbox(
            self.id,
            idempotency_key=idempotency_key or random_key(),
            count=count,
            names=UNSET if names is None else [*names],
            at_revision=unless_none(at_revision),
            memory=unless_none(memory),
            metadata=UNSET if metadata is None else dict(metadata),
            lifetime=unless_none(lifetime),
            expires_at=unless_none(expires_at),
            attempt_seconds=45,
        )
        sandboxes = [AsyncSandbox(self._api, record) for record in answer.sandboxes]
        if until_running:
            # One after the other: they boot meanwhile, and a hundred of them are few requests.
            for child in sandboxes:
                await child._while(("pending",), until - time.monotonic())
        return AsyncFork(AsyncSnapshot(self._api, answer.snapshot), sandboxes, answer.refused, answer.missing)

    async def rollback(
        self,
        snapshot: Union[AsyncSnapshot, str],
        *,
        keep: bool = True,
        until_done: bool = True,
        within_seconds: float = 120,
        idempotency_key: Optional[str] = None,
    ) -> Optional[AsyncSnapshot]:
        """Gives it the volume of a snapshot, and waits until it runs again, or has stopped if it was stopped. What ran in it is lost.

        Its volume before becomes a snapshot, which this returns: it is deleted after 24 hours. Fails with WaitTimeout if the volume stays as it was.

        snapshot: itself, or its id.
        keep: False gives its volume before up, and returns None; that needs the scope sandbox:delete, too.
        until_done: False returns while it is being rolled back.
        within_seconds: how long to wait; then it fails with WaitTimeout.
        idempotency_key: names this rollback: repeated with the same key it rolls back once, also from another process. By default a new key.
        """
        until = time.monotonic() + within_seconds
        answer = await self._api.rollback_sandbox(
            self.id,
            idempotency_key=idempotency_key or random_key(),
            snapshot_id=snapshot if isinstance(snapshot, str) else snapshot.id,
            keep=keep,
            attempt_seconds=45,
        )
        self.record = answer.sandbox
        kept = None if answer.kept is None else AsyncSnapshot(self._api, answer.kept)
        if not until_done:
            return kept
        await self._while(("stopping", "restoring"), until - time.monotonic())
        rollback = self.record.rollback
        if rollback is not None and rollback.outcome == "failed":
            reason = rollback.reason
            why = "" if reason is None else f" ({reason.code}: {reason.message})"
            raise WaitTimeout(f"The Sandbox {self.id} was not rolled back{why}; its volume is as it was.")
        await self._while(("pending",), until - time.monotonic())
        return None if kept is None else await kept.refresh()

    async def lineage(self) -> Lineage:
        """From which Sandboxes it comes, and which come from it."""
        parents: List[LineageParent] = []
        children: List[LineageChild] = []
        ask = self._api.read_sandbox_lineage
        async for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            parents = page.parents
            children += page.children
        return Lineage(parents, children)

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.delete()

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Union[str, bytes, None] = None,
        timeout_seconds: Optional[float] = None,
        idempotency_key: Optional[str] = None,
    ) -> AsyncOperation:
        """Starts a command; it goes on if the caller ends.

        argv: a program and its arguments; no shell is involved.
        cwd: a directory in /workspace that exists.
        stdin: all of its input, which then ends.
        timeout_seconds: after so long the service kills the command, which has failed then. 1 to 86,400; by default never.
        idempotency_key: names this start: the same key returns the same operation, also from another process. By default a new key.
        """
        if isinstance(argv, (str, bytes)):
            raise TypeError('argv is a program and its arguments, such as ["ls", "-l"]; for a command line, ["sh", "-c", line].')
        answer = await self._api.start_operation(
            self.id,
            idempotency_key=idempotency_key or random_key(),
            argv=[*argv],
            cwd=UNSET if cwd is None else cwd,
            env=UNSET if env is None else dict(env),
            timeout_seconds=UNSET if timeout_seconds is None else timeout_seconds,
            **stdin_fields(stdin),
        )
        return AsyncOperation(self._api, answer.operation)

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Union[str, bytes, None] = None,
        timeout_seconds: Optional[float] = None,
        on_stdout: Optional[Callable[[str], object]] = None,
        on_stderr: Optional[Callable[[str], object]] = None,
        keep_bytes: int = KEEP_BYTES,
        idempotency_key: Optional[str] = None,
    ) -> RunResult:
        """Runs a command to its end. A non-zero exit is a result, not an error. A caller that stops waiting does not end the command.

        on_stdout, on_stderr: called with text as it is written, cut anywhere but within a character.
        keep_bytes: for each stream: output beyond it is passed on, but only the end is kept for the result.
        The others are those of start.
        """
        operation = await self.start(
            argv, cwd=cwd, env=env, stdin=stdin, timeout_seconds=timeout_seconds, idempotency_key=idempotency_key
        )
        gathered = Gathered(keep_bytes, on_stdout, on_stderr)
        output = operation.output()
        try:
            async for chunk in output:
                gathered.add(chunk)
        finally:
            await output.aclose()
        return gathered.result(operation.record)

    async def operation(self, id: str) -> AsyncOperation:
        """An operation that was started earlier, here or elsewhere."""
        return AsyncOperation(self._api, (await self._api.get_operation(self.id, id)).operation)

    async def operations(self) -> AsyncIterator[AsyncOperation]:
        """Newest first; requests the next page by itself."""
        ask = self._api.list_operations
        async for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            for record in page.operations:
                yield AsyncOperation(self._api, record)

    async def processes(self) -> List[Process]:
        return (await self._api.list_processes(self.id)).processes

    async def logs(self, *, since: Optional[str] = None, limit: Optional[int] = None) -> List[LogEntry]:
        """The latest output of its commands, oldest first: 5,000 entries at most."""
        return (await self._api.read_logs(self.id, since=since, limit=limit)).logs.entries

    async def transitions(self) -> AsyncIterator[Transition]:
        """Its transitions, oldest first; requests the next page by itself."""
        ask = self._api.list_sandbox_transitions
        async for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            for transition in page.transitions:
                yield transition

    def events(self, *, after: Optional[str] = None) -> AsyncGenerator[TransitionEvent, None]:
        """Every transition of it and of everything in it, from now on or after a position. Each once, over lost connections."""
        return follow_events(self._api, self.id, after)

    @opening
    async def terminal(self, *, columns: Optional[int] = None, rows: Optional[int] = None) -> AsyncTerminal:
        """A login shell on a terminal, by default of 80 by 24 characters; it ends with its connection, and at the end of a block:

        async with sandbox.terminal() as terminal:
        """
        path = f"/api/v2/sandboxes/{self.id}/terminal"
        size = {"columns": columns, "rows": rows}
        return AsyncTerminal(await self._api.transport.connect(path, size, "atoll.terminal"))

    @opening
    async def tunnel(self, port: int) -> AsyncTunnel:
        """A TCP connection to a program that listens in the Sandbox. Without one it fails with SandboxUnavailableError."""
        return await self._tunnels.open(port)

    @opening
    async def forward(self, port: int, *, host: str = "127.0.0.1", local_port: int = 0) -> AsyncForward:
        """A port of this machine that leads to one of the Sandbox, for programs and libraries that need an address:

        async with sandbox.forward(5432) as forward:
            connect(forward.host, forward.port)

        local_port: 0 takes any free one.
        """
        return await AsyncForward.open(self._tunnels, port, host, local_port)

    async def close_tunnels(self) -> None:
        """Ends all tunnels and forwarded connections that were opened by this object."""
        await self._tunnels.revoke()

    async def _while(self, statuses: Sequence[SandboxStatus], within_seconds: float) -> None:
        until = time.monotonic() + within_seconds
        while self.status in statuses:
            if time.monotonic() > until:
                raise WaitTimeout(f"The Sandbox {self.id} is {self.status} after {within_seconds:g} s.")
            await asyncio.sleep(_LOOK_EVERY_SECONDS)
            await self.refresh()

    async def _listens(self, port: int) -> bool:
        try:
            answer = await self._api.execute(self.id, argv=listens_command(port), timeout_seconds=10)
        except ConnectionError:
            return False
        return answer.result.exit_code == 0
