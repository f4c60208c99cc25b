# Made by `npm run clients` from version 2.0.0 of the service's OpenAPI description. Not to be edited.
"""Every operation of the service's description, as it is."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional

import httpx

from .._given import UNSET, Given
from .._request import AsyncBody, Content, Request
from ..schemas import (
    AnalyticsResponse,
    AuditLog,
    BalanceResponse,
    Checkpoints,
    CooperativeEnvelope,
    CooperativeRevoke,
    CostReport,
    DeclinedEventList,
    EditFileResponse,
    Encoding,
    EndpointId,
    ExecuteResponse,
    FileList,
    FilePath,
    FileStatResponse,
    ForkResponse,
    ImageId,
    ImageList,
    ImageReference,
    ImageResponse,
    ImageStatus,
    Lifetime,
    LogSource,
    LogsResponse,
    MachineFormat,
    MachineList,
    Me,
    OperationId,
    OperationList,
    OperationOutputChunk,
    OperationResponse,
    OutputStream,
    PreviewId,
    PreviewList,
    PreviewResponse,
    ProcessId,
    ProcessList,
    Profile,
    RollbackResponse,
    SandboxHistory,
    SandboxId,
    SandboxLineage,
    SandboxList,
    SandboxResponse,
    SandboxStatus,
    ServiceAccessEnvelope,
    ServiceAccessId,
    ServiceAccessRevoke,
    SnapshotId,
    SnapshotList,
    SnapshotResponse,
    SnapshotStatus,
    TransitionList,
    UnpackedArchive,
    UsageResponse,
    WalletTransactionList,
    WorkspaceId,
    WorkspaceList,
    WorkspacePath,
    WorkspaceResponse,
)
from .transport import AsyncTransport


class AsyncApi:
    """Every operation of the service's description, with types and with the same care for lost connections.

    A field of a request that is not given is omitted; None is sent as null. attempt_seconds: how long one attempt
    waits for the service; by default the client's own. A stream is returned unread: its reader closes it.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self.transport = transport

    async def get_open_api(self, *, attempt_seconds: Optional[float] = None) -> Dict[str, Any]:
        """This description."""
        request = Request("getOpenApi", "GET", "/api/v2/openapi.json")
        return await self.transport.json(request, dict, attempt_seconds)

    async def list_machines(
        self,
        *,
        format: Optional[MachineFormat] = None,
        attempt_seconds: Optional[float] = None,
    ) -> MachineList:
        """The state machines, as data."""
        request = Request("listMachines", "GET", "/api/v2/machines", query={"format": format})
        return await self.transport.json(request, MachineList.from_json, attempt_seconds)

    async def get_me(self, *, attempt_seconds: Optional[float] = None) -> Me:
        """The account and the API key in use. Scope: sandbox:read."""
        request = Request("getMe", "GET", "/api/v2/me")
        return await self.transport.json(request, Me.from_json, attempt_seconds)

    async def revoke_key(self, *, attempt_seconds: Optional[float] = None) -> None:
        """Revoke the API key of this request. Scope: sandbox:read."""
        request = Request("revokeKey", "DELETE", "/api/v2/auth")
        await self.transport.nothing(request, attempt_seconds)

    async def list_workspaces(self, *, attempt_seconds: Optional[float] = None) -> WorkspaceList:
        """List workspaces. Scope: sandbox:read."""
        request = Request("listWorkspaces", "GET", "/api/v2/workspaces")
        return await self.transport.json(request, WorkspaceList.from_json, attempt_seconds)

    async def create_workspace(
        self,
        *,
        idempotency_key: str,
        name: str,
        attempt_seconds: Optional[float] = None,
    ) -> WorkspaceResponse:
        """Create an empty workspace. Scope: workspace:create.

        idempotency_key: Names this request. Keys belong to the account and the kind of call; a repeated key with the
        same method, path and JSON body gives the original result, with another one 409. A key lives as long as what
        it made, and at least 24 hours.
        name: For people; names need not be unique.
        """
        request = Request(
            "createWorkspace",
            "POST",
            "/api/v2/workspaces",
            headers={"Idempotency-Key": idempotency_key},
            json={"name": name},
        )
        return await self.transport.json(request, WorkspaceResponse.from_json, attempt_seconds)

    async def get_workspace(self, id: WorkspaceId, *, attempt_seconds: Optional[float] = None) -> WorkspaceResponse:
        """Get a workspace. Scope: sandbox:read."""
        request = Request("getWorkspace", "GET", "/api/v2/workspaces/{id}", path={"id": id})
        return await self.transport.json(request, WorkspaceResponse.from_json, attempt_seconds)

    async def rename_workspace(
        self,
        id: WorkspaceId,
        *,
        name: str,
        attempt_seconds: Optional[float] = None,
    ) -> WorkspaceResponse:
        """Give a workspace another name. Scope: workspace:create.

        name: For people; names need not be unique.
        """
        request = Request("renameWorkspace", "PATCH", "/api/v2/workspaces/{id}", path={"id": id}, json={"name": name})
        return await self.transport.json(request, WorkspaceResponse.from_json, attempt_seconds)

    async def delete_workspace(self, id: WorkspaceId, *, attempt_seconds: Optional[float] = None) -> None:
        """Delete an empty workspace. Scope: sandbox:delete."""
        request = Request("deleteWorkspace", "DELETE", "/api/v2/workspaces/{id}", path={"id": id})
        await self.transport.nothing(request, attempt_seconds)

    async def list_sandboxes(
        self,
        *,
        status: Optional[List[SandboxStatus]] = None,
        workspace_id: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        metadata: Optional[Dict[str, str]] = None,
        attempt_seconds: Optional[float] = None,
    ) -> SandboxList:
        """List Sandboxes, active and deleted. Scope: sandbox:read.

        status: Only those in one of these: the parameter repeated, or commas between them.
        workspace_id: Only those in this one.
        limit: Most entries of one page. Without limit and cursor, all are listed; with a cursor alone, 100.
        cursor: The nextCursor of the page before, unchanged.
        metadata: Any number of pairs `metadata.KEY=VALUE`: only Sandboxes whose metadata has them all. Each KEY
        once; the object's property is named `metadata.KEY`.
        """
        request = Request(
            "listSandboxes",
            "GET",
            "/api/v2/sandboxes",
            query={"status": status, "workspaceId": workspace_id, "limit": limit, "cursor": cursor, "metadata": metadata},
        )
        return await self.transport.json(request, SandboxList.from_json, attempt_seconds)

    async def create_sandbox(
        self,
        *,
        workspace_id: str,
        wait: Optional[Literal["running"]] = None,
        idempotency_key: Optional[str] = None,
        name: Given[Optional[str]] = UNSET,
        runtime: Given[Optional[Literal["vm", "namespace"]]] = UNSET,
        profile: Given[Optional[Profile]] = UNSET,
        network_enabled: Given[Optional[bool]] = UNSET,
        metadata: Given[Optional[Dict[str, str]]] = UNSET,
        env: Given[Optional[Dict[str, str]]] = UNSET,
        lifetime: Given[Optional[Lifetime]] = UNSET,
        checkpoints: Given[Optional[Checkpoints]] = UNSET,
        snapshot_id: Given[Optional[SnapshotId]] = UNSET,
        image_id: Given[Optional[ImageId]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> SandboxResponse:
        """Create a Sandbox. Scope: sandbox:create.

        wait: Answers once it runs, or will not by itself, or after 30 s, with the status that it has.
        idempotency_key: Names this request. A repeated key with the same body gives the original result, with
        another one 409. Required for a Sandbox of the runtime vm. Without one, a repetition makes another Sandbox. A
        key lives as long as what it made, and at least 24 hours.
        workspace_id: An own workspace; any other gives 404.
        name: For people; names need not be unique. Absent or null: none.
        runtime: Which kind of runtime it has, for good; one that this server does not offer gives 501. Absent or
        null: as the operator has chosen.
        profile: Its sizes; each is within the bounds in `GET /me`, else 400 with the bounds. Absent or null, as each
        part of it: with a snapshotId as the snapshot has it, else as the operator has chosen.
        network_enabled: Whether it reaches the internet and can have previews. By default `true`.
        metadata: Pairs of text of your own, by which lists can be filtered. By default `{}`.
        env: Variables of every command, terminal and SSH session of it; what a command itself brings wins by name.
        They are secrets: stored sealed, and answered by name only. At most 65536 bytes of UTF-8 together; values
        contain no NUL. By default `{}`.
        lifetime: What ends it by itself. Absent or null, as each part of it: nothing does.
        checkpoints: Which snapshots it takes by itself. Absent or null, or with neither everySeconds nor onStop:
        none.
        snapshot_id: An own snapshot that is ready: the volume begins as a copy of it, as large as it was, on its
        host. Its variables come along; those of `env` win by name. The runtime is the snapshot's. Absent or null:
        the volume starts empty.
        image_id: An own image that is ready: it is the root file system, for good, read-only in a namespace but for
        what is mounted there; in a virtual machine, what commands write there is gone with the next start. Its
        variables become the Sandbox's; those of `env` win by name. Its working directory, user, entry point and
        ports mean nothing: commands begin in /workspace. Not together with snapshotId: a snapshot brings the image
        of its Sandbox along. Absent or null: the host's own root.
        """
        request = Request(
            "createSandbox",
            "POST",
            "/api/v2/sandboxes",
            query={"wait": wait},
            headers={"Idempotency-Key": idempotency_key},
            json={"workspaceId": workspace_id, "name": name, "runtime": runtime, "profile": profile, "networkEnabled": network_enabled, "metadata": metadata, "env": env, "lifetime": lifetime, "checkpoints": checkpoints, "snapshotId": snapshot_id, "imageId": image_id},
        )
        return await self.transport.json(request, SandboxResponse.from_json, attempt_seconds)

    async def get_sandbox(self, id: SandboxId, *, attempt_seconds: Optional[float] = None) -> SandboxResponse:
        """Get a Sandbox. Scope: sandbox:read."""
        request = Request("getSandbox", "GET", "/api/v2/sandboxes/{id}", path={"id": id})
        return await self.transport.json(request, SandboxResponse.from_json, attempt_seconds)

    async def update_sandbox(
        self,
        id: SandboxId,
        *,
        name: Given[Optional[str]] = UNSET,
        metadata: Given[Optional[Dict[str, Optional[str]]]] = UNSET,
        env: Given[Optional[Dict[str, Optional[str]]]] = UNSET,
        profile: Given[Optional[Profile]] = UNSET,
        lifetime: Given[Optional[Lifetime]] = UNSET,
        checkpoints: Given[Optional[Checkpoints]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> SandboxResponse:
        """Change a Sandbox's name, metadata, variables, sizes, lifetime or checkpoints. Scope: sandbox:create.

        name: null: none.
        metadata: By key: a key that is not named stays, one with null is removed. null: all are. At most 32 pairs in
        the end.
        env: Variables of every command, terminal and SSH session of it; what a command itself brings wins by name.
        They are secrets: stored sealed, and answered by name only. At most 65536 bytes of UTF-8 together; values
        contain no NUL. By name: one that is not named stays, one with null is removed. null: all are. Commands that
        begin afterwards get the new ones. At most 128 in the end.
        profile: Its sizes, by part: one that is absent or null stays. Each is within the bounds in `GET /me`, and
        diskBytes never shrinks, else 400. A namespace Sandbox that runs gets them immediately; a virtual machine
        that runs gets the larger volume immediately, and the rest at its next start. It costs what they say from
        this change on. Less memory than a running namespace Sandbox has in use: 409 MEMORY_IN_USE. A volume that
        cannot grow while it is in use grows at the next start.
        lifetime: By part: one that is absent stays, one with null is removed. null: all are. Time counts from the
        boot (stopAfterSeconds) and from the stop (deleteAfterStoppedSeconds), not from this change: an instant that
        has passed already takes effect immediately. An idle time counts from this change at the earliest.
        checkpoints: By part: one that is absent stays, one with null is as it would be by default. null, or neither
        everySeconds nor onStop in the end: none are taken; those that there are stay until the Sandbox is deleted.
        everySeconds counts from this change.
        """
        request = Request(
            "updateSandbox",
            "PATCH",
            "/api/v2/sandboxes/{id}",
            path={"id": id},
            json={"name": name, "metadata": metadata, "env": env, "profile": profile, "lifetime": lifetime, "checkpoints": checkpoints},
        )
        return await self.transport.json(request, SandboxResponse.from_json, attempt_seconds)

    async def delete_sandbox(self, id: SandboxId, *, attempt_seconds: Optional[float] = None) -> None:
        """Delete a Sandbox and its volume. Scope: sandbox:delete."""
        request = Request("deleteSandbox", "DELETE", "/api/v2/sandboxes/{id}", path={"id": id})
        await self.transport.nothing(request, attempt_seconds)

    async def start_sandbox(
        self,
        id: SandboxId,
        *,
        wait: Optional[Literal["running"]] = None,
        idempotency_key: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> SandboxResponse:
        """Start a Sandbox. Scope: sandbox:create.

        wait: Answers once it runs, or will not by itself, or after 30 s, with the status that it has.
        idempotency_key: Names this start of this Sandbox. A repeated request boots nothing, also after later stops
        and starts.
        """
        request = Request(
            "startSandbox",
            "POST",
            "/api/v2/sandboxes/{id}/start",
            path={"id": id},
            query={"wait": wait},
            headers={"Idempotency-Key": idempotency_key},
            json={},
        )
        return await self.transport.json(request, SandboxResponse.from_json, attempt_seconds)

    async def stop_sandbox(self, id: SandboxId, *, attempt_seconds: Optional[float] = None) -> SandboxResponse:
        """Stop a Sandbox and keep its volume. Scope: sandbox:execute."""
        request = Request("stopSandbox", "POST", "/api/v2/sandboxes/{id}/stop", path={"id": id}, json={})
        return await self.transport.json(request, SandboxResponse.from_json, attempt_seconds)

    async def list_sandbox_transitions(
        self,
        id: SandboxId,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> TransitionList:
        """The transition log of a Sandbox. Scope: sandbox:read.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listSandboxTransitions",
            "GET",
            "/api/v2/sandboxes/{id}/transitions",
            path={"id": id},
            query={"limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, TransitionList.from_json, attempt_seconds)

    async def list_sandbox_history(
        self,
        id: SandboxId,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> SandboxHistory:
        """The transition logs of all that lived in a Sandbox. Scope: sandbox:read.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listSandboxHistory",
            "GET",
            "/api/v2/sandboxes/{id}/history",
            path={"id": id},
            query={"limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, SandboxHistory.from_json, attempt_seconds)

    async def create_snapshot(
        self,
        id: SandboxId,
        *,
        idempotency_key: Optional[str] = None,
        name: Given[Optional[str]] = UNSET,
        memory: Given[Optional[bool]] = UNSET,
        expires_at: Given[Optional[str]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> SnapshotResponse:
        """Take a snapshot of a Sandbox's volume, or of its memory, too. Scope: sandbox:create.

        idempotency_key: Names this request. A repeated key with the same Sandbox and body gives the original
        snapshot, with another one 409. Without one, a repetition takes another snapshot. A key lives as long as what
        it made, and at least 24 hours.
        name: For people; names need not be unique. Absent or null: none.
        memory: true: the memory and the running processes, too, of the same instant. Only of a virtual machine (else
        422) that runs or sleeps (else 409). By default `false`.
        expires_at: When it is deleted by itself: an instant in the future. Absent or null: never.
        """
        request = Request(
            "createSnapshot",
            "POST",
            "/api/v2/sandboxes/{id}/snapshots",
            path={"id": id},
            headers={"Idempotency-Key": idempotency_key},
            json={"name": name, "memory": memory, "expiresAt": expires_at},
        )
        return await self.transport.json(request, SnapshotResponse.from_json, attempt_seconds)

    async def list_snapshots(
        self,
        *,
        sandbox_id: Optional[SandboxId] = None,
        status: Optional[List[SnapshotStatus]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> SnapshotList:
        """List snapshots. Scope: sandbox:read.

        status: Only those in one of these: the parameter repeated, or commas between them.
        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listSnapshots",
            "GET",
            "/api/v2/snapshots",
            query={"sandboxId": sandbox_id, "status": status, "limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, SnapshotList.from_json, attempt_seconds)

    async def import_snapshot(
        self,
        *,
        content: AsyncBody,
        workspace_id: str,
        name: Optional[str] = None,
        expires_at: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> SnapshotResponse:
        """Make a snapshot of a file. Scope: sandbox:create.

        workspace_id: An own workspace; any other gives 404.
        name: For people. Absent: the name in the file, if any.
        expires_at: When it is deleted by itself: an instant in the future. Absent: never.
        idempotency_key: Names this request. A repeated key with the same query and the same head of the file (what
        the snapshot is) gives the original snapshot without reading the rest; with another one 409. Without one, a
        repetition imports another snapshot. A key lives as long as what it made, and at least 24 hours.
        """
        request = Request(
            "importSnapshot",
            "POST",
            "/api/v2/snapshots",
            query={"workspaceId": workspace_id, "name": name, "expiresAt": expires_at},
            headers={"Idempotency-Key": idempotency_key},
            content=content,
            content_type="application/x-atoll-snapshot",
        )
        return await self.transport.json(request, SnapshotResponse.from_json, attempt_seconds)

    async def get_snapshot(self, id: SnapshotId, *, attempt_seconds: Optional[float] = None) -> SnapshotResponse:
        """Get a snapshot. Scope: sandbox:read."""
        request = Request("getSnapshot", "GET", "/api/v2/snapshots/{id}", path={"id": id})
        return await self.transport.json(request, SnapshotResponse.from_json, attempt_seconds)

    async def update_snapshot(
        self,
        id: SnapshotId,
        *,
        name: Given[Optional[str]] = UNSET,
        expires_at: Given[Optional[str]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> SnapshotResponse:
        """Change a snapshot's name or expiry. Scope: sandbox:create.

        name: null: none.
        expires_at: When it is deleted by itself: an instant in the future. null: never.
        """
        request = Request(
            "updateSnapshot",
            "PATCH",
            "/api/v2/snapshots/{id}",
            path={"id": id},
            json={"name": name, "expiresAt": expires_at},
        )
        return await self.transport.json(request, SnapshotResponse.from_json, attempt_seconds)

    async def delete_snapshot(self, id: SnapshotId, *, attempt_seconds: Optional[float] = None) -> None:
        """Delete a snapshot. Scope: sandbox:delete."""
        request = Request("deleteSnapshot", "DELETE", "/api/v2/snapshots/{id}", path={"id": id})
        await self.transport.nothing(request, attempt_seconds)

    async def list_snapshot_transitions(
        self,
        id: SnapshotId,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> TransitionList:
        """The transition log of a snapshot. Scope: sandbox:read.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listSnapshotTransitions",
            "GET",
            "/api/v2/snapshots/{id}/transitions",
            path={"id": id},
            query={"limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, TransitionList.from_json, attempt_seconds)

    async def export_snapshot(
        self,
        id: SnapshotId,
        *,
        offset: Optional[int] = None,
        attempt_seconds: Optional[float] = None,
    ) -> Content:
        """A snapshot as one file. Scope: sandbox:read.

        offset: How many bytes of the file are left out at its beginning.
        """
        request = Request(
            "exportSnapshot",
            "GET",
            "/api/v2/snapshots/{id}/content",
            path={"id": id},
            query={"offset": offset},
        )
        return await self.transport.content(request, attempt_seconds)

    async def open_export_snapshot(self, id: SnapshotId, *, offset: Optional[int] = None) -> httpx.Response:
        """The same as export_snapshot, for who reads it piece by piece."""
        request = Request(
            "exportSnapshot",
            "GET",
            "/api/v2/snapshots/{id}/content",
            path={"id": id},
            query={"offset": offset},
        )
        return await self.transport.open(request)

    async def fork_sandbox(
        self,
        id: SandboxId,
        *,
        idempotency_key: str,
        count: Given[Optional[int]] = UNSET,
        names: Given[Optional[List[Optional[str]]]] = UNSET,
        at_revision: Given[Optional[int]] = UNSET,
        memory: Given[Optional[bool]] = UNSET,
        metadata: Given[Optional[Dict[str, str]]] = UNSET,
        lifetime: Given[Optional[Lifetime]] = UNSET,
        expires_at: Given[Optional[str]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> ForkResponse:
        """Make copies of a Sandbox. Scope: sandbox:create.

        idempotency_key: Names this request. Keys belong to the account and the kind of call; a repeated key with the
        same method, path and JSON body gives the original result, with another one 409. A key lives as long as what
        it made, and at least 24 hours.
        count: How many Sandboxes to make, at most 100. By default `1`.
        names: Their names, in order; null in it: no name. At most `count`; those without an entry are called as the
        source is.
        at_revision: A revision of the Sandbox's transition log: no snapshot is taken; the newest ready one at or
        before that revision is used, also of a deleted Sandbox. `missing` says what it does not contain. Not
        together with expiresAt. Absent or null: a new snapshot of now.
        memory: true: with the memory, so that each goes on with the running processes. Only of a virtual machine
        (else 422) that runs or sleeps (else 409). By default `false`.
        metadata: Of each. Absent or null: the source's.
        lifetime: Of each, as in createSandbox. Absent or null: the source's.
        expires_at: When the snapshot is deleted: an instant in the future. Absent or null: 24 hours after this call.
        """
        request = Request(
            "forkSandbox",
            "POST",
            "/api/v2/sandboxes/{id}/fork",
            path={"id": id},
            headers={"Idempotency-Key": idempotency_key},
            json={"count": count, "names": names, "atRevision": at_revision, "memory": memory, "metadata": metadata, "lifetime": lifetime, "expiresAt": expires_at},
        )
        return await self.transport.json(request, ForkResponse.from_json, attempt_seconds)

    async def rollback_sandbox(
        self,
        id: SandboxId,
        *,
        snapshot_id: SnapshotId,
        idempotency_key: Optional[str] = None,
        keep: Given[Optional[bool]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> RollbackResponse:
        """Give a Sandbox the volume of a snapshot. Scope: sandbox:create.

        idempotency_key: Names this rollback. A repeated key with the same Sandbox and body rolls nothing back a
        second time, also after later ones; with another one 409. A key lives as long as its Sandbox, and at least 24
        hours.
        keep: true: the present volume becomes a snapshot first, which is deleted after 24 hours. false: it is given
        up; that needs the scope `sandbox:delete`, too. By default `true`.
        """
        request = Request(
            "rollbackSandbox",
            "POST",
            "/api/v2/sandboxes/{id}/rollback",
            path={"id": id},
            headers={"Idempotency-Key": idempotency_key},
            json={"snapshotId": snapshot_id, "keep": keep},
        )
        return await self.transport.json(request, RollbackResponse.from_json, attempt_seconds)

    async def read_sandbox_lineage(
        self,
        id: SandboxId,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> SandboxLineage:
        """From which Sandboxes a Sandbox comes, and which come from it. Scope: sandbox:read.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "readSandboxLineage",
            "GET",
            "/api/v2/sandboxes/{id}/lineage",
            path={"id": id},
            query={"limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, SandboxLineage.from_json, attempt_seconds)

    async def pull_image(
        self,
        *,
        idempotency_key: Optional[str] = None,
        name: Given[Optional[str]] = UNSET,
        reference: Given[Optional[ImageReference]] = UNSET,
        username: Given[Optional[str]] = UNSET,
        password: Given[Optional[str]] = UNSET,
        dockerfile: Given[Optional[str]] = UNSET,
        context_snapshot_id: Given[Optional[SnapshotId]] = UNSET,
        target: Given[Optional[str]] = UNSET,
        build_args: Given[Optional[Dict[str, str]]] = UNSET,
        registry: Given[Optional[str]] = UNSET,
        workspace_id: Given[Optional[str]] = UNSET,
        profile: Given[Optional[Profile]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> ImageResponse:
        """Pull an image from a registry, or build one of a Dockerfile. Scope: sandbox:create.

        idempotency_key: Names this request. A repeated key with the same body gives the original image, with another
        one 409. Without one, a repetition pulls or builds another image. A key lives as long as what it made, and at
        least 24 hours.
        name: For people; names need not be unique. Absent or null: none.
        reference: Of an image to pull. Either this or `dockerfile`.
        username: For the registry, together with `password`. Absent or null: it is asked without.
        password: Or an access token. It is stored sealed, never answered, and sent to that registry only. It is
        forgotten with the image.
        dockerfile: The text of a Dockerfile of which the image is built, at most 65536 bytes. Either this or
        `reference`.
        context_snapshot_id: An own snapshot that is ready, without memory: its /workspace is the context. Absent or
        null: the context is empty.
        target: The stage to build, by name or number. Absent or null: the last one.
        build_args: Values of the Dockerfile's ARG, by name; at most 64. They are no secrets: the build's operation
        shows them, and so may the image's history.
        registry: With dockerfile: the host of the registry that `username` and `password` are for.
        workspace_id: The own workspace that the build's Sandbox is in. Absent or null: that of the snapshot, else
        the account's oldest one.
        profile: The sizes of the build's Sandbox, as for a create. Layers, the context and the image need room on
        its volume.
        """
        request = Request(
            "pullImage",
            "POST",
            "/api/v2/images",
            headers={"Idempotency-Key": idempotency_key},
            json={"name": name, "reference": reference, "username": username, "password": password, "dockerfile": dockerfile, "contextSnapshotId": context_snapshot_id, "target": target, "buildArgs": build_args, "registry": registry, "workspaceId": workspace_id, "profile": profile},
        )
        return await self.transport.json(request, ImageResponse.from_json, attempt_seconds)

    async def list_images(
        self,
        *,
        name: Optional[str] = None,
        status: Optional[List[ImageStatus]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> ImageList:
        """List images. Scope: sandbox:read.

        name: Only those with exactly this name.
        status: Only those in one of these: the parameter repeated, or commas between them.
        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listImages",
            "GET",
            "/api/v2/images",
            query={"name": name, "status": status, "limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, ImageList.from_json, attempt_seconds)

    async def upload_image(
        self,
        *,
        content: AsyncBody,
        name: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> ImageResponse:
        """Make an image of an archive. Scope: sandbox:create.

        name: For people; names need not be unique. Absent: none.
        idempotency_key: Names this request. A repeated key with the same query and the same body gives the original
        image, with another one 409; the body is read whole before either. Without one, a repetition uploads another
        image. A key lives as long as what it made, and at least 24 hours.
        """
        request = Request(
            "uploadImage",
            "POST",
            "/api/v2/images/upload",
            query={"name": name},
            headers={"Idempotency-Key": idempotency_key},
            content=content,
            content_type="application/vnd.oci.image.layout.v1.tar",
        )
        return await self.transport.json(request, ImageResponse.from_json, attempt_seconds)

    async def build_image(
        self,
        *,
        content: AsyncBody,
        name: Optional[str] = None,
        dockerfile: Optional[str] = None,
        target: Optional[str] = None,
        build_arg: Optional[List[str]] = None,
        workspace_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        content_encoding: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> ImageResponse:
        """Build an image of a Dockerfile with its context. Scope: sandbox:create.

        name: For people; names need not be unique. Absent: none.
        dockerfile: The path of the Dockerfile in the archive. Absent: `Dockerfile`.
        target: The stage to build. Absent: the last one.
        build_arg: NAME=VALUE of an ARG; the parameter repeated, at most 64 times.
        workspace_id: The own workspace that the build's Sandbox is in. Absent or null: that of the snapshot, else
        the account's oldest one.
        idempotency_key: Names this request. A repeated key with the same query and the same body gives the original
        image, with another one 409; the body is read whole before either. Without one, a repetition builds another
        image. A key lives as long as what it made, and at least 24 hours.
        content_encoding: gzip where the archive is compressed so (a .tar.gz).
        """
        request = Request(
            "buildImage",
            "POST",
            "/api/v2/images/build",
            query={"name": name, "dockerfile": dockerfile, "target": target, "buildArg": build_arg, "workspaceId": workspace_id},
            headers={"Idempotency-Key": idempotency_key, "Content-Encoding": content_encoding},
            content=content,
            content_type="application/x-tar",
        )
        return await self.transport.json(request, ImageResponse.from_json, attempt_seconds)

    async def get_image(self, id: ImageId, *, attempt_seconds: Optional[float] = None) -> ImageResponse:
        """Get an image. Scope: sandbox:read."""
        request = Request("getImage", "GET", "/api/v2/images/{id}", path={"id": id})
        return await self.transport.json(request, ImageResponse.from_json, attempt_seconds)

    async def delete_image(self, id: ImageId, *, attempt_seconds: Optional[float] = None) -> None:
        """Delete an image. Scope: sandbox:delete."""
        request = Request("deleteImage", "DELETE", "/api/v2/images/{id}", path={"id": id})
        await self.transport.nothing(request, attempt_seconds)

    async def read_build_output(
        self,
        id: ImageId,
        *,
        stream: OutputStream,
        offset: int,
        limit: Optional[int] = None,
        attempt_seconds: Optional[float] = None,
    ) -> OperationOutputChunk:
        """Read the output of a build. Scope: sandbox:execute.

        offset: Absolute byte offset.
        limit: Most decoded bytes of the answer.
        """
        request = Request(
            "readBuildOutput",
            "GET",
            "/api/v2/images/{id}/build/output",
            path={"id": id},
            query={"stream": stream, "offset": offset, "limit": limit},
        )
        return await self.transport.json(request, OperationOutputChunk.from_json, attempt_seconds)

    async def stream_build_output(
        self,
        id: ImageId,
        *,
        stdout_offset: Optional[int] = None,
        stderr_offset: Optional[int] = None,
        last_event_id: Optional[str] = None,
    ) -> httpx.Response:
        """Follow the output of a build. Scope: sandbox:execute.

        stdout_offset: Absolute byte offset.
        stderr_offset: Absolute byte offset.
        last_event_id: As EventSource sends it: counts instead of the offsets.
        """
        request = Request(
            "streamBuildOutput",
            "GET",
            "/api/v2/images/{id}/build/output/stream",
            path={"id": id},
            query={"stdoutOffset": stdout_offset, "stderrOffset": stderr_offset},
            headers={"Last-Event-Id": last_event_id},
        )
        return await self.transport.open(request)

    async def list_image_transitions(
        self,
        id: ImageId,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> TransitionList:
        """The transition log of an image. Scope: sandbox:read.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listImageTransitions",
            "GET",
            "/api/v2/images/{id}/transitions",
            path={"id": id},
            query={"limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, TransitionList.from_json, attempt_seconds)

    async def execute(
        self,
        id: SandboxId,
        *,
        argv: List[str],
        cwd: Given[Optional[WorkspacePath]] = UNSET,
        env: Given[Optional[Dict[str, str]]] = UNSET,
        stdin: Given[Optional[str]] = UNSET,
        encoding: Given[Optional[Encoding]] = UNSET,
        timeout_seconds: Given[Optional[float]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> ExecuteResponse:
        """Run a command and wait for its end. Scope: sandbox:execute.

        argv: The program and its arguments; no shell is involved. Entries contain no NUL.
        cwd: Where it runs; a directory that exists. By default `"/workspace"`.
        env: Added to the Sandbox's own environment. By default `{}`.
        stdin: All of its input, in `encoding`, after which the input ends. Absent or null: it is empty.
        encoding: Of stdin, and of stdout and stderr where they are answered. By default `"utf8"`.
        timeout_seconds: After so long the command is killed, and the answer is 408; a fraction counts, rounded up to
        a whole millisecond. By default `60`.
        """
        request = Request(
            "execute",
            "POST",
            "/api/v2/sandboxes/{id}/execute",
            path={"id": id},
            json={"argv": argv, "cwd": cwd, "env": env, "stdin": stdin, "encoding": encoding, "timeoutSeconds": timeout_seconds},
        )
        return await self.transport.json(request, ExecuteResponse.from_json, attempt_seconds)

    async def start_operation(
        self,
        id: SandboxId,
        *,
        idempotency_key: str,
        argv: List[str],
        cwd: Given[Optional[WorkspacePath]] = UNSET,
        env: Given[Optional[Dict[str, str]]] = UNSET,
        stdin: Given[Optional[str]] = UNSET,
        encoding: Given[Optional[Encoding]] = UNSET,
        timeout_seconds: Given[Optional[float]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> OperationResponse:
        """Start an operation. Scope: sandbox:execute.

        idempotency_key: Names this request. Keys belong to the account and the kind of call; a repeated key with the
        same method, path and JSON body gives the original result, with another one 409. A key lives as long as what
        it made, and at least 24 hours.
        argv: The program and its arguments; no shell is involved. Entries contain no NUL.
        cwd: Where it runs; a directory that exists. By default `"/workspace"`.
        env: Added to the Sandbox's own environment. By default `{}`.
        stdin: All of its input, in `encoding`, after which the input ends. Absent or null: it is empty.
        encoding: Of stdin, and of stdout and stderr where they are answered. By default `"utf8"`.
        timeout_seconds: After so long it is killed and failed, counted from startedAt: waiting in the queue does not
        count. A fraction counts, rounded up to a whole millisecond. Absent or null: never.
        """
        request = Request(
            "startOperation",
            "POST",
            "/api/v2/sandboxes/{id}/operations",
            path={"id": id},
            headers={"Idempotency-Key": idempotency_key},
            json={"argv": argv, "cwd": cwd, "env": env, "stdin": stdin, "encoding": encoding, "timeoutSeconds": timeout_seconds},
        )
        return await self.transport.json(request, OperationResponse.from_json, attempt_seconds)

    async def list_operations(
        self,
        id: SandboxId,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> OperationList:
        """List the operations of a Sandbox. Scope: sandbox:execute.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listOperations",
            "GET",
            "/api/v2/sandboxes/{id}/operations",
            path={"id": id},
            query={"limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, OperationList.from_json, attempt_seconds)

    async def get_operation(
        self,
        id: SandboxId,
        operation_id: OperationId,
        *,
        attempt_seconds: Optional[float] = None,
    ) -> OperationResponse:
        """Get an operation. Scope: sandbox:execute."""
        request = Request(
            "getOperation",
            "GET",
            "/api/v2/sandboxes/{id}/operations/{operationId}",
            path={"id": id, "operationId": operation_id},
        )
        return await self.transport.json(request, OperationResponse.from_json, attempt_seconds)

    async def read_operation_output(
        self,
        id: SandboxId,
        operation_id: OperationId,
        *,
        stream: OutputStream,
        offset: int,
        limit: Optional[int] = None,
        attempt_seconds: Optional[float] = None,
    ) -> OperationOutputChunk:
        """Read output by absolute byte offset. Scope: sandbox:execute.

        offset: Absolute byte offset.
        limit: Most decoded bytes of the answer.
        """
        request = Request(
            "readOperationOutput",
            "GET",
            "/api/v2/sandboxes/{id}/operations/{operationId}/output",
            path={"id": id, "operationId": operation_id},
            query={"stream": stream, "offset": offset, "limit": limit},
        )
        return await self.transport.json(request, OperationOutputChunk.from_json, attempt_seconds)

    async def stream_operation_output(
        self,
        id: SandboxId,
        operation_id: OperationId,
        *,
        stdout_offset: Optional[int] = None,
        stderr_offset: Optional[int] = None,
        last_event_id: Optional[str] = None,
    ) -> httpx.Response:
        """Follow the output as it is written. Scope: sandbox:execute.

        stdout_offset: Absolute byte offset.
        stderr_offset: Absolute byte offset.
        last_event_id: As EventSource sends it: counts instead of the offsets.
        """
        request = Request(
            "streamOperationOutput",
            "GET",
            "/api/v2/sandboxes/{id}/operations/{operationId}/output/stream",
            path={"id": id, "operationId": operation_id},
            query={"stdoutOffset": stdout_offset, "stderrOffset": stderr_offset},
            headers={"Last-Event-Id": last_event_id},
        )
        return await self.transport.open(request)

    async def wait_operation(
        self,
        id: SandboxId,
        operation_id: OperationId,
        *,
        timeout_seconds: Given[Optional[float]] = UNSET,
        stdout_offset: Given[Optional[int]] = UNSET,
        stderr_offset: Given[Optional[int]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> OperationResponse:
        """Wait for progress. Scope: sandbox:execute.

        timeout_seconds: How long to wait at most; a fraction counts, rounded up to a whole millisecond. By default
        `30`.
        stdout_offset: Absolute byte offset: more output than this ends the wait. Absent or null: none does.
        stderr_offset: Absolute byte offset: more error output than this ends the wait. Absent or null: none does.
        """
        request = Request(
            "waitOperation",
            "POST",
            "/api/v2/sandboxes/{id}/operations/{operationId}/wait",
            path={"id": id, "operationId": operation_id},
            json={"timeoutSeconds": timeout_seconds, "stdoutOffset": stdout_offset, "stderrOffset": stderr_offset},
        )
        return await self.transport.json(request, OperationResponse.from_json, attempt_seconds)

    async def cancel_operation(
        self,
        id: SandboxId,
        operation_id: OperationId,
        *,
        attempt_seconds: Optional[float] = None,
    ) -> OperationResponse:
        """Cancel an operation. Scope: sandbox:execute."""
        request = Request(
            "cancelOperation",
            "POST",
            "/api/v2/sandboxes/{id}/operations/{operationId}/cancel",
            path={"id": id, "operationId": operation_id},
        )
        return await self.transport.json(request, OperationResponse.from_json, attempt_seconds)

    async def list_operation_transitions(
        self,
        id: SandboxId,
        operation_id: OperationId,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> TransitionList:
        """The transition log of an operation. Scope: sandbox:read.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listOperationTransitions",
            "GET",
            "/api/v2/sandboxes/{id}/operations/{operationId}/transitions",
            path={"id": id, "operationId": operation_id},
            query={"limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, TransitionList.from_json, attempt_seconds)

    async def list_declined_events(
        self,
        id: SandboxId,
        operation_id: OperationId,
        *,
        attempt_seconds: Optional[float] = None,
    ) -> DeclinedEventList:
        """What an operation did not take. Scope: sandbox:read."""
        request = Request(
            "listDeclinedEvents",
            "GET",
            "/api/v2/sandboxes/{id}/operations/{operationId}/declined",
            path={"id": id, "operationId": operation_id},
        )
        return await self.transport.json(request, DeclinedEventList.from_json, attempt_seconds)

    async def list_processes(self, id: SandboxId, *, attempt_seconds: Optional[float] = None) -> ProcessList:
        """List the processes of a Sandbox. Scope: sandbox:execute."""
        request = Request("listProcesses", "GET", "/api/v2/sandboxes/{id}/processes", path={"id": id})
        return await self.transport.json(request, ProcessList.from_json, attempt_seconds)

    async def end_process(
        self,
        id: SandboxId,
        process_id: ProcessId,
        *,
        grace_seconds: Optional[int] = None,
        attempt_seconds: Optional[float] = None,
    ) -> None:
        """End one process. Scope: sandbox:execute.

        grace_seconds: Time between TERM and KILL; 0 kills immediately.
        """
        request = Request(
            "endProcess",
            "DELETE",
            "/api/v2/sandboxes/{id}/processes/{processId}",
            path={"id": id, "processId": process_id},
            query={"graceSeconds": grace_seconds},
        )
        await self.transport.nothing(request, attempt_seconds)

    async def stat_file(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        attempt_seconds: Optional[float] = None,
    ) -> FileStatResponse:
        """Metadata of one path. Scope: sandbox:read."""
        request = Request("statFile", "GET", "/api/v2/sandboxes/{id}/files/stat", path={"id": id}, query={"path": path})
        return await self.transport.json(request, FileStatResponse.from_json, attempt_seconds)

    async def read_file(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        offset: Optional[int] = None,
        max_bytes: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> Content:
        """Read a range of a file. Scope: sandbox:read.

        offset: First byte. Not needed with a cursor; one that disagrees with it is refused.
        max_bytes: Most bytes of the answer.
        cursor: The X-Service-Next-Cursor of the range before.
        """
        request = Request(
            "readFile",
            "GET",
            "/api/v2/sandboxes/{id}/files/content",
            path={"id": id},
            query={"path": path, "offset": offset, "maxBytes": max_bytes, "cursor": cursor},
        )
        return await self.transport.content(request, attempt_seconds)

    async def open_read_file(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        offset: Optional[int] = None,
        max_bytes: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> httpx.Response:
        """The same as read_file, for who reads it piece by piece."""
        request = Request(
            "readFile",
            "GET",
            "/api/v2/sandboxes/{id}/files/content",
            path={"id": id},
            query={"path": path, "offset": offset, "maxBytes": max_bytes, "cursor": cursor},
        )
        return await self.transport.open(request)

    async def write_file(
        self,
        id: SandboxId,
        *,
        content: AsyncBody,
        path: FilePath,
        attempt_seconds: Optional[float] = None,
    ) -> None:
        """Create or replace a file. Scope: sandbox:execute."""
        request = Request(
            "writeFile",
            "PUT",
            "/api/v2/sandboxes/{id}/files/content",
            path={"id": id},
            query={"path": path},
            content=content,
            content_type="application/octet-stream",
        )
        await self.transport.nothing(request, attempt_seconds)

    async def edit_file(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        expected_sha256: str,
        old_text: str,
        new_text: str,
        replace_all: Given[Optional[bool]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> EditFileResponse:
        """Replace text in a file. Scope: sandbox:execute.

        expected_sha256: SHA-256 of the complete file as you last saw it.
        old_text: What is there now.
        new_text: What is to be there instead.
        replace_all: False: oldText must occur exactly once. True: every occurrence is replaced; they do not overlap.
        By default `false`.
        """
        request = Request(
            "editFile",
            "PATCH",
            "/api/v2/sandboxes/{id}/files/content",
            path={"id": id},
            query={"path": path},
            json={"expectedSha256": expected_sha256, "oldText": old_text, "newText": new_text, "replaceAll": replace_all},
        )
        return await self.transport.json(request, EditFileResponse.from_json, attempt_seconds)

    async def list_files(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        page_size: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> FileList:
        """List a directory. Scope: sandbox:read.

        page_size: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listFiles",
            "GET",
            "/api/v2/sandboxes/{id}/files/list",
            path={"id": id},
            query={"path": path, "pageSize": page_size, "cursor": cursor},
        )
        return await self.transport.json(request, FileList.from_json, attempt_seconds)

    async def create_directory(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        recursive: Given[Optional[bool]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> None:
        """Create a directory. Scope: sandbox:execute.

        recursive: Makes missing parents too, and is content with a directory that is there already. By default
        `false`.
        """
        request = Request(
            "createDirectory",
            "POST",
            "/api/v2/sandboxes/{id}/files/directory",
            path={"id": id},
            query={"path": path},
            json={"recursive": recursive},
        )
        await self.transport.nothing(request, attempt_seconds)

    async def rename_file(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        destination: FilePath,
        overwrite: Given[Optional[bool]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> None:
        """Rename a file or directory. Scope: sandbox:execute.

        overwrite: Atomically replaces a destination that exists; otherwise it is 409. By default `false`.
        """
        request = Request(
            "renameFile",
            "POST",
            "/api/v2/sandboxes/{id}/files/rename",
            path={"id": id},
            query={"path": path},
            json={"destination": destination, "overwrite": overwrite},
        )
        await self.transport.nothing(request, attempt_seconds)

    async def remove_file(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        recursive: Optional[bool] = None,
        attempt_seconds: Optional[float] = None,
    ) -> None:
        """Remove a file or directory. Scope: sandbox:execute.

        recursive: Removes a directory with everything in it.
        """
        request = Request(
            "removeFile",
            "DELETE",
            "/api/v2/sandboxes/{id}/files",
            path={"id": id},
            query={"path": path, "recursive": recursive},
        )
        await self.transport.nothing(request, attempt_seconds)

    async def upload_archive(
        self,
        id: SandboxId,
        *,
        content: AsyncBody,
        path: FilePath,
        content_encoding: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> UnpackedArchive:
        """Unpack a tar archive into a directory. Scope: sandbox:execute.

        content_encoding: gzip where the archive is compressed so (a .tar.gz).
        """
        request = Request(
            "uploadArchive",
            "POST",
            "/api/v2/sandboxes/{id}/files/archive",
            path={"id": id},
            query={"path": path},
            headers={"Content-Encoding": content_encoding},
            content=content,
            content_type="application/x-tar",
        )
        return await self.transport.json(request, UnpackedArchive.from_json, attempt_seconds)

    async def download_archive(
        self,
        id: SandboxId,
        *,
        path: FilePath,
        attempt_seconds: Optional[float] = None,
    ) -> Content:
        """A directory as a tar archive. Scope: sandbox:read."""
        request = Request(
            "downloadArchive",
            "GET",
            "/api/v2/sandboxes/{id}/files/archive",
            path={"id": id},
            query={"path": path},
        )
        return await self.transport.content(request, attempt_seconds)

    async def open_download_archive(self, id: SandboxId, *, path: FilePath) -> httpx.Response:
        """The same as download_archive, for who reads it piece by piece."""
        request = Request(
            "downloadArchive",
            "GET",
            "/api/v2/sandboxes/{id}/files/archive",
            path={"id": id},
            query={"path": path},
        )
        return await self.transport.open(request)

    async def read_logs(
        self,
        id: SandboxId,
        *,
        since: Optional[str] = None,
        stream: Optional[OutputStream] = None,
        source: Optional[LogSource] = None,
        operation_id: Optional[OperationId] = None,
        until: Optional[str] = None,
        limit: Optional[int] = None,
        attempt_seconds: Optional[float] = None,
    ) -> LogsResponse:
        """Read the log of a Sandbox. Scope: sandbox:read.

        since: Only entries at or after this instant.
        until: Only entries before this instant.
        limit: Most entries of the answer: the newest that match.
        """
        request = Request(
            "readLogs",
            "GET",
            "/api/v2/sandboxes/{id}/logs",
            path={"id": id},
            query={"since": since, "stream": stream, "source": source, "operationId": operation_id, "until": until, "limit": limit},
        )
        return await self.transport.json(request, LogsResponse.from_json, attempt_seconds)

    async def stream_logs(
        self,
        id: SandboxId,
        *,
        since: Optional[str] = None,
        stream: Optional[OutputStream] = None,
        source: Optional[LogSource] = None,
        operation_id: Optional[OperationId] = None,
        limit: Optional[int] = None,
        after: Optional[str] = None,
        last_event_id: Optional[str] = None,
    ) -> httpx.Response:
        """Follow the log as it is written. Scope: sandbox:read.

        since: Only entries at or after this instant.
        limit: Most entries of what is stored already that are told first: the newest that match.
        after: The `id` of the last event that was received; Last-Event-ID counts instead.
        last_event_id: As EventSource sends it: the `id` of the last event that was received.
        """
        request = Request(
            "streamLogs",
            "GET",
            "/api/v2/sandboxes/{id}/logs/stream",
            path={"id": id},
            query={"since": since, "stream": stream, "source": source, "operationId": operation_id, "limit": limit, "after": after},
            headers={"Last-Event-Id": last_event_id},
        )
        return await self.transport.open(request)

    async def read_analytics(
        self,
        id: SandboxId,
        *,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        resolution_seconds: Optional[int] = None,
        generation: Optional[int] = None,
        attempt_seconds: Optional[float] = None,
    ) -> AnalyticsResponse:
        """Lifecycle, operations and resources of a Sandbox. Scope: sandbox:read.

        from_: Begin of the window; 24 hours before `to` by default.
        to: End of the window, exclusive; now by default.
        resolution_seconds: Length of one bucket.
        generation: Only what belongs to this boot.
        """
        request = Request(
            "readAnalytics",
            "GET",
            "/api/v2/sandboxes/{id}/analytics",
            path={"id": id},
            query={"from": from_, "to": to, "resolutionSeconds": resolution_seconds, "generation": generation},
        )
        return await self.transport.json(request, AnalyticsResponse.from_json, attempt_seconds)

    async def create_preview(
        self,
        id: SandboxId,
        *,
        port: int,
        alongside: Given[Optional[bool]] = UNSET,
        attempt_seconds: Optional[float] = None,
    ) -> PreviewResponse:
        """Open a preview of a port. Scope: sandbox:execute.

        port: The port inside the Sandbox; nothing needs to listen there yet.
        alongside: true: opens it beside previews of other ports, at most 16 in a Sandbox. false: 409 while any
        preview is open. By default `false`.
        """
        request = Request(
            "createPreview",
            "POST",
            "/api/v2/sandboxes/{id}/previews",
            path={"id": id},
            json={"port": port, "alongside": alongside},
        )
        return await self.transport.json(request, PreviewResponse.from_json, attempt_seconds)

    async def list_previews(self, id: SandboxId, *, attempt_seconds: Optional[float] = None) -> PreviewList:
        """List previews. Scope: sandbox:execute."""
        request = Request("listPreviews", "GET", "/api/v2/sandboxes/{id}/previews", path={"id": id})
        return await self.transport.json(request, PreviewList.from_json, attempt_seconds)

    async def close_previews(self, id: SandboxId, *, attempt_seconds: Optional[float] = None) -> None:
        """Close what is open. Scope: sandbox:execute."""
        request = Request("closePreviews", "DELETE", "/api/v2/sandboxes/{id}/previews", path={"id": id})
        await self.transport.nothing(request, attempt_seconds)

    async def look_up_preview(
        self,
        id: SandboxId,
        *,
        port: int,
        attempt_seconds: Optional[float] = None,
    ) -> PreviewResponse:
        """Get the address of an open preview again. Scope: sandbox:execute.

        port: The port inside the Sandbox.
        """
        request = Request(
            "lookUpPreview",
            "POST",
            "/api/v2/sandboxes/{id}/previews/lookup",
            path={"id": id},
            json={"port": port},
        )
        return await self.transport.json(request, PreviewResponse.from_json, attempt_seconds)

    async def close_preview(
        self,
        id: SandboxId,
        preview_id: PreviewId,
        *,
        attempt_seconds: Optional[float] = None,
    ) -> None:
        """Close a preview. Scope: sandbox:execute."""
        request = Request(
            "closePreview",
            "DELETE",
            "/api/v2/sandboxes/{id}/previews/{previewId}",
            path={"id": id, "previewId": preview_id},
        )
        await self.transport.nothing(request, attempt_seconds)

    async def create_service_access(
        self,
        id: SandboxId,
        *,
        idempotency_key: ServiceAccessId,
        requested_at: str,
        ports: List[int],
        attempt_seconds: Optional[float] = None,
    ) -> ServiceAccessEnvelope:
        """Open TCP access to ports. Scope: sandbox:execute.

        requested_at: Within 60 s of the server's clock at first use. The access ends exactly 3600 s after it;
        nothing renews it.
        ports: Strictly ascending.
        """
        request = Request(
            "createServiceAccess",
            "POST",
            "/api/v2/sandboxes/{id}/services",
            path={"id": id},
            headers={"Idempotency-Key": idempotency_key},
            json={"requested_at": requested_at, "ports": ports},
        )
        return await self.transport.json(request, ServiceAccessEnvelope.from_json, attempt_seconds)

    async def look_up_service_access(
        self,
        id: SandboxId,
        *,
        idempotency_key: ServiceAccessId,
        requested_at: str,
        ports: List[int],
        attempt_seconds: Optional[float] = None,
    ) -> ServiceAccessEnvelope:
        """Recover a live envelope. Scope: sandbox:execute.

        requested_at: Within 60 s of the server's clock at first use. The access ends exactly 3600 s after it;
        nothing renews it.
        ports: Strictly ascending.
        """
        request = Request(
            "lookUpServiceAccess",
            "POST",
            "/api/v2/sandboxes/{id}/services/lookup",
            path={"id": id},
            headers={"Idempotency-Key": idempotency_key},
            json={"requested_at": requested_at, "ports": ports},
        )
        return await self.transport.json(request, ServiceAccessEnvelope.from_json, attempt_seconds)

    async def revoke_service_access(
        self,
        id: SandboxId,
        generation_id: ServiceAccessId,
        *,
        attempt_seconds: Optional[float] = None,
    ) -> ServiceAccessRevoke:
        """Revoke TCP access. Scope: sandbox:execute."""
        request = Request(
            "revokeServiceAccess",
            "DELETE",
            "/api/v2/sandboxes/{id}/services/{generationId}",
            path={"id": id, "generationId": generation_id},
        )
        return await self.transport.json(request, ServiceAccessRevoke.from_json, attempt_seconds)

    async def grant_connection(
        self,
        id: SandboxId,
        *,
        public_keys: List[str],
        attempt_seconds: Optional[float] = None,
    ) -> CooperativeEnvelope:
        """Grant an SSH connection. Scope: sandbox:execute.

        public_keys: One line each, as in authorized_keys. RSA of at least 3072 bits.
        """
        request = Request(
            "grantConnection",
            "POST",
            "/api/v2/sandboxes/{id}/cooperative-connection",
            path={"id": id},
            json={"publicKeys": public_keys},
        )
        return await self.transport.json(request, CooperativeEnvelope.from_json, attempt_seconds)

    async def regrant_connection(
        self,
        id: SandboxId,
        endpoint_id: EndpointId,
        *,
        public_keys: List[str],
        attempt_seconds: Optional[float] = None,
    ) -> CooperativeEnvelope:
        """Recover a grant. Scope: sandbox:execute.

        public_keys: One line each, as in authorized_keys. RSA of at least 3072 bits.
        """
        request = Request(
            "regrantConnection",
            "POST",
            "/api/v2/sandboxes/{id}/cooperative-connection/{endpointId}",
            path={"id": id, "endpointId": endpoint_id},
            json={"publicKeys": public_keys},
        )
        return await self.transport.json(request, CooperativeEnvelope.from_json, attempt_seconds)

    async def revoke_connection(
        self,
        id: SandboxId,
        endpoint_id: EndpointId,
        *,
        attempt_seconds: Optional[float] = None,
    ) -> CooperativeRevoke:
        """Revoke a grant. Scope: sandbox:execute."""
        request = Request(
            "revokeConnection",
            "DELETE",
            "/api/v2/sandboxes/{id}/cooperative-connection/{endpointId}",
            path={"id": id, "endpointId": endpoint_id},
        )
        return await self.transport.json(request, CooperativeRevoke.from_json, attempt_seconds)

    async def read_usage(
        self,
        *,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> UsageResponse:
        """What the account used. Scope: usage:read.

        from_: Begin of the window; by default that of the current UTC month, or of the one that `to` ends or is in.
        to: End of the window, exclusive; the end of the current UTC month by default.
        """
        request = Request("readUsage", "GET", "/api/v2/usage", query={"from": from_, "to": to})
        return await self.transport.json(request, UsageResponse.from_json, attempt_seconds)

    async def read_balance(self, *, attempt_seconds: Optional[float] = None) -> BalanceResponse:
        """The account's credit. Scope: usage:read."""
        request = Request("readBalance", "GET", "/api/v2/usage/balance")
        return await self.transport.json(request, BalanceResponse.from_json, attempt_seconds)

    async def list_transactions(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        attempt_seconds: Optional[float] = None,
    ) -> WalletTransactionList:
        """What came into the account's wallet and what left it. Scope: usage:read.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        """
        request = Request(
            "listTransactions",
            "GET",
            "/api/v2/usage/transactions",
            query={"limit": limit, "cursor": cursor},
        )
        return await self.transport.json(request, WalletTransactionList.from_json, attempt_seconds)

    async def read_costs(
        self,
        *,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        group_by: Optional[Literal["sandbox", "day", "workspace"]] = None,
        sandbox_id: Optional[SandboxId] = None,
        attempt_seconds: Optional[float] = None,
    ) -> CostReport:
        """What the account's Sandboxes, their snapshots and its images cost. Scope: usage:read.

        from_: Begin of the window; by default that of the current UTC month, or of the one that `to` ends or is in.
        to: End of the window, exclusive; the end of the current UTC month by default.
        group_by: What each cost is of.
        """
        request = Request(
            "readCosts",
            "GET",
            "/api/v2/usage/costs",
            query={"from": from_, "to": to, "groupBy": group_by, "sandboxId": sandbox_id},
        )
        return await self.transport.json(request, CostReport.from_json, attempt_seconds)

    async def stream_sandbox_events(
        self,
        id: SandboxId,
        *,
        after: Optional[str] = None,
        last_event_id: Optional[str] = None,
    ) -> httpx.Response:
        """Watch a Sandbox and all that is in it. Scope: sandbox:read.

        after: The `id` of the last event that was received; Last-Event-ID, if sent, counts instead.
        last_event_id: As EventSource sends it: the `id` of the last event that was received.
        """
        request = Request(
            "streamSandboxEvents",
            "GET",
            "/api/v2/sandboxes/{id}/events",
            path={"id": id},
            query={"after": after},
            headers={"Last-Event-Id": last_event_id},
        )
        return await self.transport.open(request)

    async def stream_events(
        self,
        *,
        after: Optional[str] = None,
        last_event_id: Optional[str] = None,
    ) -> httpx.Response:
        """Watch all Sandboxes of the account. Scope: sandbox:read.

        after: The `id` of the last event that was received; Last-Event-ID, if sent, counts instead.
        last_event_id: As EventSource sends it: the `id` of the last event that was received.
        """
        request = Request(
            "streamEvents",
            "GET",
            "/api/v2/events",
            query={"after": after},
            headers={"Last-Event-Id": last_event_id},
        )
        return await self.transport.open(request)

    async def list_audit_events(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        action: Optional[str] = None,
        sandbox_id: Optional[SandboxId] = None,
        attempt_seconds: Optional[float] = None,
    ) -> AuditLog:
        """The account's API audit log. Scope: usage:read.

        limit: Most entries of one page.
        cursor: The nextCursor of the page before, unchanged.
        from_: Only events at this instant or later.
        to: Only events before this instant.
        action: Only these: an operationId, or another of the actions that events have.
        """
        request = Request(
            "listAuditEvents",
            "GET",
            "/api/v2/usage/audit",
            query={"limit": limit, "cursor": cursor, "from": from_, "to": to, "action": action, "sandboxId": sandbox_id},
        )
        return await self.transport.json(request, AuditLog.from_json, attempt_seconds)
