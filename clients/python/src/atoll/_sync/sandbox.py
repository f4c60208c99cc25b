# Made by `npm run clients` from _async/sandbox.py. Not to be edited.
"""An isolated machine."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Callable, Generator, Iterator, List, Mapping, Optional, Sequence, Type, Union

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
from .api import Api
from .events import follow_events
from .files import Files
from .forward import Forward
from .operation import Operation
from .paged import paged
from .previews import Previews
from .snapshots import Snapshot
from .terminal import Terminal
from .tunnel import Tunnel
from .tunnels import Tunnels

_LOOK_EVERY_SECONDS = 0.2


@dataclass(frozen=True)
class Fork:
    """What a fork made."""

    snapshot: Snapshot
    """What they were made of. A new one is deleted after 24 hours, or at `expires_at`; with `at_revision` it is one that there was."""
    sandboxes: List[Sandbox]
    """In order."""
    refused: List[RefusedFork]
    """Those that a limit, the credit or the hosts refused."""
    missing: Optional[MissingInFork]
    """With `at_revision`: what happened up to that revision and is not in the snapshot. Else None."""


class Sandbox:
    id: str
    workspace_id: str
    files: Files
    previews: Previews
    record: SandboxRecord
    """As the service's last answer has it."""

    def __init__(self, api: Api, record: SandboxRecord) -> None:
        self._api = api
        self.record = record
        self.id = record.id
        self.workspace_id = record.workspace_id
        self.files = Files(api, record.id)
        self._tunnels = Tunnels(api, record.id)
        self.previews = Previews(api, record.id, self._listens)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.status}>"

    @property
    def status(self) -> SandboxStatus:
        """As the service's last answer has it."""
        return self.record.status

    def refresh(self) -> Sandbox:
        self.record = self._api.get_sandbox(self.id).sandbox
        return self

    def until_running(self, *, within_seconds: float = 120) -> Sandbox:
        """Waits while it is pending. Fails with WaitTimeout, and with its status if it will not run by itself."""
        self._while(("pending",), within_seconds)
        if self.status not in ("running", "sleeping"):
            reason = self.record.status_reason
            why = "" if reason is None else f" ({reason.code}: {reason.message})"
            raise WaitTimeout(f"The Sandbox {self.id} is {self.status}{why}, and will not run by itself.")
        return self

    def boot(self, *, within_seconds: float = 120, idempotency_key: Optional[str] = None) -> Sandbox:
        """Starts it again with its volume, and waits until it runs."""
        key = idempotency_key or random_key()
        answer = self._api.start_sandbox(self.id, idempotency_key=key, wait="running", attempt_seconds=45)
        self.record = answer.sandbox
        return self.until_running(within_seconds=within_seconds)

    def stop(self, *, within_seconds: float = 120) -> Sandbox:
        """Ends all processes in it; its volume stays."""
        self.record = self._api.stop_sandbox(self.id, attempt_seconds=45).sandbox
        self._while(("stopping", "restoring"), within_seconds)
        return self

    def update(
        self,
        *,
        name: Given[Optional[str]] = UNSET,
        metadata: Given[Optional[Mapping[str, Optional[str]]]] = UNSET,
        env: Given[Optional[Mapping[str, Optional[str]]]] = UNSET,
        profile: Given[Optional[Profile]] = UNSET,
        lifetime: Given[Optional[Lifetime]] = UNSET,
        checkpoints: Given[Optional[Checkpoints]] = UNSET,
    ) -> Sandbox:
        """Changes the given fields. None removes a field, or a mapping's entry of that name; entries that are not given stay.

        env: later commands get the new variables.
        profile: its sizes; those that are not given stay, and a virtual machine has them at its next start.
        lifetime: times count from the boot and from the stop, not from this change.
        checkpoints: the snapshots that it takes by itself; parts that are not given stay.
        """
        answer = self._api.update_sandbox(
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

    def delete(self) -> None:
        """Permanently, with its volume."""
        self._api.delete_sandbox(self.id, attempt_seconds=45)

    def snapshot(
        self,
        *,
        name: Optional[str] = None,
        memory: Optional[bool] = None,
        expires_at: Optional[str] = None,
        until_ready: bool = True,
        within_seconds: float = 120,
        idempotency_key: Optional[str] = None,
    ) -> Snapshot:
        """Keeps its volume as it is now, and waits until the image is ready. It outlives the Sandbox.

        memory: with the running processes, where the runtime can do that.
        expires_at: when it is deleted by itself, as RFC 3339; by default never.
        until_ready: False returns a snapshot that its host may still be making.
        within_seconds: how long to wait until it is ready; then it fails with WaitTimeout.
        idempotency_key: names this snapshot: the same key returns the same one, also from another process. By default a new key.
        """
        answer = self._api.create_snapshot(
            self.id,
            idempotency_key=idempotency_key or random_key(),
            name=unless_none(name),
            memory=unless_none(memory),
            expires_at=unless_none(expires_at),
        )
        snapshot = Snapshot(self._api, answer.snapshot)
        return snapshot.until_ready(within_seconds=within_seconds) if until_ready else snapshot

    def fork(
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
    ) -> Fork:
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
        answer = self._api.fork_sandbox(
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
        sandboxes = [Sandbox(self._api, record) for record in answer.sandboxes]
        if until_running:
            # One after the other: they boot meanwhile, and a hundred of them are few requests.
            for child in sandboxes:
                child._while(("pending",), until - time.monotonic())
        return Fork(Snapshot(self._api, answer.snapshot), sandboxes, answer.refused, answer.missing)

    def rollback(
        self,
        snapshot: Union[Snapshot, str],
        *,
        keep: bool = True,
        until_done: bool = True,
        within_seconds: float = 120,
        idempotency_key: Optional[str] = None,
    ) -> Optional[Snapshot]:
        """Gives it the volume of a snapshot, and waits until it runs again, or has stopped if it was stopped. What ran in it is lost.

        Its volume before becomes a snapshot, which this returns: it is deleted after 24 hours. Fails with WaitTimeout if the volume stays as it was.

        snapshot: itself, or its id.
        keep: False gives its volume before up, and returns None; that needs the scope sandbox:delete, too.
        until_done: False returns while it is being rolled back.
        within_seconds: how long to wait; then it fails with WaitTimeout.
        idempotency_key: names this rollback: repeated with the same key it rolls back once, also from another process. By default a new key.
        """
        until = time.monotonic() + within_seconds
        answer = self._api.rollback_sandbox(
            self.id,
            idempotency_key=idempotency_key or random_key(),
            snapshot_id=snapshot if isinstance(snapshot, str) else snapshot.id,
            keep=keep,
            attempt_seconds=45,
        )
        self.record = answer.sandbox
        kept = None if answer.kept is None else Snapshot(self._api, answer.kept)
        if not until_done:
            return kept
        self._while(("stopping", "restoring"), until - time.monotonic())
        rollback = self.record.rollback
        if rollback is not None and rollback.outcome == "failed":
            reason = rollback.reason
            why = "" if reason is None else f" ({reason.code}: {reason.message})"
            raise WaitTimeout(f"The Sandbox {self.id} was not rolled back{why}; its volume is as it was.")
        self._while(("pending",), until - time.monotonic())
        return None if kept is None else kept.refresh()

    def lineage(self) -> Lineage:
        """From which Sandboxes it comes, and which come from it."""
        parents: List[LineageParent] = []
        children: List[LineageChild] = []
        ask = self._api.read_sandbox_lineage
        for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            parents = page.parents
            children += page.children
        return Lineage(parents, children)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        thrown: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.delete()

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: Optional[str] = None,
        env: Optional[Mapping[str, str]] = None,
        stdin: Union[str, bytes, None] = None,
        timeout_seconds: Optional[float] = None,
        idempotency_key: Optional[str] = None,
    ) -> Operation:
        """Starts a command; it goes on if the caller ends.

        argv: a program and its arguments; no shell is involved.
        cwd: a directory in /workspace that exists.
        stdin: all of its input, which then ends.
        timeout_seconds: after so long the service kills the command, which has failed then. 1 to 86,400; by default never.
        idempotency_key: names this start: the same key returns the same operation, also from another process. By default a new key.
        """
        if isinstance(argv, (str, bytes)):
            raise TypeError('argv is a program and its arguments, such as ["ls", "-l"]; for a command line, ["sh", "-c", line].')
        answer = self._api.start_operation(
            self.id,
            idempotency_key=idempotency_key or random_key(),
            argv=[*argv],
            cwd=UNSET if cwd is None else cwd,
            env=UNSET if env is None else dict(env),
            timeout_seconds=UNSET if timeout_seconds is None else timeout_seconds,
            **stdin_fields(stdin),
        )
        return Operation(self._api, answer.operation)

    def run(
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
        operation = self.start(
            argv, cwd=cwd, env=env, stdin=stdin, timeout_seconds=timeout_seconds, idempotency_key=idempotency_key
        )
        gathered = Gathered(keep_bytes, on_stdout, on_stderr)
        output = operation.output()
        try:
            for chunk in output:
                gathered.add(chunk)
        finally:
            output.close()
        return gathered.result(operation.record)

    def operation(self, id: str) -> Operation:
        """An operation that was started earlier, here or elsewhere."""
        return Operation(self._api, self._api.get_operation(self.id, id).operation)

    def operations(self) -> Iterator[Operation]:
        """Newest first; requests the next page by itself."""
        ask = self._api.list_operations
        for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            for record in page.operations:
                yield Operation(self._api, record)

    def processes(self) -> List[Process]:
        return self._api.list_processes(self.id).processes

    def logs(self, *, since: Optional[str] = None, limit: Optional[int] = None) -> List[LogEntry]:
        """The latest output of its commands, oldest first: 5,000 entries at most."""
        return self._api.read_logs(self.id, since=since, limit=limit).logs.entries

    def transitions(self) -> Iterator[Transition]:
        """Its transitions, oldest first; requests the next page by itself."""
        ask = self._api.list_sandbox_transitions
        for page in paged(lambda cursor: ask(self.id, cursor=cursor)):
            for transition in page.transitions:
                yield transition

    def events(self, *, after: Optional[str] = None) -> Generator[TransitionEvent, None, None]:
        """Every transition of it and of everything in it, from now on or after a position. Each once, over lost connections."""
        return follow_events(self._api, self.id, after)

    def terminal(self, *, columns: Optional[int] = None, rows: Optional[int] = None) -> Terminal:
        """A login shell on a terminal, by default of 80 by 24 characters; it ends with its connection, and at the end of a block:

        with sandbox.terminal() as terminal:
        """
        path = f"/api/v2/sandboxes/{self.id}/terminal"
        size = {"columns": columns, "rows": rows}
        return Terminal(self._api.transport.connect(path, size, "atoll.terminal"))

    def tunnel(self, port: int) -> Tunnel:
        """A TCP connection to a program that listens in the Sandbox. Without one it fails with SandboxUnavailableError."""
        return self._tunnels.open(port)

    def forward(self, port: int, *, host: str = "127.0.0.1", local_port: int = 0) -> Forward:
        """A port of this machine that leads to one of the Sandbox, for programs and libraries that need an address:

        with sandbox.forward(5432) as forward:
            connect(forward.host, forward.port)

        local_port: 0 takes any free one.
        """
        return Forward.open(self._tunnels, port, host, local_port)

    def close_tunnels(self) -> None:
        """Ends all tunnels and forwarded connections that were opened by this object."""
        self._tunnels.revoke()

    def _while(self, statuses: Sequence[SandboxStatus], within_seconds: float) -> None:
        until = time.monotonic() + within_seconds
        while self.status in statuses:
            if time.monotonic() > until:
                raise WaitTimeout(f"The Sandbox {self.id} is {self.status} after {within_seconds:g} s.")
            time.sleep(_LOOK_EVERY_SECONDS)
            self.refresh()

    def _listens(self, port: int) -> bool:
        try:
            answer = self._api.execute(self.id, argv=listens_command(port), timeout_seconds=10)
        except ConnectionError:
            return False
        return answer.result.exit_code == 0
