# Made by `npm run clients` from version 2.0.0 of the service's OpenAPI description. Not to be edited.
"""What the service answers, as it names it. Later versions may have more: fields that are not here are ignored, and a
word that no Literal has is taken as it is. Times are RFC 3339 in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional, Union

from ._given import UNSET, Given, given

DESCRIPTION_VERSION = "2.0.0"
"""Of the description that these were made from."""

AccountId = str
"""The id of an account."""

ApiKeyId = str
"""The id of an API key, which is not its secret."""

Encoding = Literal["utf8", "base64"]
"""How bytes are written as text. utf8: what is no UTF-8 shows as U+FFFD. base64: exactly."""

EndpointId = str
"""The id of a grant of SSH connections."""

FilePath = str
"""/workspace, or a path below it without empty, . or .. segments. A byte of a name that is not UTF-8 is written as the
character U+10FE00 + byte, here and in answers.
"""

ImageId = str
"""The id of an image; ids sort by age."""

ImageReference = str
"""Registry, repository, and a tag or a digest of it. The registry is always named: there is no default one. Without tag
and digest, the tag is `latest`.
"""

ImageStatus = Literal["building", "pulling", "ready", "failed", "deleting", "deleted"]
"""What it is now. Sandboxes can be made with it while it is ready. building: it is built of its Dockerfile. pulling: a
host pulls it, or unpacks the archive that was uploaded or built. failed: it could not be made, or is lost, and
statusReason says why.
"""

LogSource = Literal["workload", "execute", "process"]
"""workload: the Sandbox's own console and init; execute: synchronous commands; process: operations."""

MachineFormat = Literal["json", "mermaid"]
"""How the machines are told; json by default."""

Metadata = Dict[str, str]
"""The caller's own pairs of text, by which lists can be filtered."""

OperationId = str
"""The id of an operation."""

OutputStream = Literal["stdout", "stderr"]
"""Which of a command's two streams."""

PreviewId = str
"""A capability: shown when the preview is created, and never again."""

ProcessId = str
"""The id of a process; opaque."""

SandboxId = str
"""The id of a Sandbox; ids sort by age."""

SandboxStatus = Literal["pending", "running", "stopping", "restoring", "stopped", "sleeping", "deleting", "deleted", "expired", "failed"]
"""What it does now; restoring: its volume is being replaced by a snapshot's. deleted, expired (a limit refused it) and
failed are final; stopped and sleeping ones can be started.
"""

Scope = Literal["workspace:create", "sandbox:read", "sandbox:create", "sandbox:execute", "sandbox:delete", "usage:read"]
"""What a key may do; each operation names the one that it needs."""

ServiceAccessId = str
"""The caller's own UUID version 4, which was the Idempotency-Key."""

SnapshotId = str
"""The id of a snapshot; ids sort by age."""

SnapshotStatus = Literal["creating", "ready", "failed", "deleting", "deleted"]
"""What it is now. Sandboxes can be made of it while it is ready. failed: there is no image, and statusReason says why.
"""

StartedBy = Literal["operation", "execute", "terminal", "ssh"]
"""The kind of call or connection whose command a process descends from."""

VolumeId = str
"""The id of a volume."""

WorkspaceId = str
"""The id of a workspace."""

WorkspacePath = str
"""/workspace, or a path below it without empty, . or .. segments."""


@dataclass(frozen=True)
class AnalyticsResponse:
    """A Sandbox's analytics."""

    analytics: SandboxAnalytics

    @classmethod
    def from_json(cls, data: Any) -> "AnalyticsResponse":
        return cls(
            analytics=SandboxAnalytics.from_json(data["analytics"]),
        )


@dataclass(frozen=True)
class AuditEvent:
    """One call that changed something or read content."""

    id: str
    """The event's own id."""
    at: str
    """When it was answered."""
    source: Literal["api", "console", "mcp", "operator"]
    """By which way the call came."""
    action: str
    """The endpoint's operationId; openTunnel or openSshSession for a way into a Sandbox; what a person did in the
    console: register, signIn, signInByLink, signOut, changePassphrase, endSession, createKey, revokeKey, rotateKey;
    what the operator did: createAccount, suspendAccount, resumeAccount, setAccountLimits, recoverAccount, createKey,
    revokeKey, grantCredit.
    """
    api_key_id: Optional[ApiKeyId]
    """null where no API key was used."""
    key_hint: Optional[str]
    """The last 4 characters of the key's secret."""
    key_name: Optional[str]
    """The key's name; null where no key was used."""
    method: str
    """The HTTP method; SSH for an SSH session, CLI for the operator's command line."""
    path: str
    """Without the query. What is a capability (a preview id), or no id of its place, is shown as the OpenAPI writes it:
    {previewId}. Of a command line: the command without its arguments.
    """
    target_type: Optional[Literal["account", "apiKey", "workspace", "sandbox", "operation", "process", "preview", "serviceAccess", "connectionGrant", "snapshot", "image", "grant", "session"]]
    """What the call was about."""
    target_id: Optional[str]
    """Its id, also of what was made; null where there is none (refused), or where it is a capability."""
    status: int
    """The answer's; of a tool call over MCP, what the endpoint would have answered. 499: the caller went away before
    it. 101: a tunnel or a terminal was opened. An operation's own outcome is not in it.
    """
    error_code: Optional[str]
    """`code` of the Error body."""
    request_id: str
    """As in the X-Request-Id of the answer."""
    source_ip: str
    """The address that the connection came from, or that the operator's proxy says; of the operator's command line, the
    loopback.
    """
    user_agent: Optional[str]
    """The first 256 characters that the client says of itself; ? for what is not printable ASCII."""

    @classmethod
    def from_json(cls, data: Any) -> "AuditEvent":
        return cls(
            id=data["id"],
            at=data["at"],
            source=data["source"],
            action=data["action"],
            api_key_id=data.get("apiKeyId"),
            key_hint=data.get("keyHint"),
            key_name=data.get("keyName"),
            method=data["method"],
            path=data["path"],
            target_type=data.get("targetType"),
            target_id=data.get("targetId"),
            status=data["status"],
            error_code=data.get("errorCode"),
            request_id=data["requestId"],
            source_ip=data["sourceIp"],
            user_agent=data.get("userAgent"),
        )


@dataclass(frozen=True)
class AuditLog:
    """Newest first."""

    events: List[AuditEvent]
    """One page."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "AuditLog":
        return cls(
            events=[AuditEvent.from_json(item) for item in data["events"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class Balance:
    """What is left of the account's credit."""

    currency: Literal["USD"]
    """Of all amounts."""
    micro_usd: int
    """What is left as of asOf: granted, less what was used and what has expired. Below 0: what an unlimited account has
    used, or what was used in the grace time.
    """
    status: Literal["unlimited", "funded", "low", "exhausted"]
    """unlimited: nothing is refused. low: less than a day of the present burn, or a tenth of the granted credit, is
    left. exhausted: nothing is left; see 402.
    """
    as_of: str
    """The instant of all of this."""
    burn_micro_usd_per_hour: int
    """What an hour costs as things are."""
    exhausts_at: Optional[str]
    """From when on nothing is left, as things are; null: never, or unlimited."""
    grants: List[CreditGrant]
    """Oldest first."""

    @classmethod
    def from_json(cls, data: Any) -> "Balance":
        return cls(
            currency=data["currency"],
            micro_usd=data["microUsd"],
            status=data["status"],
            as_of=data["asOf"],
            burn_micro_usd_per_hour=data["burnMicroUsdPerHour"],
            exhausts_at=data.get("exhaustsAt"),
            grants=[CreditGrant.from_json(item) for item in data["grants"]],
        )


@dataclass(frozen=True)
class BalanceResponse:
    """Credit, what is left of it, and how long it lasts at the present burn."""

    balance: Balance

    @classmethod
    def from_json(cls, data: Any) -> "BalanceResponse":
        return cls(
            balance=Balance.from_json(data["balance"]),
        )


@dataclass(frozen=True)
class CheckpointError:
    """Why no checkpoint was taken."""

    code: str
    """The code of the error that createSnapshot would have answered."""
    message: str
    """For people; it may change."""

    @classmethod
    def from_json(cls, data: Any) -> "CheckpointError":
        return cls(
            code=data["code"],
            message=data["message"],
        )


@dataclass(frozen=True)
class CooperativeEnvelope:
    """How the granted SSH connection is made."""

    endpoint_id: EndpointId
    host: str
    """Where to connect to."""
    port: int
    """The SSH port there."""
    username: str
    """Whom to sign in as."""
    host_key: str
    """The server's host key: one OpenSSH public-key line."""
    expires_at: str
    """Until then a connection may be opened; one that is open goes on."""

    @classmethod
    def from_json(cls, data: Any) -> "CooperativeEnvelope":
        return cls(
            endpoint_id=data["endpointId"],
            host=data["host"],
            port=data["port"],
            username=data["username"],
            host_key=data["hostKey"],
            expires_at=data["expiresAt"],
        )


@dataclass(frozen=True)
class CooperativeRevoke:
    """What is known of the grant that was revoked."""

    endpoint_id: EndpointId
    status: Literal["unconfirmed"]
    """Whether what it opened is gone: never confirmed."""

    @classmethod
    def from_json(cls, data: Any) -> "CooperativeRevoke":
        return cls(
            endpoint_id=data["endpointId"],
            status=data["status"],
        )


@dataclass(frozen=True)
class CostComponents:
    """What it is made of."""

    vcpu_micro_usd: int
    """vCPUs, while running."""
    memory_micro_usd: int
    """Memory, while running."""
    volume_micro_usd: int
    """Volumes, from the first boot to deletion."""
    snapshot_micro_usd: int
    """What snapshots and images store, from when each was ready to its deletion. That of a snapshot counts for the
    Sandbox that it was taken of, even if that is deleted.
    """

    @classmethod
    def from_json(cls, data: Any) -> "CostComponents":
        return cls(
            vcpu_micro_usd=data["vcpuMicroUsd"],
            memory_micro_usd=data["memoryMicroUsd"],
            volume_micro_usd=data["volumeMicroUsd"],
            snapshot_micro_usd=data["snapshotMicroUsd"],
        )


@dataclass(frozen=True)
class Cost:
    """What one group of a report cost."""

    key: str
    """The Sandbox's id (an imported snapshot's own), the workspace's id, or the UTC day. Of an image: its own id, and
    `images` in the place of a workspace.
    """
    name: Optional[str]
    """Of the Sandbox or the workspace; null where it has none, and for days."""
    micro_usd: int
    """The sum of its components."""
    sandbox_seconds: float
    """Time in status running."""
    components: CostComponents
    """What it is made of."""

    @classmethod
    def from_json(cls, data: Any) -> "Cost":
        return cls(
            key=data["key"],
            name=data.get("name"),
            micro_usd=data["microUsd"],
            sandbox_seconds=data["sandboxSeconds"],
            components=CostComponents.from_json(data["components"]),
        )


@dataclass(frozen=True)
class CostReport:
    """What a window of time cost, as posted to the wallet, in pieces."""

    costs: List[Cost]
    """The most expensive first; days in their order."""
    total_micro_usd: int
    """The sum of all costs."""
    burn_micro_usd_per_hour: int
    """The present cost of an hour; it does not depend on the window."""
    as_of: str
    """What happened up to here is in it: the end of the window, or now if that is earlier."""

    @classmethod
    def from_json(cls, data: Any) -> "CostReport":
        return cls(
            costs=[Cost.from_json(item) for item in data["costs"]],
            total_micro_usd=data["totalMicroUsd"],
            burn_micro_usd_per_hour=data["burnMicroUsdPerHour"],
            as_of=data["asOf"],
        )


@dataclass(frozen=True)
class CreditGrant:
    """Credit that was given, and what is left of it."""

    id: str
    """The id of a grant."""
    kind: Literal["promotional", "purchase", "adjustment"]
    """promotional: a gift, which is spent first. purchase: paid for. adjustment: made good by the operator."""
    granted_micro_usd: int
    """How much was given."""
    remaining_micro_usd: int
    """What is left of it after the last posting; what was used since then is not taken from it yet."""
    expired_micro_usd: int
    """The part that expired unspent."""
    effective_at: str
    """From then on it can be spent."""
    expires_at: Optional[str]
    """From then on it cannot be spent; null: never."""
    status: Literal["active", "used", "expired"]
    """active: something is left, now or from effectiveAt on. used: all of it was spent. expired: what was not spent in
    time is gone.
    """

    @classmethod
    def from_json(cls, data: Any) -> "CreditGrant":
        return cls(
            id=data["id"],
            kind=data["kind"],
            granted_micro_usd=data["grantedMicroUsd"],
            remaining_micro_usd=data["remainingMicroUsd"],
            expired_micro_usd=data["expiredMicroUsd"],
            effective_at=data["effectiveAt"],
            expires_at=data.get("expiresAt"),
            status=data["status"],
        )


@dataclass(frozen=True)
class DeclinedEvent:
    """An event that came and changed nothing."""

    revision: int
    """Of the state that did not take it: after this transition, and before the next."""
    at: str
    """When it came."""
    state: str
    """The status that it met."""
    event: LoggedEvent
    code: Optional[str]
    """Why the machine refused it; null: the state answered with itself, as a repeated or late cancel is answered."""
    cause: str
    """Who or what sent the event."""
    request_id: Optional[str]
    """Of the request that sent it; null where none did."""

    @classmethod
    def from_json(cls, data: Any) -> "DeclinedEvent":
        return cls(
            revision=data["revision"],
            at=data["at"],
            state=data["state"],
            event=LoggedEvent.from_json(data["event"]),
            code=data.get("code"),
            cause=data["cause"],
            request_id=data.get("requestId"),
        )


@dataclass(frozen=True)
class DeclinedEventList:
    """In the order in which they came."""

    declined: List[DeclinedEvent]
    """Those that are kept."""
    truncated: bool
    """There were more: the first 100 are kept."""

    @classmethod
    def from_json(cls, data: Any) -> "DeclinedEventList":
        return cls(
            declined=[DeclinedEvent.from_json(item) for item in data["declined"]],
            truncated=data["truncated"],
        )


@dataclass(frozen=True)
class EditFileResponse:
    """The file after the edit."""

    path: str
    """The file."""
    size_bytes: int
    """Its size now."""
    sha256: str
    """SHA-256 of the file now: the expectedSha256 of a next edit."""
    replacements: int
    """How many occurrences were replaced."""

    @classmethod
    def from_json(cls, data: Any) -> "EditFileResponse":
        return cls(
            path=data["path"],
            size_bytes=data["sizeBytes"],
            sha256=data["sha256"],
            replacements=data["replacements"],
        )


@dataclass(frozen=True)
class ExecuteResponse:
    """How a command ended."""

    result: ExecutionResult

    @classmethod
    def from_json(cls, data: Any) -> "ExecuteResponse":
        return cls(
            result=ExecutionResult.from_json(data["result"]),
        )


@dataclass(frozen=True)
class ExecutionResult:
    """How a synchronous command ended, and what it wrote."""

    exit_code: Optional[int]
    """Null when a signal ended it. 127: there is no such program; 126: it cannot run."""
    signal: Optional[str]
    """The signal that ended it, by POSIX's name: `SIGTERM`. Real-time signals count from the first: `SIGRTMIN`,
    `SIGRTMIN+3`. Null when it ended by itself.
    """
    reason: Optional[Reason]
    """Why it was killed, where that is known: `OUT_OF_MEMORY`. Null for every other end."""
    stdout: str
    """What it wrote to its output, in `encoding`."""
    stderr: str
    """What it wrote to its error output, in `encoding`."""
    stdout_truncated: bool
    """It wrote more: each stream keeps its first 1 MiB."""
    stderr_truncated: bool
    """It wrote more: each stream keeps its first 1 MiB."""
    encoding: Encoding
    started_at: str
    """When it was started."""
    finished_at: str
    """When it had ended."""
    duration_ms: int
    """How long it ran, in milliseconds."""

    @classmethod
    def from_json(cls, data: Any) -> "ExecutionResult":
        return cls(
            exit_code=data.get("exitCode"),
            signal=data.get("signal"),
            reason=None if data.get("reason") is None else Reason.from_json(data.get("reason")),
            stdout=data["stdout"],
            stderr=data["stderr"],
            stdout_truncated=data["stdoutTruncated"],
            stderr_truncated=data["stderrTruncated"],
            encoding=data["encoding"],
            started_at=data["startedAt"],
            finished_at=data["finishedAt"],
            duration_ms=data["durationMs"],
        )


@dataclass(frozen=True)
class FileList:
    """One page, in the file system's own order."""

    path: str
    """The directory."""
    entries: List[FileStat]
    """What is in it, without . and .."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "FileList":
        return cls(
            path=data["path"],
            entries=[FileStat.from_json(item) for item in data["entries"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class FileStat:
    """An entry of a directory."""

    name: str
    """The last segment; workspace for /workspace itself."""
    type: Literal["file", "directory", "symlink", "other"]
    """Of the entry itself: a symbolic link is not followed. other: a fifo, socket or device."""
    size_bytes: int
    """Of its content; what the file system says of a directory."""
    mode: str
    """Permissions as four octal digits, such as 0644."""
    modified_at: str
    """When its content last changed."""

    @classmethod
    def from_json(cls, data: Any) -> "FileStat":
        return cls(
            name=data["name"],
            type=data["type"],
            size_bytes=data["sizeBytes"],
            mode=data["mode"],
            modified_at=data["modifiedAt"],
        )


@dataclass(frozen=True)
class FileStatResponse:
    """One file, directory or link."""

    path: str
    """The path that was asked for."""
    name: str
    """The last segment; workspace for /workspace itself."""
    type: Literal["file", "directory", "symlink", "other"]
    """Of the entry itself: a symbolic link is not followed. other: a fifo, socket or device."""
    size_bytes: int
    """Of its content; what the file system says of a directory."""
    mode: str
    """Permissions as four octal digits, such as 0644."""
    modified_at: str
    """When its content last changed."""

    @classmethod
    def from_json(cls, data: Any) -> "FileStatResponse":
        return cls(
            path=data["path"],
            name=data["name"],
            type=data["type"],
            size_bytes=data["sizeBytes"],
            mode=data["mode"],
            modified_at=data["modifiedAt"],
        )


@dataclass(frozen=True)
class ForkResponse:
    """The snapshot of a fork, and the Sandboxes that were made of it."""

    snapshot: Snapshot
    sandboxes: List[Sandbox]
    """Those that were made, in order."""
    refused: List[RefusedFork]
    """Those that were not, in order."""
    missing: Optional[MissingInFork]
    """Of a fork at a revision; else null."""

    @classmethod
    def from_json(cls, data: Any) -> "ForkResponse":
        return cls(
            snapshot=Snapshot.from_json(data["snapshot"]),
            sandboxes=[Sandbox.from_json(item) for item in data["sandboxes"]],
            refused=[RefusedFork.from_json(item) for item in data["refused"]],
            missing=None if data.get("missing") is None else MissingInFork.from_json(data.get("missing")),
        )


@dataclass(frozen=True)
class Image:
    """A root file system for Sandboxes, pulled from a registry, uploaded, or built."""

    id: ImageId
    name: Optional[str]
    """As it was given; null: none was."""
    reference: Optional[ImageReference]
    """Where it was pulled from, as it was asked for; null: it was uploaded as an archive, or built."""
    build: Optional[ImageBuild]
    """Of an image that is built of a Dockerfile; null: of another."""
    operator: bool
    """Whether the operator of the service gives it to all accounts. Such an image costs nothing, counts toward no limit
    of the account, and no account can delete it. One that the operator gives no longer is `deleting` while a Sandbox
    or a snapshot has it.
    """
    digest: Optional[str]
    """sha256:… of the manifest for the architecture of the hosts; null until it is ready. Sandboxes have this one for
    good: a tag that moves later changes nothing.
    """
    status: ImageStatus
    status_reason: Optional[Reason]
    """Why it has that status; null where nothing is to be said. Of a failed one the code is IMAGE_NOT_FOUND,
    IMAGE_UNAUTHORIZED, IMAGE_TOO_LARGE, IMAGE_UNSUPPORTED, IMAGE_INVALID, IMAGE_NO_ROOM, IMAGE_ADDRESS_FORBIDDEN,
    IMAGE_BUILD_FAILED where the build failed, IMAGE_LOST where no host has it any more and no registry had it, or
    PULL_FAILED where the registry or the host did not answer for too long.
    """
    size_bytes: Optional[int]
    """Bytes of its files, unpacked. null until it is ready."""
    stored_bytes: Optional[int]
    """Bytes that it occupies on a host. They cost as those of snapshots do. null until it is ready."""
    created_at: str
    """When it was accepted."""
    ready_at: Optional[str]
    """When a host had it; null: none ever had."""
    deleted_at: Optional[str]
    """When it was deleted; null: it is not."""

    @classmethod
    def from_json(cls, data: Any) -> "Image":
        return cls(
            id=data["id"],
            name=data.get("name"),
            reference=data.get("reference"),
            build=None if data.get("build") is None else ImageBuild.from_json(data.get("build")),
            operator=data["operator"],
            digest=data.get("digest"),
            status=data["status"],
            status_reason=None if data.get("statusReason") is None else Reason.from_json(data.get("statusReason")),
            size_bytes=data.get("sizeBytes"),
            stored_bytes=data.get("storedBytes"),
            created_at=data["createdAt"],
            ready_at=data.get("readyAt"),
            deleted_at=data.get("deletedAt"),
        )


@dataclass(frozen=True)
class ImageBuild:
    """Where an image is built: sandboxId is the Sandbox that the service made for it, and deletes when the build is
    over.
    """

    sandbox_id: SandboxId
    operation_id: Optional[OperationId]
    """The build's operation in that Sandbox, which stays readable; null: it has not begun."""
    dockerfile: Optional[str]
    """The path of the Dockerfile in the context; null: its text was sent."""
    target: Optional[str]
    """The stage that was asked for; null: the last one."""

    @classmethod
    def from_json(cls, data: Any) -> "ImageBuild":
        return cls(
            sandbox_id=data["sandboxId"],
            operation_id=data.get("operationId"),
            dockerfile=data.get("dockerfile"),
            target=data.get("target"),
        )


@dataclass(frozen=True)
class ImageList:
    """Newest first, those of the operator and deleted ones included; but deleted ones of the operator are not."""

    images: List[Image]
    """One page."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "ImageList":
        return cls(
            images=[Image.from_json(item) for item in data["images"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class ImageResponse:
    """One image."""

    image: Image

    @classmethod
    def from_json(cls, data: Any) -> "ImageResponse":
        return cls(
            image=Image.from_json(data["image"]),
        )


@dataclass(frozen=True)
class InnerTransitionCommand:
    """What the step asked the service to do."""

    type: str
    """The command's name in the machine."""
    params: Any
    """Its parameters; null where it has none."""

    @classmethod
    def from_json(cls, data: Any) -> "InnerTransitionCommand":
        return cls(
            type=data["type"],
            params=data.get("params"),
        )


@dataclass(frozen=True)
class InnerTransitionStillPending:
    """What earlier steps asked for that was not done yet when this one was taken; its own commands are pending besides.
    Null: not known, of a step that an older version of the service took.
    """

    revision: int
    """The step that asked for it."""
    index: int
    """Its place among that step's commands, from 0."""

    @classmethod
    def from_json(cls, data: Any) -> "InnerTransitionStillPending":
        return cls(
            revision=data["revision"],
            index=data["index"],
        )


@dataclass(frozen=True)
class InnerTransition:
    """A Transition and whose it is, as the event streams tell it."""

    kind: Literal["operation", "preview", "serviceAccess", "connectionGrant", "snapshot"]
    """What took it."""
    actor_id: str
    """Whose step it is: an operation's id; a preview's is not its id."""
    sandbox_id: str
    """The Sandbox that it lived in; empty for a snapshot that was imported."""
    revision: int
    """1 for the first, without gaps."""
    at: str
    """When it was taken."""
    event: LoggedEvent
    from_: Optional[str]
    """The status before; null for the first."""
    to: str
    """The status after."""
    commands: List[InnerTransitionCommand]
    """What the step asked the service to do."""
    still_pending: Optional[List[InnerTransitionStillPending]]
    """What earlier steps asked for that was not done yet when this one was taken; its own commands are pending besides.
    Null: not known, of a step that an older version of the service took.
    """
    cause: str
    """Who or what sent the event."""
    request_id: Optional[str]
    """Of the request that sent it; null where none did."""

    @classmethod
    def from_json(cls, data: Any) -> "InnerTransition":
        return cls(
            kind=data["kind"],
            actor_id=data["actorId"],
            sandbox_id=data["sandboxId"],
            revision=data["revision"],
            at=data["at"],
            event=LoggedEvent.from_json(data["event"]),
            from_=data.get("from"),
            to=data["to"],
            commands=[InnerTransitionCommand.from_json(item) for item in data["commands"]],
            still_pending=None if data.get("stillPending") is None else [InnerTransitionStillPending.from_json(item) for item in data.get("stillPending")],
            cause=data["cause"],
            request_id=data.get("requestId"),
        )


@dataclass(frozen=True)
class Issue:
    """One thing that is wrong with a request."""

    path: List[Union[str, int]]
    """Where it is: from the body's root, or the name of a header or parameter. Empty: the whole body."""
    message: str
    """What is wrong, for people."""

    @classmethod
    def from_json(cls, data: Any) -> "Issue":
        return cls(
            path=data["path"],
            message=data["message"],
        )


@dataclass(frozen=True)
class LastCheckpoint:
    """The last checkpoint that was due, and what came of it."""

    at: str
    """When it was due."""
    snapshot_id: Optional[SnapshotId]
    """The snapshot, whose own status says whether it is ready. null: there is none, or none yet."""
    error: Optional[CheckpointError]
    """Why there is none: a limit, or the credit. The next one is tried at its time."""

    @classmethod
    def from_json(cls, data: Any) -> "LastCheckpoint":
        return cls(
            at=data["at"],
            snapshot_id=data.get("snapshotId"),
            error=None if data.get("error") is None else CheckpointError.from_json(data.get("error")),
        )


@dataclass(frozen=True)
class LineageChild:
    """A Sandbox (sandboxId) that was made of a snapshot of this one."""

    snapshot_id: SnapshotId
    sandbox_id: SandboxId
    created_at: str
    """When it was made."""

    @classmethod
    def from_json(cls, data: Any) -> "LineageChild":
        return cls(
            snapshot_id=data["snapshotId"],
            sandbox_id=data["sandboxId"],
            created_at=data["createdAt"],
        )


@dataclass(frozen=True)
class LineageParent:
    """One step back: a snapshot, and the Sandbox that it was taken of."""

    snapshot_id: SnapshotId
    sandbox_id: SandboxId

    @classmethod
    def from_json(cls, data: Any) -> "LineageParent":
        return cls(
            snapshot_id=data["snapshotId"],
            sandbox_id=data["sandboxId"],
        )


@dataclass(frozen=True)
class ListedPreview:
    """A preview without its id and URL, which are its secret."""

    port: int
    """The port inside the Sandbox."""
    status: Literal["opening", "active", "closed", "expired"]
    """opening: it is not served yet. closed: by a client, or with its Sandbox."""
    created_at: str
    """When it was asked for."""
    expires_at: str
    """When it ends by itself; of one that ended earlier, that instant."""
    ended_at: Optional[str]
    """When its host name stopped working; null: it is open."""

    @classmethod
    def from_json(cls, data: Any) -> "ListedPreview":
        return cls(
            port=data["port"],
            status=data["status"],
            created_at=data["createdAt"],
            expires_at=data["expiresAt"],
            ended_at=data.get("endedAt"),
        )


@dataclass(frozen=True)
class LogEntry:
    """What one stream wrote, in one piece."""

    id: str
    """Opaque; the same whenever and however this entry is read."""
    at: str
    """When it was stored."""
    stream: OutputStream
    source: LogSource
    operation_id: Optional[str]
    """The operation that wrote it; null for other sources."""
    text: str
    """One stored chunk, at most 64 KiB; bytes that are not UTF-8 show as U+FFFD."""

    @classmethod
    def from_json(cls, data: Any) -> "LogEntry":
        return cls(
            id=data["id"],
            at=data["at"],
            stream=data["stream"],
            source=data["source"],
            operation_id=data.get("operationId"),
            text=data["text"],
        )


@dataclass(frozen=True)
class LoggedEvent:
    """What the machine was told, with the event's own fields."""

    type: str
    """The event's name in the machine."""

    @classmethod
    def from_json(cls, data: Any) -> "LoggedEvent":
        return cls(
            type=data["type"],
        )


@dataclass(frozen=True)
class LogsResponse:
    """A Sandbox's logs."""

    logs: SandboxLogs

    @classmethod
    def from_json(cls, data: Any) -> "LogsResponse":
        return cls(
            logs=SandboxLogs.from_json(data["logs"]),
        )


@dataclass(frozen=True)
class Machine:
    """A state machine as data: its states, events, transitions and commands."""

    kind: str
    """What it is the life of: sandbox, operation, …"""
    version: int
    """Grows when what is stored of it changes."""
    description: str
    """What it means, in a sentence."""
    initial: str
    """The name of the state in which it begins."""
    states: List[MachineState]
    """All states."""
    events: List[MachinePart]
    """All that it can be told."""
    transitions: List[MachineTransition]
    """In the order in which they are tried."""
    guards: List[MachinePart]
    """The conditions of transitions."""
    commands: List[MachinePart]
    """What it can ask the service to do."""
    drawing: Dict[str, Any]
    """Where each state, edge and label stands, in SVG user units from the upper left corner."""
    overview: Dict[str, Any]
    """The same for a smaller diagram, which has only the names of states and events."""

    @classmethod
    def from_json(cls, data: Any) -> "Machine":
        return cls(
            kind=data["kind"],
            version=data["version"],
            description=data["description"],
            initial=data["initial"],
            states=[MachineState.from_json(item) for item in data["states"]],
            events=[MachinePart.from_json(item) for item in data["events"]],
            transitions=[MachineTransition.from_json(item) for item in data["transitions"]],
            guards=[MachinePart.from_json(item) for item in data["guards"]],
            commands=[MachinePart.from_json(item) for item in data["commands"]],
            drawing=data["drawing"],
            overview=data["overview"],
        )


@dataclass(frozen=True)
class MachineCommand:
    """Something that the service is asked to do."""

    name: str
    """The name of the command."""
    deadline: Optional[str]
    """The named deadline that `schedule` sets and `unschedule` forgets; null of other commands."""

    @classmethod
    def from_json(cls, data: Any) -> "MachineCommand":
        return cls(
            name=data["name"],
            deadline=data.get("deadline"),
        )


@dataclass(frozen=True)
class MachineList:
    """The state machines of this API."""

    machines: Any
    """All of the service's machines, in the format that was asked for."""

    @classmethod
    def from_json(cls, data: Any) -> "MachineList":
        return cls(
            machines=data["machines"],
        )


@dataclass(frozen=True)
class MachinePart:
    """An event, a guard or a command, and what it means."""

    name: str
    """The name of the event, guard or command."""
    description: str
    """What it means, in a sentence."""

    @classmethod
    def from_json(cls, data: Any) -> "MachinePart":
        return cls(
            name=data["name"],
            description=data["description"],
        )


@dataclass(frozen=True)
class MachineState:
    """One state, and what it says of events that it has no transition for."""

    name: str
    """The name of the state."""
    description: str
    """What it means, in a sentence."""
    is_final: bool
    """Nothing leads out of it."""
    tags: List[str]
    """The service selects states by these tags."""
    entry: List[MachineCommand]
    """What is done when it is entered."""
    exit: List[MachineCommand]
    """What is done when it is left."""
    unchanged: List[str]
    """Events that it answers with itself."""
    refuses: Dict[str, str]
    """Events that it refuses, also those whose guards all say no, with the reason's code."""

    @classmethod
    def from_json(cls, data: Any) -> "MachineState":
        return cls(
            name=data["name"],
            description=data["description"],
            is_final=data["isFinal"],
            tags=data["tags"],
            entry=[MachineCommand.from_json(item) for item in data["entry"]],
            exit=[MachineCommand.from_json(item) for item in data["exit"]],
            unchanged=data["unchanged"],
            refuses=data["refuses"],
        )


@dataclass(frozen=True)
class MachineTransition:
    """From which state an event leads where, and what it asks for."""

    id: str
    """`from.EVENT.index`; those of one event are tried in order."""
    from_: str
    """The name of the state in which it is tried."""
    event: str
    """The name of the event."""
    guard: Optional[str]
    """Which must say yes; null: none is asked."""
    to: Optional[str]
    """Null: it stays in the state, and does not enter it again."""
    commands: List[MachineCommand]
    """What is done on the way."""
    notes: List[str]
    """Actions that only note something in the context."""
    description: str
    """What it means, in a sentence."""

    @classmethod
    def from_json(cls, data: Any) -> "MachineTransition":
        return cls(
            id=data["id"],
            from_=data["from"],
            event=data["event"],
            guard=data.get("guard"),
            to=data.get("to"),
            commands=[MachineCommand.from_json(item) for item in data["commands"]],
            notes=data["notes"],
            description=data["description"],
        )


@dataclass(frozen=True)
class MeAccount:
    """Whose key this is."""

    id: AccountId
    name: str
    """As the operator or who registered named it."""
    email: Optional[str]
    """The e-mail address of the account; null if it has none."""
    created_at: str
    """When it was made."""

    @classmethod
    def from_json(cls, data: Any) -> "MeAccount":
        return cls(
            id=data["id"],
            name=data["name"],
            email=data.get("email"),
            created_at=data["createdAt"],
        )


@dataclass(frozen=True)
class MeApiKey:
    """null where a session of the console asks."""

    id: ApiKeyId
    name: str
    """As it was named when it was made."""
    hint: str
    """The last 4 characters of the secret."""
    scopes: List[Scope]
    """What it may do."""
    created_at: str
    """When it was made."""
    last_used_at: Optional[str]
    """The key's last use, of which this request is one."""

    @classmethod
    def from_json(cls, data: Any) -> "MeApiKey":
        return cls(
            id=data["id"],
            name=data["name"],
            hint=data["hint"],
            scopes=data["scopes"],
            created_at=data["createdAt"],
            last_used_at=data.get("lastUsedAt"),
        )


@dataclass(frozen=True)
class MeLimits:
    """How much the account may have."""

    workspaces: int
    """Most workspaces of the account."""
    sandboxes: int
    """Most Sandboxes of the account, stopped ones included."""
    workspace_storage_bytes: int
    """Most that the volumes of one workspace are together."""
    profile: ProfileBounds

    @classmethod
    def from_json(cls, data: Any) -> "MeLimits":
        return cls(
            workspaces=data["workspaces"],
            sandboxes=data["sandboxes"],
            workspace_storage_bytes=data["workspaceStorageBytes"],
            profile=ProfileBounds.from_json(data["profile"]),
        )


@dataclass(frozen=True)
class Me:
    """The account, and the API key that asks."""

    account: MeAccount
    """Whose key this is."""
    api_key: Optional[MeApiKey]
    """null where a session of the console asks."""
    limits: MeLimits
    """How much the account may have."""

    @classmethod
    def from_json(cls, data: Any) -> "Me":
        return cls(
            account=MeAccount.from_json(data["account"]),
            api_key=None if data.get("apiKey") is None else MeApiKey.from_json(data.get("apiKey")),
            limits=MeLimits.from_json(data["limits"]),
        )


@dataclass(frozen=True)
class MermaidMachine:
    """A state machine as a Mermaid diagram."""

    kind: str
    """What it is the life of: sandbox, operation, …"""
    version: int
    """Grows when what is stored of it changes."""
    mermaid: str
    """A Mermaid state diagram."""

    @classmethod
    def from_json(cls, data: Any) -> "MermaidMachine":
        return cls(
            kind=data["kind"],
            version=data["version"],
            mermaid=data["mermaid"],
        )


@dataclass(frozen=True)
class MissingInFork:
    """What happened in the Sandbox up to atRevision and is not in the snapshot."""

    transitions: int
    """Transitions of the Sandbox after the snapshot's revision, up to atRevision."""
    operations: List[OperationId]
    """Operations that began or ended after the snapshot was asked for, and before the Sandbox's next revision after
    atRevision: the newest 100, newest first, of those whose records are kept.
    """
    operation_count: int
    """How many such operations there are."""

    @classmethod
    def from_json(cls, data: Any) -> "MissingInFork":
        return cls(
            transitions=data["transitions"],
            operations=data["operations"],
            operation_count=data["operationCount"],
        )


@dataclass(frozen=True)
class OperationOutput:
    """Bytes ever stored of each stream."""

    stdout_bytes: int
    """Of stdout."""
    stderr_bytes: int
    """Of stderr."""

    @classmethod
    def from_json(cls, data: Any) -> "OperationOutput":
        return cls(
            stdout_bytes=data["stdoutBytes"],
            stderr_bytes=data["stderrBytes"],
        )


@dataclass(frozen=True)
class Operation:
    """A command that runs independently of the request that started it, and its result."""

    id: OperationId
    sandbox_id: SandboxId
    status: Literal["queued", "running", "completed", "cancelled", "failed"]
    """queued: accepted, and it waits for its turn. completed, cancelled and failed are terminal and immutable. A
    non-zero exit is completed. failed: the outcome is unknown, it never ran, or its time-out passed; reason says
    which.
    """
    argv: List[str]
    """The program and its arguments."""
    cwd: str
    """Where it runs."""
    exit_code: Optional[int]
    """Only of a completed operation, and null where a signal ended it. Always null of a cancelled or failed one, also
    when its program handled the signal and ended by itself afterwards: its result was final before that.
    """
    signal: Optional[str]
    """The signal that ended it, by POSIX's name: `SIGTERM`. Real-time signals count from the first: `SIGRTMIN`,
    `SIGRTMIN+3`. Null when it ended by itself.
    """
    reason: Optional[Reason]
    """Of every failed operation; of a completed one only `OUT_OF_MEMORY`: the command was killed because the Sandbox's
    memory was used up.
    """
    created_at: str
    """When it was accepted."""
    started_at: Optional[str]
    """When its command was started; null: not yet, or never."""
    finished_at: Optional[str]
    """When its status became terminal; null: not yet."""
    output: OperationOutput
    """Bytes ever stored of each stream."""
    process_tree: Literal["running", "gone", "unconfirmed"]
    """What is left of the command's processes; may settle after the terminal status. unconfirmed: the service does not
    know. That also holds for a queued operation: its command is not known to have started.
    """

    @classmethod
    def from_json(cls, data: Any) -> "Operation":
        return cls(
            id=data["id"],
            sandbox_id=data["sandboxId"],
            status=data["status"],
            argv=data["argv"],
            cwd=data["cwd"],
            exit_code=data.get("exitCode"),
            signal=data.get("signal"),
            reason=None if data.get("reason") is None else Reason.from_json(data.get("reason")),
            created_at=data["createdAt"],
            started_at=data.get("startedAt"),
            finished_at=data.get("finishedAt"),
            output=OperationOutput.from_json(data["output"]),
            process_tree=data["processTree"],
        )


@dataclass(frozen=True)
class OperationList:
    """Newest first."""

    operations: List[Operation]
    """One page."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "OperationList":
        return cls(
            operations=[Operation.from_json(item) for item in data["operations"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class OperationOutputChunk:
    """A range of one stream of an operation."""

    stream: OutputStream
    offset: int
    """Absolute offset of the first byte of data."""
    next_offset: int
    """Ask for this offset next."""
    data: str
    """The bytes, in base64."""
    encoding: Literal["base64"]
    """Of data."""
    truncated: bool
    """Earlier bytes that were asked for are no longer retained."""
    eof: bool
    """The operation is terminal and all of this stream was read."""

    @classmethod
    def from_json(cls, data: Any) -> "OperationOutputChunk":
        return cls(
            stream=data["stream"],
            offset=data["offset"],
            next_offset=data["nextOffset"],
            data=data["data"],
            encoding=data["encoding"],
            truncated=data["truncated"],
            eof=data["eof"],
        )


@dataclass(frozen=True)
class OperationResponse:
    """One operation."""

    operation: Operation

    @classmethod
    def from_json(cls, data: Any) -> "OperationResponse":
        return cls(
            operation=Operation.from_json(data["operation"]),
        )


@dataclass(frozen=True)
class Preview:
    """A port of a Sandbox under a separate host name."""

    id: PreviewId
    sandbox_id: SandboxId
    port: int
    """The port inside the Sandbox."""
    url: str
    """The address to open in a browser. Everyone who knows it can use it."""
    hostname: str
    """The URL's host name."""
    status: Literal["active", "closed", "expired"]
    """active: it is served. closed: by a client, or with its Sandbox. expired: its hour is over."""
    created_at: str
    """When it was asked for."""
    expires_at: str
    """When it ends by itself."""

    @classmethod
    def from_json(cls, data: Any) -> "Preview":
        return cls(
            id=data["id"],
            sandbox_id=data["sandboxId"],
            port=data["port"],
            url=data["url"],
            hostname=data["hostname"],
            status=data["status"],
            created_at=data["createdAt"],
            expires_at=data["expiresAt"],
        )


@dataclass(frozen=True)
class PreviewList:
    """The previews of a Sandbox, without their secrets."""

    previews: List[ListedPreview]
    """Newest first, at most 100. Ids and URLs are not in it: they are what lets one in."""

    @classmethod
    def from_json(cls, data: Any) -> "PreviewList":
        return cls(
            previews=[ListedPreview.from_json(item) for item in data["previews"]],
        )


@dataclass(frozen=True)
class PreviewResponse:
    """An open preview, with its secret."""

    preview: Preview

    @classmethod
    def from_json(cls, data: Any) -> "PreviewResponse":
        return cls(
            preview=Preview.from_json(data["preview"]),
        )


@dataclass(frozen=True)
class Process:
    """One process in a Sandbox."""

    id: ProcessId
    pid: int
    """As the Sandbox's programs see it."""
    parent_pid: int
    """1 or 0 when what started it has ended."""
    argv: List[str]
    """The first 512 bytes of its command line; its name in brackets where it has none."""
    user: Optional[str]
    """Whose it is, as the Sandbox names users; null where its agent is of an earlier version."""
    started_by: Optional[StartedBy]
    """The kind of call that started it or its ancestors, also when the ancestor has ended: a process that an execute
    left in the background is still of `execute`. Null: not known. A program that a preview or a tunnel reaches
    belongs to the call that started it.
    """
    operation_id: Optional[OperationId]
    """The operation, where `startedBy` is one."""
    state: Literal["running", "sleeping", "stopped", "zombie"]
    """zombie: it has ended, and its parent has not asked for its outcome."""
    started_at: str
    """When it was started."""
    cpu_seconds: float
    """Processor time that it has used."""
    memory_bytes: int
    """Resident memory."""

    @classmethod
    def from_json(cls, data: Any) -> "Process":
        return cls(
            id=data["id"],
            pid=data["pid"],
            parent_pid=data["parentPid"],
            argv=data["argv"],
            user=data.get("user"),
            started_by=data.get("startedBy"),
            operation_id=data.get("operationId"),
            state=data["state"],
            started_at=data["startedAt"],
            cpu_seconds=data["cpuSeconds"],
            memory_bytes=data["memoryBytes"],
        )


@dataclass(frozen=True)
class ProcessList:
    """What runs in a Sandbox."""

    processes: List[Process]
    """By pid."""
    truncated: bool
    """There are more than the 2,048 that are shown."""

    @classmethod
    def from_json(cls, data: Any) -> "ProcessList":
        return cls(
            processes=[Process.from_json(item) for item in data["processes"]],
            truncated=data["truncated"],
        )


@dataclass(frozen=True)
class ProfileBoundsVcpus:
    """Virtual CPUs."""

    minimum: float
    """The least that a request may name."""
    maximum: float
    """The most that a request may name."""
    default: float
    """For a request that names none."""

    @classmethod
    def from_json(cls, data: Any) -> "ProfileBoundsVcpus":
        return cls(
            minimum=data["minimum"],
            maximum=data["maximum"],
            default=data["default"],
        )


@dataclass(frozen=True)
class ProfileBoundsMemoryBytes:
    """Memory."""

    minimum: float
    """The least that a request may name."""
    maximum: float
    """The most that a request may name."""
    default: float
    """For a request that names none."""

    @classmethod
    def from_json(cls, data: Any) -> "ProfileBoundsMemoryBytes":
        return cls(
            minimum=data["minimum"],
            maximum=data["maximum"],
            default=data["default"],
        )


@dataclass(frozen=True)
class ProfileBoundsDiskBytes:
    """The size of a volume."""

    minimum: float
    """The least that a request may name."""
    maximum: float
    """The most that a request may name."""
    default: float
    """For a request that names none."""

    @classmethod
    def from_json(cls, data: Any) -> "ProfileBoundsDiskBytes":
        return cls(
            minimum=data["minimum"],
            maximum=data["maximum"],
            default=data["default"],
        )


@dataclass(frozen=True)
class ProfileBounds:
    """The sizes that a Sandbox may have."""

    vcpus: ProfileBoundsVcpus
    """Virtual CPUs."""
    memory_bytes: ProfileBoundsMemoryBytes
    """Memory."""
    disk_bytes: ProfileBoundsDiskBytes
    """The size of a volume."""

    @classmethod
    def from_json(cls, data: Any) -> "ProfileBounds":
        return cls(
            vcpus=ProfileBoundsVcpus.from_json(data["vcpus"]),
            memory_bytes=ProfileBoundsMemoryBytes.from_json(data["memoryBytes"]),
            disk_bytes=ProfileBoundsDiskBytes.from_json(data["diskBytes"]),
        )


@dataclass(frozen=True)
class Reason:
    """Why something is as it is: a code for programs, a sentence for people."""

    code: str
    """For programs."""
    message: str
    """For people; it may change."""

    @classmethod
    def from_json(cls, data: Any) -> "Reason":
        return cls(
            code=data["code"],
            message=data["message"],
        )


@dataclass(frozen=True)
class RefusedFork:
    """One Sandbox of a fork that was not made."""

    index: int
    """Which of them, from 0."""
    code: str
    """The code of the error that createSandbox would have answered."""
    message: str
    """For people; it may change."""

    @classmethod
    def from_json(cls, data: Any) -> "RefusedFork":
        return cls(
            index=data["index"],
            code=data["code"],
            message=data["message"],
        )


@dataclass(frozen=True)
class ResourceSample:
    """What a Sandbox used in one bucket."""

    at: str
    """The begin of the bucket."""
    cpu_seconds: Optional[float]
    """CPU time used within the bucket. Null: not measured."""
    memory_bytes: Optional[int]
    """Mean memory in use. Null: not measured."""
    volume_bytes: Optional[int]
    """Volume in use at the bucket's last sample. Null: not measured."""
    network_rx_bytes: Optional[int]
    """Bytes received within the bucket. Null: not measured."""
    network_tx_bytes: Optional[int]
    """Bytes sent within the bucket. Null: not measured."""

    @classmethod
    def from_json(cls, data: Any) -> "ResourceSample":
        return cls(
            at=data["at"],
            cpu_seconds=data.get("cpuSeconds"),
            memory_bytes=data.get("memoryBytes"),
            volume_bytes=data.get("volumeBytes"),
            network_rx_bytes=data.get("networkRxBytes"),
            network_tx_bytes=data.get("networkTxBytes"),
        )


@dataclass(frozen=True)
class RollbackResponse:
    """A Sandbox that is being rolled back, and the snapshot of its volume before."""

    sandbox: Sandbox
    kept: Optional[Snapshot]
    """What the volume before becomes: `creating` until the Sandbox has stopped. null with keep false."""

    @classmethod
    def from_json(cls, data: Any) -> "RollbackResponse":
        return cls(
            sandbox=Sandbox.from_json(data["sandbox"]),
            kept=None if data.get("kept") is None else Snapshot.from_json(data.get("kept")),
        )


@dataclass(frozen=True)
class Sandbox:
    """An isolated compute environment: a volume that stays, and a runtime that boots, stops and boots again."""

    id: SandboxId
    workspace_id: WorkspaceId
    name: Optional[str]
    """As it was given; null: none was."""
    runtime: Literal["vm", "namespace"]
    """vm: a virtual machine. namespace: Linux namespaces on the host's kernel. Always what it really is."""
    profile: SandboxProfile
    status: SandboxStatus
    status_reason: Optional[Reason]
    """Why it has that status; null where nothing is to be said."""
    network_enabled: bool
    """Whether it reaches the internet and can have previews."""
    volume: SandboxVolume
    snapshot_id: Optional[SnapshotId]
    """The snapshot of which its volume was made, which may be deleted meanwhile; null: it started empty."""
    image_id: Optional[ImageId]
    """The image that is its root file system; null: its host's own."""
    builds_image_id: Optional[ImageId]
    """The image that is built in it: the service made it for that, and deletes it when the build is over. null: an
    ordinary Sandbox.
    """
    generation: int
    """1 for the first boot, +1 for each later boot, and for a rollback that leaves it stopped."""
    rollback: Optional[SandboxRollback]
    """The last rollback; null: it never had one."""
    metadata: Metadata
    env_names: List[str]
    """The names of the variables that every command is given, sorted. Their values are never told."""
    lifetime: SandboxLifetime
    checkpoints: Optional[SandboxCheckpoints]
    """null: it takes no snapshots by itself."""
    last_checkpoint: Optional[LastCheckpoint]
    """null: none was due yet."""
    created_at: str
    """When it was accepted."""
    updated_at: str
    """When its status last changed, or another start or stop was accepted while it was stopping."""
    started_at: Optional[str]
    """When it last came to run; null: never yet."""
    stopped_at: Optional[str]
    """When it last stopped; null: never yet."""
    deleted_at: Optional[str]
    """When it was deleted; null: it is not."""

    @classmethod
    def from_json(cls, data: Any) -> "Sandbox":
        return cls(
            id=data["id"],
            workspace_id=data["workspaceId"],
            name=data.get("name"),
            runtime=data["runtime"],
            profile=SandboxProfile.from_json(data["profile"]),
            status=data["status"],
            status_reason=None if data.get("statusReason") is None else Reason.from_json(data.get("statusReason")),
            network_enabled=data["networkEnabled"],
            volume=SandboxVolume.from_json(data["volume"]),
            snapshot_id=data.get("snapshotId"),
            image_id=data.get("imageId"),
            builds_image_id=data.get("buildsImageId"),
            generation=data["generation"],
            rollback=None if data.get("rollback") is None else SandboxRollback.from_json(data.get("rollback")),
            metadata=data["metadata"],
            env_names=data["envNames"],
            lifetime=SandboxLifetime.from_json(data["lifetime"]),
            checkpoints=None if data.get("checkpoints") is None else SandboxCheckpoints.from_json(data.get("checkpoints")),
            last_checkpoint=None if data.get("lastCheckpoint") is None else LastCheckpoint.from_json(data.get("lastCheckpoint")),
            created_at=data["createdAt"],
            updated_at=data["updatedAt"],
            started_at=data.get("startedAt"),
            stopped_at=data.get("stoppedAt"),
            deleted_at=data.get("deletedAt"),
        )


@dataclass(frozen=True)
class SandboxAnalyticsLifecycleTransition:
    """Status changes within the window; the newest 10,000."""

    at: str
    """When it changed."""
    from_: Optional[str]
    """The status before; null for the first."""
    to: str
    """The status after."""
    reason: Optional[str]
    """The code of the reason; null where there is none."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxAnalyticsLifecycleTransition":
        return cls(
            at=data["at"],
            from_=data.get("from"),
            to=data["to"],
            reason=data.get("reason"),
        )


@dataclass(frozen=True)
class SandboxAnalyticsLifecycle:
    """What became of the Sandbox."""

    created_at: str
    """When the Sandbox was accepted."""
    deleted_at: Optional[str]
    """When it was deleted; null: it is not."""
    boots: int
    """Generations that came up within the window."""
    running_seconds: float
    """Time in status running within the window."""
    transitions: List[SandboxAnalyticsLifecycleTransition]
    """Status changes within the window; the newest 10,000."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxAnalyticsLifecycle":
        return cls(
            created_at=data["createdAt"],
            deleted_at=data.get("deletedAt"),
            boots=data["boots"],
            running_seconds=data["runningSeconds"],
            transitions=[SandboxAnalyticsLifecycleTransition.from_json(item) for item in data["transitions"]],
        )


@dataclass(frozen=True)
class SandboxAnalyticsOperations:
    """What was run in it."""

    started: int
    """Operations that were started within the window."""
    completed: int
    """Of these, completed by now."""
    cancelled: int
    """Of these, cancelled."""
    failed: int
    """Of these, failed."""
    execute_count: int
    """Synchronous commands within the window."""
    median_duration_ms: Optional[float]
    """Of completed operations and executes."""
    p99_duration_ms: Optional[float]
    """Of them, too: 99 of 100 took no longer."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxAnalyticsOperations":
        return cls(
            started=data["started"],
            completed=data["completed"],
            cancelled=data["cancelled"],
            failed=data["failed"],
            execute_count=data["executeCount"],
            median_duration_ms=data.get("medianDurationMs"),
            p99_duration_ms=data.get("p99DurationMs"),
        )


@dataclass(frozen=True)
class SandboxAnalyticsResources:
    """What it used."""

    samples: List[ResourceSample]
    """Every bucket of the window, oldest first."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxAnalyticsResources":
        return cls(
            samples=[ResourceSample.from_json(item) for item in data["samples"]],
        )


@dataclass(frozen=True)
class SandboxAnalytics:
    """What one Sandbox did and used within a window."""

    sandbox_id: str
    """The Sandbox."""
    from_: str
    """The begin of the window."""
    to: str
    """The end of the window, exclusive."""
    resolution_seconds: int
    """Length of one bucket."""
    generation: Optional[int]
    """The one boot that it is of; null: all."""
    lifecycle: SandboxAnalyticsLifecycle
    """What became of the Sandbox."""
    operations: SandboxAnalyticsOperations
    """What was run in it."""
    resources: SandboxAnalyticsResources
    """What it used."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxAnalytics":
        return cls(
            sandbox_id=data["sandboxId"],
            from_=data["from"],
            to=data["to"],
            resolution_seconds=data["resolutionSeconds"],
            generation=data.get("generation"),
            lifecycle=SandboxAnalyticsLifecycle.from_json(data["lifecycle"]),
            operations=SandboxAnalyticsOperations.from_json(data["operations"]),
            resources=SandboxAnalyticsResources.from_json(data["resources"]),
        )


@dataclass(frozen=True)
class SandboxCheckpoints:
    """Which snapshots it takes by itself (`checkpoint: true`). They count toward the limits and cost as any; they are
    deleted with the Sandbox, except those that a client has changed (name or expiry).
    """

    every_seconds: Optional[int]
    """A snapshot is taken whenever it has run for so many seconds since the last such one. The deadline is durable: one
    that was missed while the service was away is taken once. A Sandbox that sleeps or is stopped takes one at that
    time if it has run since the last checkpoint, and then none until it runs again. null: none by time.
    """
    on_stop: bool
    """Whether a snapshot is taken when it has stopped, if it has run since the last checkpoint. A start that comes
    meanwhile waits for it. A Sandbox that was started again before it had stopped takes none.
    """
    keep: int
    """How many checkpoints that are ready stay: when a newer one is ready, the oldest beyond this number is deleted.
    Those that a client has changed (name or expiry) neither count nor go.
    """
    next_at: Optional[str]
    """When the next one is due; of a Sandbox that boots or stops then, when it has done so. null: none is due before it
    runs again, or everySeconds is null.
    """

    @classmethod
    def from_json(cls, data: Any) -> "SandboxCheckpoints":
        return cls(
            every_seconds=data.get("everySeconds"),
            on_stop=data["onStop"],
            keep=data["keep"],
            next_at=data.get("nextAt"),
        )


@dataclass(frozen=True)
class SandboxHistory:
    """Thing by thing, the newest first, and each with its log from its beginning."""

    transitions: List[InnerTransition]
    """One page."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxHistory":
        return cls(
            transitions=[InnerTransition.from_json(item) for item in data["transitions"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class SandboxLifetime:
    """What ends it by itself, and when. The deadlines are durable: a restart of the service moves none but idleStopAt.
    A Sandbox that was stopped so says it in statusReason: `LIFETIME_ENDED`, `IDLE_TOO_LONG`.
    """

    stop_after_seconds: Optional[int]
    """It is stopped when it has run for so many seconds, counted from its boot; time that it slept counts, and a later
    boot starts the count again. null: never.
    """
    stop_after_idle_seconds: Optional[int]
    """It is stopped when it has not been used for so many seconds. A use is a command, a file call, a terminal, and a
    connection of a preview, a tunnel or SSH, for as long as it lasts. A boot and a waking count as one. So does a
    restart of the service, which may forget uses before it: it is never stopped sooner, only later; so it is, by up
    to 15 s, where the service is several processes. null: never.
    """
    delete_after_stopped_seconds: Optional[int]
    """It is deleted with its volume when it has been stopped for so many seconds (by its lifetime, by a client, or at
    the end of the account's credit), or failed for so long. 0: immediately. null: never.
    """
    stop_at: Optional[str]
    """When stopAfterSeconds stops it; null while it does not run or sleep, or where nothing is set."""
    idle_stop_at: Optional[str]
    """When stopAfterIdleSeconds stops it at the earliest: it is then looked at, and where it was used since, this moves
    on. null while it does not run or sleep, or where nothing is set.
    """
    delete_at: Optional[str]
    """When deleteAfterStoppedSeconds deletes it; null while it is neither stopped nor failed, or where nothing is set.
    """

    @classmethod
    def from_json(cls, data: Any) -> "SandboxLifetime":
        return cls(
            stop_after_seconds=data.get("stopAfterSeconds"),
            stop_after_idle_seconds=data.get("stopAfterIdleSeconds"),
            delete_after_stopped_seconds=data.get("deleteAfterStoppedSeconds"),
            stop_at=data.get("stopAt"),
            idle_stop_at=data.get("idleStopAt"),
            delete_at=data.get("deleteAt"),
        )


@dataclass(frozen=True)
class SandboxLineage:
    """From which Sandboxes one comes, and which come from it: each over a snapshot."""

    parents: List[LineageParent]
    """Nearest first, at most 100. They end where a record is no longer kept."""
    children: List[LineageChild]
    """One page, newest first, deleted ones included."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxLineage":
        return cls(
            parents=[LineageParent.from_json(item) for item in data["parents"]],
            children=[LineageChild.from_json(item) for item in data["children"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class SandboxList:
    """Newest first, deleted ones included."""

    sandboxes: List[Sandbox]
    """One page, or all where no page was asked for."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxList":
        return cls(
            sandboxes=[Sandbox.from_json(item) for item in data["sandboxes"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class SandboxLogs:
    """Oldest first."""

    entries: List[LogEntry]
    """Those that match."""
    truncated: bool
    """There are older matches than those that are answered."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxLogs":
        return cls(
            entries=[LogEntry.from_json(item) for item in data["entries"]],
            truncated=data["truncated"],
        )


@dataclass(frozen=True)
class SandboxProfile:
    """What it is allotted."""

    vcpus: float
    """Virtual CPUs, with tenths."""
    memory_bytes: int
    """Memory."""
    disk_bytes: int
    """The size of its volume."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxProfile":
        return cls(
            vcpus=data["vcpus"],
            memory_bytes=data["memoryBytes"],
            disk_bytes=data["diskBytes"],
        )


@dataclass(frozen=True)
class SandboxResponse:
    sandbox: Sandbox

    @classmethod
    def from_json(cls, data: Any) -> "SandboxResponse":
        return cls(
            sandbox=Sandbox.from_json(data["sandbox"]),
        )


@dataclass(frozen=True)
class SandboxRollback:
    """What became of a Sandbox's last rollback; snapshotId: whose volume it was to get."""

    snapshot_id: SnapshotId
    kept_snapshot_id: Optional[SnapshotId]
    """What its volume before became, which may be deleted meanwhile; null: that was given up."""
    outcome: Literal["open", "done", "failed"]
    """open: under way. done: the volume is the snapshot's. failed: it is as it was."""
    reason: Optional[Reason]
    """Of one that failed."""
    requested_at: str
    """When it was accepted."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxRollback":
        return cls(
            snapshot_id=data["snapshotId"],
            kept_snapshot_id=data.get("keptSnapshotId"),
            outcome=data["outcome"],
            reason=None if data.get("reason") is None else Reason.from_json(data.get("reason")),
            requested_at=data["requestedAt"],
        )


@dataclass(frozen=True)
class SandboxVolume:
    """What holds /workspace; it stays when the Sandbox stops."""

    id: VolumeId
    size_bytes: int
    """Its size, full or empty."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxVolume":
        return cls(
            id=data["id"],
            size_bytes=data["sizeBytes"],
        )


@dataclass(frozen=True)
class ServiceAccessEnvelope:
    """What opens the ports. Who has it needs no API key: keep it as a secret."""

    capability: str
    """Sealed: opaque to the caller; bound to the Sandbox, its generation, the ports and the expiry."""

    @classmethod
    def from_json(cls, data: Any) -> "ServiceAccessEnvelope":
        return cls(
            capability=data["capability"],
        )


@dataclass(frozen=True)
class ServiceAccessRevoke:
    """What is known of the access that was revoked."""

    generation_id: ServiceAccessId
    cleanup: Literal["confirmed", "unconfirmed"]
    """Every connection is cut here in either case. confirmed: and the runtime has said so too."""

    @classmethod
    def from_json(cls, data: Any) -> "ServiceAccessRevoke":
        return cls(
            generation_id=data["generationId"],
            cleanup=data["cleanup"],
        )


@dataclass(frozen=True)
class Snapshot:
    """The volume of a Sandbox as it was at one instant. It outlives the Sandbox."""

    id: SnapshotId
    sandbox_id: Optional[SandboxId]
    """The Sandbox whose volume it has; null: it was imported."""
    imported: bool
    """Whether it came from a file (importSnapshot)."""
    workspace_id: WorkspaceId
    sandbox_revision: int
    """The revision of the Sandbox's transition log at which it was asked for; 0: it was imported."""
    generation: int
    """The Sandbox's generation then; 0: it was imported."""
    name: Optional[str]
    """As it was given; null: none was."""
    status: SnapshotStatus
    status_reason: Optional[Reason]
    """Why it has that status; null where nothing is to be said."""
    checkpoint: bool
    """Whether the Sandbox took it by itself (`checkpoints`). Such a one is deleted in favour of newer ones, and with
    its Sandbox, unless a client has changed its name or expiry.
    """
    runtime: Literal["vm", "namespace"]
    """The Sandbox's runtime; Sandboxes that are made of it have the same."""
    profile: SandboxProfile
    network_enabled: bool
    """Whether the Sandbox had a network."""
    metadata: Metadata
    env_names: List[str]
    """The names of the variables that come along, sorted. Their values are never told."""
    memory: bool
    """Whether the memory and the running processes are in it."""
    image_id: Optional[ImageId]
    """The Sandbox's image; Sandboxes that are made of the snapshot have it, too. null: the host's own root."""
    size_bytes: Optional[int]
    """The size of the volume, full or empty, and of the memory where it is in it. null until it is ready."""
    stored_bytes: Optional[int]
    """Bytes that the image occupies on the host, with its memory; they count toward the workspace's storage limit. null
    until it is ready.
    """
    paused_ms: Optional[int]
    """How long writers of the Sandbox waited, or with memory the whole Sandbox, in ms; 0: its volume was not in use.
    null until it is ready.
    """
    created_at: str
    """When it was accepted."""
    ready_at: Optional[str]
    """When its image was whole; null: it never was."""
    expires_at: Optional[str]
    """When it is deleted by itself; null: never."""
    deleted_at: Optional[str]
    """When it was deleted; null: it is not."""

    @classmethod
    def from_json(cls, data: Any) -> "Snapshot":
        return cls(
            id=data["id"],
            sandbox_id=data.get("sandboxId"),
            imported=data["imported"],
            workspace_id=data["workspaceId"],
            sandbox_revision=data["sandboxRevision"],
            generation=data["generation"],
            name=data.get("name"),
            status=data["status"],
            status_reason=None if data.get("statusReason") is None else Reason.from_json(data.get("statusReason")),
            checkpoint=data["checkpoint"],
            runtime=data["runtime"],
            profile=SandboxProfile.from_json(data["profile"]),
            network_enabled=data["networkEnabled"],
            metadata=data["metadata"],
            env_names=data["envNames"],
            memory=data["memory"],
            image_id=data.get("imageId"),
            size_bytes=data.get("sizeBytes"),
            stored_bytes=data.get("storedBytes"),
            paused_ms=data.get("pausedMs"),
            created_at=data["createdAt"],
            ready_at=data.get("readyAt"),
            expires_at=data.get("expiresAt"),
            deleted_at=data.get("deletedAt"),
        )


@dataclass(frozen=True)
class SnapshotList:
    """Newest first, deleted ones included."""

    snapshots: List[Snapshot]
    """One page."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "SnapshotList":
        return cls(
            snapshots=[Snapshot.from_json(item) for item in data["snapshots"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class SnapshotResponse:
    """One snapshot."""

    snapshot: Snapshot

    @classmethod
    def from_json(cls, data: Any) -> "SnapshotResponse":
        return cls(
            snapshot=Snapshot.from_json(data["snapshot"]),
        )


@dataclass(frozen=True)
class TransitionCommand:
    """What the step asked the service to do."""

    type: str
    """The command's name in the machine."""
    params: Any
    """Its parameters; null where it has none."""

    @classmethod
    def from_json(cls, data: Any) -> "TransitionCommand":
        return cls(
            type=data["type"],
            params=data.get("params"),
        )


@dataclass(frozen=True)
class TransitionStillPending:
    """What earlier steps asked for that was not done yet when this one was taken; its own commands are pending besides.
    Null: not known, of a step that an older version of the service took.
    """

    revision: int
    """The step that asked for it."""
    index: int
    """Its place among that step's commands, from 0."""

    @classmethod
    def from_json(cls, data: Any) -> "TransitionStillPending":
        return cls(
            revision=data["revision"],
            index=data["index"],
        )


@dataclass(frozen=True)
class Transition:
    """One step of a state machine, as it was committed."""

    revision: int
    """1 for the first, without gaps."""
    at: str
    """When it was taken."""
    event: LoggedEvent
    from_: Optional[str]
    """The status before; null for the first."""
    to: str
    """The status after."""
    commands: List[TransitionCommand]
    """What the step asked the service to do."""
    still_pending: Optional[List[TransitionStillPending]]
    """What earlier steps asked for that was not done yet when this one was taken; its own commands are pending besides.
    Null: not known, of a step that an older version of the service took.
    """
    cause: str
    """Who or what sent the event."""
    request_id: Optional[str]
    """Of the request that sent it; null where none did."""

    @classmethod
    def from_json(cls, data: Any) -> "Transition":
        return cls(
            revision=data["revision"],
            at=data["at"],
            event=LoggedEvent.from_json(data["event"]),
            from_=data.get("from"),
            to=data["to"],
            commands=[TransitionCommand.from_json(item) for item in data["commands"]],
            still_pending=None if data.get("stillPending") is None else [TransitionStillPending.from_json(item) for item in data.get("stillPending")],
            cause=data["cause"],
            request_id=data.get("requestId"),
        )


@dataclass(frozen=True)
class TransitionListStored:
    """The present context of the machine. Folding the log up to this revision through the machine gives the same. Read
    before the log, which may be ahead.
    """

    revision: int
    """How many transitions made it so."""
    status: str
    """The machine's state."""
    context: Dict[str, Any]
    """What the machine remembers."""

    @classmethod
    def from_json(cls, data: Any) -> "TransitionListStored":
        return cls(
            revision=data["revision"],
            status=data["status"],
            context=data["context"],
        )


@dataclass(frozen=True)
class TransitionList:
    """Oldest first."""

    transitions: List[Transition]
    """One page."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""
    next_events: List[str]
    """The events that the present state accepts."""
    stored: TransitionListStored
    """The present context of the machine. Folding the log up to this revision through the machine gives the same. Read
    before the log, which may be ahead.
    """

    @classmethod
    def from_json(cls, data: Any) -> "TransitionList":
        return cls(
            transitions=[Transition.from_json(item) for item in data["transitions"]],
            next_cursor=data.get("nextCursor"),
            next_events=data["nextEvents"],
            stored=TransitionListStored.from_json(data["stored"]),
        )


@dataclass(frozen=True)
class UnpackedArchive:
    """What was unpacked."""

    path: str
    """The directory."""
    entries: int
    """How many files, directories and links are as in the archive now."""
    bytes: int
    """Content of the files among them."""

    @classmethod
    def from_json(cls, data: Any) -> "UnpackedArchive":
        return cls(
            path=data["path"],
            entries=data["entries"],
            bytes=data["bytes"],
        )


@dataclass(frozen=True)
class Usage:
    """What was used within a window."""

    from_: str
    """The begin of the window."""
    to: str
    """The end of the window, exclusive."""
    as_of: str
    """What happened up to here is in it: the end of the window, or now if that is earlier."""
    sandbox_seconds: float
    """Time in status running, of all Sandboxes together."""
    vcpu_seconds: float
    """That time, times the vCPUs of each."""
    memory_mib_seconds: float
    """That time, times the MiB of memory of each."""
    volume_mib_seconds: float
    """From a Sandbox's first boot to its deletion, times the MiB of its volume."""
    snapshot_mib_seconds: float
    """Of each snapshot and image from when it was ready to its deletion, times the MiB that it stores (storedBytes)."""
    cpu_seconds: Optional[float]
    """CPU time that was really used, as measured. Null: not measured."""
    operations: int
    """Operations that were started, with every outcome."""
    executes: int
    """Synchronous commands that were started and have ended."""

    @classmethod
    def from_json(cls, data: Any) -> "Usage":
        return cls(
            from_=data["from"],
            to=data["to"],
            as_of=data["asOf"],
            sandbox_seconds=data["sandboxSeconds"],
            vcpu_seconds=data["vcpuSeconds"],
            memory_mib_seconds=data["memoryMibSeconds"],
            volume_mib_seconds=data["volumeMibSeconds"],
            snapshot_mib_seconds=data["snapshotMibSeconds"],
            cpu_seconds=data.get("cpuSeconds"),
            operations=data["operations"],
            executes=data["executes"],
        )


@dataclass(frozen=True)
class UsageResponse:
    """What the account used in a window of time."""

    usage: Usage

    @classmethod
    def from_json(cls, data: Any) -> "UsageResponse":
        return cls(
            usage=Usage.from_json(data["usage"]),
        )


@dataclass(frozen=True)
class WalletTransactionPeriod:
    """Of usage and its reversal: when it was; within one UTC day."""

    from_: str
    """Inclusive."""
    to: str
    """Exclusive."""

    @classmethod
    def from_json(cls, data: Any) -> "WalletTransactionPeriod":
        return cls(
            from_=data["from"],
            to=data["to"],
        )


@dataclass(frozen=True)
class WalletTransactionGrant:
    """How it changed grants. What microUsd has beyond them was owed, or paid what had been owed."""

    grant_id: str
    """The id of a grant."""
    micro_usd: int
    """What it adds to what is left of the grant; negative: takes."""

    @classmethod
    def from_json(cls, data: Any) -> "WalletTransactionGrant":
        return cls(
            grant_id=data["grantId"],
            micro_usd=data["microUsd"],
        )


@dataclass(frozen=True)
class WalletTransaction:
    """One entry of the ledger: credit that came, or money that was used."""

    id: str
    """The id of a transaction."""
    at: str
    """When what it is about happened; of usage, the end of its period."""
    posted_at: str
    """When it was entered."""
    kind: Literal["grant", "usage", "expiry", "adjustment", "reversal"]
    """adjustment: a grant of that kind. expiry: what was left of a grant that expired. reversal: gives back usage that
    was posted although its Sandbox had ended before.
    """
    micro_usd: int
    """What it adds to the balance; usage and expiry are negative."""
    balance_micro_usd: int
    """The balance after it."""
    sandbox_id: Optional[SandboxId]
    """Of usage and its reversal: whose. Of a snapshot's: the Sandbox that it was taken of; null: it was imported."""
    snapshot_id: Optional[SnapshotId]
    """Of usage of a snapshot and its reversal: whose."""
    image_id: Optional[ImageId]
    """Of usage of an image and its reversal: whose."""
    period: Optional[WalletTransactionPeriod]
    """Of usage and its reversal: when it was; within one UTC day."""
    description: str
    """For people: whose usage, which grant."""
    grants: List[WalletTransactionGrant]
    """How it changed grants. What microUsd has beyond them was owed, or paid what had been owed."""
    reverses_id: Optional[str]
    """Of a reversal: the transaction of which it gives back."""

    @classmethod
    def from_json(cls, data: Any) -> "WalletTransaction":
        return cls(
            id=data["id"],
            at=data["at"],
            posted_at=data["postedAt"],
            kind=data["kind"],
            micro_usd=data["microUsd"],
            balance_micro_usd=data["balanceMicroUsd"],
            sandbox_id=data.get("sandboxId"),
            snapshot_id=data.get("snapshotId"),
            image_id=data.get("imageId"),
            period=None if data.get("period") is None else WalletTransactionPeriod.from_json(data.get("period")),
            description=data["description"],
            grants=[WalletTransactionGrant.from_json(item) for item in data["grants"]],
            reverses_id=data.get("reversesId"),
        )


@dataclass(frozen=True)
class WalletTransactionList:
    """Newest first."""

    transactions: List[WalletTransaction]
    """One page."""
    next_cursor: Optional[str]
    """Pass it as cursor to get the next page; null at the end."""

    @classmethod
    def from_json(cls, data: Any) -> "WalletTransactionList":
        return cls(
            transactions=[WalletTransaction.from_json(item) for item in data["transactions"]],
            next_cursor=data.get("nextCursor"),
        )


@dataclass(frozen=True)
class Workspace:
    """A persistent container of Sandboxes."""

    id: WorkspaceId
    name: str
    """For people; names need not be unique."""
    created_at: str
    """When it was made."""
    sandbox_count: int
    """Sandboxes that count toward the limits: all but deleted and expired ones."""
    storage_bytes: int
    """The sizes of their volumes, and what the images of its snapshots occupy, together."""
    storage_limit_bytes: int
    """What they may be together; beyond it a create is 429."""

    @classmethod
    def from_json(cls, data: Any) -> "Workspace":
        return cls(
            id=data["id"],
            name=data["name"],
            created_at=data["createdAt"],
            sandbox_count=data["sandboxCount"],
            storage_bytes=data["storageBytes"],
            storage_limit_bytes=data["storageLimitBytes"],
        )


@dataclass(frozen=True)
class WorkspaceList:
    """Newest first."""

    workspaces: List[Workspace]
    """All of the account."""

    @classmethod
    def from_json(cls, data: Any) -> "WorkspaceList":
        return cls(
            workspaces=[Workspace.from_json(item) for item in data["workspaces"]],
        )


@dataclass(frozen=True)
class WorkspaceResponse:
    """One workspace."""

    workspace: Workspace

    @classmethod
    def from_json(cls, data: Any) -> "WorkspaceResponse":
        return cls(
            workspace=Workspace.from_json(data["workspace"]),
        )


@dataclass(frozen=True)
class InvalidRequestErrorDetails:
    """What a program needs beside the code."""

    issues: List[Issue]
    """All that is wrong, up to 20."""

    @classmethod
    def from_json(cls, data: Any) -> "InvalidRequestErrorDetails":
        return cls(
            issues=[Issue.from_json(item) for item in data["issues"]],
        )


@dataclass(frozen=True)
class ScopeRequiredErrorDetails:
    """What a program needs beside the code."""

    scope: Scope

    @classmethod
    def from_json(cls, data: Any) -> "ScopeRequiredErrorDetails":
        return cls(
            scope=data["scope"],
        )


@dataclass(frozen=True)
class MethodNotAllowedErrorDetails:
    """What a program needs beside the code."""

    allow: List[str]
    """The methods that the path has."""

    @classmethod
    def from_json(cls, data: Any) -> "MethodNotAllowedErrorDetails":
        return cls(
            allow=data["allow"],
        )


@dataclass(frozen=True)
class ImageNotReadyErrorDetails:
    """What a program needs beside the code."""

    status: str
    """The image's status."""

    @classmethod
    def from_json(cls, data: Any) -> "ImageNotReadyErrorDetails":
        return cls(
            status=data["status"],
        )


@dataclass(frozen=True)
class ImageInUseErrorDetails:
    """What a program needs beside the code."""

    sandboxes: int
    """Sandboxes that have it."""
    snapshots: int
    """Snapshots whose Sandboxes would have it."""

    @classmethod
    def from_json(cls, data: Any) -> "ImageInUseErrorDetails":
        return cls(
            sandboxes=data["sandboxes"],
            snapshots=data["snapshots"],
        )


@dataclass(frozen=True)
class ImageUploadsReachedErrorDetails:
    """What a program needs beside the code."""

    limit: int
    """How many it may upload at a time."""

    @classmethod
    def from_json(cls, data: Any) -> "ImageUploadsReachedErrorDetails":
        return cls(
            limit=data["limit"],
        )


@dataclass(frozen=True)
class ImageLimitReachedErrorDetails:
    """What a program needs beside the code."""

    limit: int
    """How many it may have."""

    @classmethod
    def from_json(cls, data: Any) -> "ImageLimitReachedErrorDetails":
        return cls(
            limit=data["limit"],
        )


@dataclass(frozen=True)
class SnapshotNotReadyErrorDetails:
    """What a program needs beside the code."""

    status: str
    """The snapshot's status."""

    @classmethod
    def from_json(cls, data: Any) -> "SnapshotNotReadyErrorDetails":
        return cls(
            status=data["status"],
        )


@dataclass(frozen=True)
class SandboxNotCapturableErrorDetails:
    """What a program needs beside the code."""

    status: str
    """The Sandbox's status."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxNotCapturableErrorDetails":
        return cls(
            status=data["status"],
        )


@dataclass(frozen=True)
class SandboxCannotRollBackErrorDetails:
    """What a program needs beside the code."""

    status: str
    """The Sandbox's status."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxCannotRollBackErrorDetails":
        return cls(
            status=data["status"],
        )


@dataclass(frozen=True)
class SnapshotDoesNotFitErrorDetails:
    """What a program needs beside the code."""

    differs: Literal["workspace", "runtime", "disk", "host"]
    """Where the snapshot differs from the Sandbox; disk: the snapshot's is larger; host: only earlier versions of Atoll
    answer that.
    """

    @classmethod
    def from_json(cls, data: Any) -> "SnapshotDoesNotFitErrorDetails":
        return cls(
            differs=data["differs"],
        )


@dataclass(frozen=True)
class NoSnapshotAtRevisionErrorDetails:
    """What a program needs beside the code."""

    oldest_revision: Optional[int]
    """The lowest sandboxRevision of its ready snapshots; null: it has none."""

    @classmethod
    def from_json(cls, data: Any) -> "NoSnapshotAtRevisionErrorDetails":
        return cls(
            oldest_revision=data.get("oldestRevision"),
        )


@dataclass(frozen=True)
class SnapshotLimitReachedErrorDetails:
    """What a program needs beside the code."""

    limit: int
    """How many it may have."""

    @classmethod
    def from_json(cls, data: Any) -> "SnapshotLimitReachedErrorDetails":
        return cls(
            limit=data["limit"],
        )


@dataclass(frozen=True)
class WorkspaceQuotaExceededErrorDetails:
    """What a program needs beside the code."""

    limit: int
    """How many it may have."""

    @classmethod
    def from_json(cls, data: Any) -> "WorkspaceQuotaExceededErrorDetails":
        return cls(
            limit=data["limit"],
        )


@dataclass(frozen=True)
class WorkspaceNotEmptyErrorDetails:
    """What a program needs beside the code."""

    sandbox_count: int
    """How many it has."""

    @classmethod
    def from_json(cls, data: Any) -> "WorkspaceNotEmptyErrorDetails":
        return cls(
            sandbox_count=data["sandboxCount"],
        )


@dataclass(frozen=True)
class MemoryInUseErrorDetails:
    """What a program needs beside the code."""

    used_bytes: int
    """How much memory it has in use."""

    @classmethod
    def from_json(cls, data: Any) -> "MemoryInUseErrorDetails":
        return cls(
            used_bytes=data["usedBytes"],
        )


@dataclass(frozen=True)
class TextAmbiguousErrorDetails:
    """What a program needs beside the code."""

    occurrences: int
    """How often it occurs."""

    @classmethod
    def from_json(cls, data: Any) -> "TextAmbiguousErrorDetails":
        return cls(
            occurrences=data["occurrences"],
        )


@dataclass(frozen=True)
class ArchiveIncompleteErrorDetails:
    """What a program needs beside the code."""

    reason: Literal["malformed", "truncated", "unsafe_name", "name_too_long", "unsupported_entry", "in_the_way", "missing_target", "too_large", "storage_full", "not_permitted"]
    """malformed: it is no tar archive, or not compressed as its Content-Encoding says. truncated: it ends before its
    end. unsafe_name: a name is absolute, has a .. in it, or leads out of the directory. name_too_long: a name of
    more than 255 bytes, or a path of more than 4095. unsupported_entry: a device, a fifo, a sparse file. in_the_way:
    something of another kind is there, such as a directory where the archive has a file, or a symbolic link where it
    has a directory. missing_target: a hard link to what is not there. too_large: too many entries, or a file that is
    too large. storage_full: the volume is full. not_permitted: the Sandbox's user has no permission.
    """
    entries: int
    """How many of its entries were done: these are as in the archive."""
    bytes: int
    """Content of the files among them."""
    last_path: Optional[str]
    """The last entry that was done, as the archive names it, at most its first 1024 characters; null: none was. What
    stands behind it is as it was before.
    """

    @classmethod
    def from_json(cls, data: Any) -> "ArchiveIncompleteErrorDetails":
        return cls(
            reason=data["reason"],
            entries=data["entries"],
            bytes=data["bytes"],
            last_path=data.get("lastPath"),
        )


@dataclass(frozen=True)
class PreconditionFailedErrorDetails:
    """What a program needs beside the code."""

    actual_sha256: str
    """SHA-256 of the file as it is."""

    @classmethod
    def from_json(cls, data: Any) -> "PreconditionFailedErrorDetails":
        return cls(
            actual_sha256=data["actualSha256"],
        )


@dataclass(frozen=True)
class PayloadTooLargeErrorDetails:
    """What a program needs beside the code."""

    limit_bytes: int
    """How large it may be."""

    @classmethod
    def from_json(cls, data: Any) -> "PayloadTooLargeErrorDetails":
        return cls(
            limit_bytes=data["limitBytes"],
        )


@dataclass(frozen=True)
class UnsupportedMediaTypeErrorDetails:
    """What a program needs beside the code."""

    expected: str
    """The media type that is read here."""

    @classmethod
    def from_json(cls, data: Any) -> "UnsupportedMediaTypeErrorDetails":
        return cls(
            expected=data["expected"],
        )


@dataclass(frozen=True)
class SandboxLimitReachedErrorDetails:
    """What a program needs beside the code."""

    limit: Optional[int]
    """How many it may have; null: it is not known any more."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxLimitReachedErrorDetails":
        return cls(
            limit=data.get("limit"),
        )


@dataclass(frozen=True)
class StorageLimitReachedErrorDetails:
    """What a program needs beside the code."""

    limit_bytes: Optional[int]
    """The limit; null: it is not known any more."""

    @classmethod
    def from_json(cls, data: Any) -> "StorageLimitReachedErrorDetails":
        return cls(
            limit_bytes=data.get("limitBytes"),
        )


@dataclass(frozen=True)
class RateLimitedErrorDetails:
    """What a program needs beside the code."""

    retry_after_seconds: float
    """How long to wait."""

    @classmethod
    def from_json(cls, data: Any) -> "RateLimitedErrorDetails":
        return cls(
            retry_after_seconds=data["retryAfterSeconds"],
        )


@dataclass(frozen=True)
class InternalErrorDetails:
    """What a program needs beside the code."""

    outcome: Literal["unknown"]
    """It may have been done: look before you repeat it."""

    @classmethod
    def from_json(cls, data: Any) -> "InternalErrorDetails":
        return cls(
            outcome=data["outcome"],
        )


@dataclass(frozen=True)
class SandboxUnavailableErrorDetails:
    """What a program needs beside the code."""

    status: Optional[str]
    """The Sandbox's status; null when its host does not answer."""
    outcome: Optional[Literal["unknown"]] = None
    """What was asked for may have been done. Absent: nothing was."""

    @classmethod
    def from_json(cls, data: Any) -> "SandboxUnavailableErrorDetails":
        return cls(
            status=data.get("status"),
            outcome=data.get("outcome"),
        )


@dataclass(frozen=True)
class ServiceUnavailableErrorDetails:
    """What a program needs beside the code."""

    outcome: Literal["unknown"]
    """It may have been done: look before you repeat it."""

    @classmethod
    def from_json(cls, data: Any) -> "ServiceUnavailableErrorDetails":
        return cls(
            outcome=data["outcome"],
        )


@dataclass(frozen=True)
class Profile:
    vcpus: Given[Optional[float]] = UNSET
    """Virtual CPUs, in steps of 0.1."""
    memory_bytes: Given[Optional[int]] = UNSET
    """Memory, in whole MiB."""
    disk_bytes: Given[Optional[int]] = UNSET
    """The size of its volume, in whole MiB."""

    def to_json(self) -> Dict[str, Any]:
        return given({
            "vcpus": self.vcpus,
            "memoryBytes": self.memory_bytes,
            "diskBytes": self.disk_bytes,
        })


@dataclass(frozen=True)
class Lifetime:
    stop_after_seconds: Given[Optional[int]] = UNSET
    """It is stopped when it has run for so many seconds, counted from its boot; time that it slept counts, and a later
    boot starts the count again.
    """
    stop_after_idle_seconds: Given[Optional[int]] = UNSET
    """It is stopped when it has not been used for so many seconds. A use is a command, a file call, a terminal, and a
    connection of a preview, a tunnel or SSH, for as long as it lasts. A boot and a waking count as one. So does a
    restart of the service, which may forget uses before it: it is never stopped sooner, only later; so it is, by up
    to 15 s, where the service is several processes.
    """
    delete_after_stopped_seconds: Given[Optional[int]] = UNSET
    """It is deleted with its volume when it has been stopped for so many seconds (by its lifetime, by a client, or at
    the end of the account's credit), or failed for so long. 0: immediately.
    """

    def to_json(self) -> Dict[str, Any]:
        return given({
            "stopAfterSeconds": self.stop_after_seconds,
            "stopAfterIdleSeconds": self.stop_after_idle_seconds,
            "deleteAfterStoppedSeconds": self.delete_after_stopped_seconds,
        })


@dataclass(frozen=True)
class Checkpoints:
    every_seconds: Given[Optional[int]] = UNSET
    """A snapshot is taken whenever it has run for so many seconds since the last such one. The deadline is durable: one
    that was missed while the service was away is taken once. A Sandbox that sleeps or is stopped takes one at that
    time if it has run since the last checkpoint, and then none until it runs again.
    """
    on_stop: Given[Optional[bool]] = UNSET
    """Whether a snapshot is taken when it has stopped, if it has run since the last checkpoint. A start that comes
    meanwhile waits for it. A Sandbox that was started again before it had stopped takes none. By default `false`.
    """
    keep: Given[Optional[int]] = UNSET
    """How many checkpoints that are ready stay: when a newer one is ready, the oldest beyond this number is deleted.
    Those that a client has changed (name or expiry) neither count nor go. By default `5`.
    """

    def to_json(self) -> Dict[str, Any]:
        return given({
            "everySeconds": self.every_seconds,
            "onStop": self.on_stop,
            "keep": self.keep,
        })


__all__ = [
    "AccountId",
    "AnalyticsResponse",
    "ApiKeyId",
    "ArchiveIncompleteErrorDetails",
    "AuditEvent",
    "AuditLog",
    "Balance",
    "BalanceResponse",
    "CheckpointError",
    "Checkpoints",
    "CooperativeEnvelope",
    "CooperativeRevoke",
    "Cost",
    "CostComponents",
    "CostReport",
    "CreditGrant",
    "DeclinedEvent",
    "DeclinedEventList",
    "EditFileResponse",
    "Encoding",
    "EndpointId",
    "ExecuteResponse",
    "ExecutionResult",
    "FileList",
    "FilePath",
    "FileStat",
    "FileStatResponse",
    "ForkResponse",
    "Image",
    "ImageBuild",
    "ImageId",
    "ImageInUseErrorDetails",
    "ImageLimitReachedErrorDetails",
    "ImageList",
    "ImageNotReadyErrorDetails",
    "ImageReference",
    "ImageResponse",
    "ImageStatus",
    "ImageUploadsReachedErrorDetails",
    "InnerTransition",
    "InnerTransitionCommand",
    "InnerTransitionStillPending",
    "InternalErrorDetails",
    "InvalidRequestErrorDetails",
    "Issue",
    "LastCheckpoint",
    "Lifetime",
    "LineageChild",
    "LineageParent",
    "ListedPreview",
    "LogEntry",
    "LogSource",
    "LoggedEvent",
    "LogsResponse",
    "Machine",
    "MachineCommand",
    "MachineFormat",
    "MachineList",
    "MachinePart",
    "MachineState",
    "MachineTransition",
    "Me",
    "MeAccount",
    "MeApiKey",
    "MeLimits",
    "MemoryInUseErrorDetails",
    "MermaidMachine",
    "Metadata",
    "MethodNotAllowedErrorDetails",
    "MissingInFork",
    "NoSnapshotAtRevisionErrorDetails",
    "Operation",
    "OperationId",
    "OperationList",
    "OperationOutput",
    "OperationOutputChunk",
    "OperationResponse",
    "OutputStream",
    "PayloadTooLargeErrorDetails",
    "PreconditionFailedErrorDetails",
    "Preview",
    "PreviewId",
    "PreviewList",
    "PreviewResponse",
    "Process",
    "ProcessId",
    "ProcessList",
    "Profile",
    "ProfileBounds",
    "ProfileBoundsDiskBytes",
    "ProfileBoundsMemoryBytes",
    "ProfileBoundsVcpus",
    "RateLimitedErrorDetails",
    "Reason",
    "RefusedFork",
    "ResourceSample",
    "RollbackResponse",
    "Sandbox",
    "SandboxAnalytics",
    "SandboxAnalyticsLifecycle",
    "SandboxAnalyticsLifecycleTransition",
    "SandboxAnalyticsOperations",
    "SandboxAnalyticsResources",
    "SandboxCannotRollBackErrorDetails",
    "SandboxCheckpoints",
    "SandboxHistory",
    "SandboxId",
    "SandboxLifetime",
    "SandboxLimitReachedErrorDetails",
    "SandboxLineage",
    "SandboxList",
    "SandboxLogs",
    "SandboxNotCapturableErrorDetails",
    "SandboxProfile",
    "SandboxResponse",
    "SandboxRollback",
    "SandboxStatus",
    "SandboxUnavailableErrorDetails",
    "SandboxVolume",
    "Scope",
    "ScopeRequiredErrorDetails",
    "ServiceAccessEnvelope",
    "ServiceAccessId",
    "ServiceAccessRevoke",
    "ServiceUnavailableErrorDetails",
    "Snapshot",
    "SnapshotDoesNotFitErrorDetails",
    "SnapshotId",
    "SnapshotLimitReachedErrorDetails",
    "SnapshotList",
    "SnapshotNotReadyErrorDetails",
    "SnapshotResponse",
    "SnapshotStatus",
    "StartedBy",
    "StorageLimitReachedErrorDetails",
    "TextAmbiguousErrorDetails",
    "Transition",
    "TransitionCommand",
    "TransitionList",
    "TransitionListStored",
    "TransitionStillPending",
    "UnpackedArchive",
    "UnsupportedMediaTypeErrorDetails",
    "Usage",
    "UsageResponse",
    "VolumeId",
    "WalletTransaction",
    "WalletTransactionGrant",
    "WalletTransactionList",
    "WalletTransactionPeriod",
    "Workspace",
    "WorkspaceId",
    "WorkspaceList",
    "WorkspaceNotEmptyErrorDetails",
    "WorkspacePath",
    "WorkspaceQuotaExceededErrorDetails",
    "WorkspaceResponse",
]
