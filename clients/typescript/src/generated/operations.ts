// Made by `npm run clients` from version 2.0.0 of the service's OpenAPI description. Not to be edited.

import type {
  AnalyticsResponse,
  AuditLog,
  BalanceResponse,
  CooperativeConnectionKeys,
  CooperativeEnvelope,
  CooperativeRevoke,
  CostReport,
  CreateDirectoryRequest,
  CreatePreviewRequest,
  CreateSandboxRequest,
  CreateSnapshotRequest,
  CreateWorkspaceRequest,
  DeclinedEventList,
  EditFileRequest,
  EditFileResponse,
  EndpointId,
  ExecuteRequest,
  ExecuteResponse,
  FileList,
  FilePath,
  FileStatResponse,
  ForkRequest,
  ForkResponse,
  ImageId,
  ImageList,
  ImageResponse,
  ImageStatus,
  LogSource,
  LogsResponse,
  LookUpPreviewRequest,
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
  PullImageRequest,
  RenameFileRequest,
  RenameWorkspaceRequest,
  RollbackRequest,
  RollbackResponse,
  SandboxHistory,
  SandboxId,
  SandboxLineage,
  SandboxList,
  SandboxResponse,
  SandboxStatus,
  ServiceAccessEnvelope,
  ServiceAccessId,
  ServiceAccessRequest,
  ServiceAccessRevoke,
  SnapshotId,
  SnapshotList,
  SnapshotResponse,
  SnapshotStatus,
  StartOperationRequest,
  StartSandboxRequest,
  TransitionList,
  UnpackedArchive,
  UpdateSandboxRequest,
  UpdateSnapshotRequest,
  UsageResponse,
  WaitOperationRequest,
  WalletTransactionList,
  WorkspaceId,
  WorkspaceList,
  WorkspaceResponse
} from "./schemas.ts"

/** The answer of those that stream. */
export type ServerSentEvents = ReadableStream<Uint8Array>

/** What each operation takes and answers. */
export interface Operations {
  /** This description. */
  readonly getOpenApi: {
    readonly answer: { readonly [name: string]: unknown }
  }
  /** The state machines, as data. */
  readonly listMachines: {
    readonly query: {
      readonly format?: MachineFormat | undefined
    }
    readonly answer: MachineList
  }
  /** The account and the API key in use. Scope: sandbox:read. */
  readonly getMe: {
    readonly answer: Me
  }
  /** Revoke the API key of this request. Scope: sandbox:read. */
  readonly revokeKey: {
    readonly answer: undefined
  }
  /** List workspaces. Scope: sandbox:read. */
  readonly listWorkspaces: {
    readonly answer: WorkspaceList
  }
  /** Create an empty workspace. Scope: workspace:create. */
  readonly createWorkspace: {
    readonly headers: {
      /**
       * Names this request. Keys belong to the account and the kind of call; a repeated key with the same method, path
       * and JSON body gives the original result, with another one 409. A key lives as long as what it made, and at
       * least 24 hours.
       */
      readonly "Idempotency-Key": string
    }
    readonly body: CreateWorkspaceRequest
    readonly answer: WorkspaceResponse
  }
  /** Get a workspace. Scope: sandbox:read. */
  readonly getWorkspace: {
    readonly path: {
      readonly id: WorkspaceId
    }
    readonly answer: WorkspaceResponse
  }
  /** Give a workspace another name. Scope: workspace:create. */
  readonly renameWorkspace: {
    readonly path: {
      readonly id: WorkspaceId
    }
    readonly body: RenameWorkspaceRequest
    readonly answer: WorkspaceResponse
  }
  /** Delete an empty workspace. Scope: sandbox:delete. */
  readonly deleteWorkspace: {
    readonly path: {
      readonly id: WorkspaceId
    }
    readonly answer: undefined
  }
  /** List Sandboxes, active and deleted. Scope: sandbox:read. */
  readonly listSandboxes: {
    readonly query: {
      /** Only those in one of these: the parameter repeated, or commas between them. */
      readonly status?: ReadonlyArray<SandboxStatus> | undefined
      /** Only those in this one. */
      readonly workspaceId?: string | undefined
      /** Most entries of one page. Without limit and cursor, all are listed; with a cursor alone, 100. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
      /**
       * Any number of pairs `metadata.KEY=VALUE`: only Sandboxes whose metadata has them all. Each KEY once; the
       * object's property is named `metadata.KEY`.
       */
      readonly metadata?: { readonly [name: string]: string } | undefined
    }
    readonly answer: SandboxList
  }
  /** Create a Sandbox. Scope: sandbox:create. */
  readonly createSandbox: {
    readonly query: {
      /** Answers once it runs, or will not by itself, or after 30 s, with the status that it has. */
      readonly wait?: "running" | undefined
    }
    readonly headers: {
      /**
       * Names this request. A repeated key with the same body gives the original result, with another one 409. Required
       * for a Sandbox of the runtime vm. Without one, a repetition makes another Sandbox. A key lives as long as what
       * it made, and at least 24 hours.
       */
      readonly "Idempotency-Key"?: string | undefined
    }
    readonly body: CreateSandboxRequest
    readonly answer: SandboxResponse
  }
  /** Get a Sandbox. Scope: sandbox:read. */
  readonly getSandbox: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly answer: SandboxResponse
  }
  /** Change a Sandbox's name, metadata, variables, sizes, lifetime or checkpoints. Scope: sandbox:create. */
  readonly updateSandbox: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly body: UpdateSandboxRequest
    readonly answer: SandboxResponse
  }
  /** Delete a Sandbox and its volume. Scope: sandbox:delete. */
  readonly deleteSandbox: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly answer: undefined
  }
  /** Start a Sandbox. Scope: sandbox:create. */
  readonly startSandbox: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Answers once it runs, or will not by itself, or after 30 s, with the status that it has. */
      readonly wait?: "running" | undefined
    }
    readonly headers: {
      /** Names this start of this Sandbox. A repeated request boots nothing, also after later stops and starts. */
      readonly "Idempotency-Key"?: string | undefined
    }
    readonly body?: StartSandboxRequest | undefined
    readonly answer: SandboxResponse
  }
  /** Stop a Sandbox and keep its volume. Scope: sandbox:execute. */
  readonly stopSandbox: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly body?: StartSandboxRequest | undefined
    readonly answer: SandboxResponse
  }
  /** The transition log of a Sandbox. Scope: sandbox:read. */
  readonly listSandboxTransitions: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: TransitionList
  }
  /** The transition logs of all that lived in a Sandbox. Scope: sandbox:read. */
  readonly listSandboxHistory: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: SandboxHistory
  }
  /** Take a snapshot of a Sandbox's volume, or of its memory, too. Scope: sandbox:create. */
  readonly createSnapshot: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly headers: {
      /**
       * Names this request. A repeated key with the same Sandbox and body gives the original snapshot, with another one
       * 409. Without one, a repetition takes another snapshot. A key lives as long as what it made, and at least 24
       * hours.
       */
      readonly "Idempotency-Key"?: string | undefined
    }
    readonly body?: CreateSnapshotRequest | undefined
    readonly answer: SnapshotResponse
  }
  /** List snapshots. Scope: sandbox:read. */
  readonly listSnapshots: {
    readonly query: {
      readonly sandboxId?: SandboxId | undefined
      /** Only those in one of these: the parameter repeated, or commas between them. */
      readonly status?: ReadonlyArray<SnapshotStatus> | undefined
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: SnapshotList
  }
  /** Make a snapshot of a file. Scope: sandbox:create. */
  readonly importSnapshot: {
    readonly query: {
      /** An own workspace; any other gives 404. */
      readonly workspaceId: string
      /** For people. Absent: the name in the file, if any. */
      readonly name?: string | undefined
      /** When it is deleted by itself: an instant in the future. Absent: never. */
      readonly expiresAt?: string | undefined
    }
    readonly headers: {
      /**
       * Names this request. A repeated key with the same query and the same head of the file (what the snapshot is)
       * gives the original snapshot without reading the rest; with another one 409. Without one, a repetition imports
       * another snapshot. A key lives as long as what it made, and at least 24 hours.
       */
      readonly "Idempotency-Key"?: string | undefined
    }
    readonly body: Uint8Array
    readonly answer: SnapshotResponse
  }
  /** Get a snapshot. Scope: sandbox:read. */
  readonly getSnapshot: {
    readonly path: {
      readonly id: SnapshotId
    }
    readonly answer: SnapshotResponse
  }
  /** Change a snapshot's name or expiry. Scope: sandbox:create. */
  readonly updateSnapshot: {
    readonly path: {
      readonly id: SnapshotId
    }
    readonly body: UpdateSnapshotRequest
    readonly answer: SnapshotResponse
  }
  /** Delete a snapshot. Scope: sandbox:delete. */
  readonly deleteSnapshot: {
    readonly path: {
      readonly id: SnapshotId
    }
    readonly answer: undefined
  }
  /** The transition log of a snapshot. Scope: sandbox:read. */
  readonly listSnapshotTransitions: {
    readonly path: {
      readonly id: SnapshotId
    }
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: TransitionList
  }
  /** A snapshot as one file. Scope: sandbox:read. */
  readonly exportSnapshot: {
    readonly path: {
      readonly id: SnapshotId
    }
    readonly query: {
      /** How many bytes of the file are left out at its beginning. */
      readonly offset?: number | undefined
    }
    readonly answer: Uint8Array
  }
  /** Make copies of a Sandbox. Scope: sandbox:create. */
  readonly forkSandbox: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly headers: {
      /**
       * Names this request. Keys belong to the account and the kind of call; a repeated key with the same method, path
       * and JSON body gives the original result, with another one 409. A key lives as long as what it made, and at
       * least 24 hours.
       */
      readonly "Idempotency-Key": string
    }
    readonly body?: ForkRequest | undefined
    readonly answer: ForkResponse
  }
  /** Give a Sandbox the volume of a snapshot. Scope: sandbox:create. */
  readonly rollbackSandbox: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly headers: {
      /**
       * Names this rollback. A repeated key with the same Sandbox and body rolls nothing back a second time, also after
       * later ones; with another one 409. A key lives as long as its Sandbox, and at least 24 hours.
       */
      readonly "Idempotency-Key"?: string | undefined
    }
    readonly body: RollbackRequest
    readonly answer: RollbackResponse
  }
  /** From which Sandboxes a Sandbox comes, and which come from it. Scope: sandbox:read. */
  readonly readSandboxLineage: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: SandboxLineage
  }
  /** Pull an image from a registry, or build one of a Dockerfile. Scope: sandbox:create. */
  readonly pullImage: {
    readonly headers: {
      /**
       * Names this request. A repeated key with the same body gives the original image, with another one 409. Without
       * one, a repetition pulls or builds another image. A key lives as long as what it made, and at least 24 hours.
       */
      readonly "Idempotency-Key"?: string | undefined
    }
    readonly body: PullImageRequest
    readonly answer: ImageResponse
  }
  /** List images. Scope: sandbox:read. */
  readonly listImages: {
    readonly query: {
      /** Only those with exactly this name. */
      readonly name?: string | undefined
      /** Only those in one of these: the parameter repeated, or commas between them. */
      readonly status?: ReadonlyArray<ImageStatus> | undefined
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: ImageList
  }
  /** Make an image of an archive. Scope: sandbox:create. */
  readonly uploadImage: {
    readonly query: {
      /** For people; names need not be unique. Absent: none. */
      readonly name?: string | undefined
    }
    readonly headers: {
      /**
       * Names this request. A repeated key with the same query and the same body gives the original image, with another
       * one 409; the body is read whole before either. Without one, a repetition uploads another image. A key lives as
       * long as what it made, and at least 24 hours.
       */
      readonly "Idempotency-Key"?: string | undefined
    }
    readonly body: Uint8Array
    readonly answer: ImageResponse
  }
  /** Build an image of a Dockerfile with its context. Scope: sandbox:create. */
  readonly buildImage: {
    readonly query: {
      /** For people; names need not be unique. Absent: none. */
      readonly name?: string | undefined
      /** The path of the Dockerfile in the archive. Absent: `Dockerfile`. */
      readonly dockerfile?: string | undefined
      /** The stage to build. Absent: the last one. */
      readonly target?: string | undefined
      /** NAME=VALUE of an ARG; the parameter repeated, at most 64 times. */
      readonly buildArg?: ReadonlyArray<string> | undefined
      /**
       * The own workspace that the build's Sandbox is in. Absent or null: that of the snapshot, else the account's
       * oldest one.
       */
      readonly workspaceId?: string | undefined
    }
    readonly headers: {
      /**
       * Names this request. A repeated key with the same query and the same body gives the original image, with another
       * one 409; the body is read whole before either. Without one, a repetition builds another image. A key lives as
       * long as what it made, and at least 24 hours.
       */
      readonly "Idempotency-Key"?: string | undefined
      /** gzip where the archive is compressed so (a .tar.gz). */
      readonly "Content-Encoding"?: string | undefined
    }
    readonly body: Uint8Array
    readonly answer: ImageResponse
  }
  /** Get an image. Scope: sandbox:read. */
  readonly getImage: {
    readonly path: {
      readonly id: ImageId
    }
    readonly answer: ImageResponse
  }
  /** Delete an image. Scope: sandbox:delete. */
  readonly deleteImage: {
    readonly path: {
      readonly id: ImageId
    }
    readonly answer: undefined
  }
  /** Read the output of a build. Scope: sandbox:execute. */
  readonly readBuildOutput: {
    readonly path: {
      readonly id: ImageId
    }
    readonly query: {
      readonly stream: OutputStream
      /** Absolute byte offset. */
      readonly offset: number
      /** Most decoded bytes of the answer. */
      readonly limit?: number | undefined
    }
    readonly answer: OperationOutputChunk
  }
  /** Follow the output of a build. Scope: sandbox:execute. */
  readonly streamBuildOutput: {
    readonly path: {
      readonly id: ImageId
    }
    readonly query: {
      /** Absolute byte offset. */
      readonly stdoutOffset?: number | undefined
      /** Absolute byte offset. */
      readonly stderrOffset?: number | undefined
    }
    readonly headers: {
      /** As EventSource sends it: counts instead of the offsets. */
      readonly "Last-Event-Id"?: string | undefined
    }
    readonly answer: ServerSentEvents
  }
  /** The transition log of an image. Scope: sandbox:read. */
  readonly listImageTransitions: {
    readonly path: {
      readonly id: ImageId
    }
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: TransitionList
  }
  /** Run a command and wait for its end. Scope: sandbox:execute. */
  readonly execute: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly body: ExecuteRequest
    readonly answer: ExecuteResponse
  }
  /** Start an operation. Scope: sandbox:execute. */
  readonly startOperation: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly headers: {
      /**
       * Names this request. Keys belong to the account and the kind of call; a repeated key with the same method, path
       * and JSON body gives the original result, with another one 409. A key lives as long as what it made, and at
       * least 24 hours.
       */
      readonly "Idempotency-Key": string
    }
    readonly body: StartOperationRequest
    readonly answer: OperationResponse
  }
  /** List the operations of a Sandbox. Scope: sandbox:execute. */
  readonly listOperations: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: OperationList
  }
  /** Get an operation. Scope: sandbox:execute. */
  readonly getOperation: {
    readonly path: {
      readonly id: SandboxId
      readonly operationId: OperationId
    }
    readonly answer: OperationResponse
  }
  /** Read output by absolute byte offset. Scope: sandbox:execute. */
  readonly readOperationOutput: {
    readonly path: {
      readonly id: SandboxId
      readonly operationId: OperationId
    }
    readonly query: {
      readonly stream: OutputStream
      /** Absolute byte offset. */
      readonly offset: number
      /** Most decoded bytes of the answer. */
      readonly limit?: number | undefined
    }
    readonly answer: OperationOutputChunk
  }
  /** Follow the output as it is written. Scope: sandbox:execute. */
  readonly streamOperationOutput: {
    readonly path: {
      readonly id: SandboxId
      readonly operationId: OperationId
    }
    readonly query: {
      /** Absolute byte offset. */
      readonly stdoutOffset?: number | undefined
      /** Absolute byte offset. */
      readonly stderrOffset?: number | undefined
    }
    readonly headers: {
      /** As EventSource sends it: counts instead of the offsets. */
      readonly "Last-Event-Id"?: string | undefined
    }
    readonly answer: ServerSentEvents
  }
  /** Wait for progress. Scope: sandbox:execute. */
  readonly waitOperation: {
    readonly path: {
      readonly id: SandboxId
      readonly operationId: OperationId
    }
    readonly body?: WaitOperationRequest | undefined
    readonly answer: OperationResponse
  }
  /** Cancel an operation. Scope: sandbox:execute. */
  readonly cancelOperation: {
    readonly path: {
      readonly id: SandboxId
      readonly operationId: OperationId
    }
    readonly answer: OperationResponse
  }
  /** The transition log of an operation. Scope: sandbox:read. */
  readonly listOperationTransitions: {
    readonly path: {
      readonly id: SandboxId
      readonly operationId: OperationId
    }
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: TransitionList
  }
  /** What an operation did not take. Scope: sandbox:read. */
  readonly listDeclinedEvents: {
    readonly path: {
      readonly id: SandboxId
      readonly operationId: OperationId
    }
    readonly answer: DeclinedEventList
  }
  /** List the processes of a Sandbox. Scope: sandbox:execute. */
  readonly listProcesses: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly answer: ProcessList
  }
  /** End one process. Scope: sandbox:execute. */
  readonly endProcess: {
    readonly path: {
      readonly id: SandboxId
      readonly processId: ProcessId
    }
    readonly query: {
      /** Time between TERM and KILL; 0 kills immediately. */
      readonly graceSeconds?: number | undefined
    }
    readonly answer: undefined
  }
  /** Open a terminal (WebSocket). Scope: sandbox:execute. */
  readonly openTerminal: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Width, in characters. */
      readonly columns?: number | undefined
      /** Height, in characters. */
      readonly rows?: number | undefined
    }
    readonly answer: undefined
  }
  /** Metadata of one path. Scope: sandbox:read. */
  readonly statFile: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
    }
    readonly answer: FileStatResponse
  }
  /** Read a range of a file. Scope: sandbox:read. */
  readonly readFile: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
      /** First byte. Not needed with a cursor; one that disagrees with it is refused. */
      readonly offset?: number | undefined
      /** Most bytes of the answer. */
      readonly maxBytes?: number | undefined
      /** The X-Service-Next-Cursor of the range before. */
      readonly cursor?: string | undefined
    }
    readonly answer: Uint8Array
  }
  /** Create or replace a file. Scope: sandbox:execute. */
  readonly writeFile: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
    }
    readonly body: Uint8Array
    readonly answer: undefined
  }
  /** Replace text in a file. Scope: sandbox:execute. */
  readonly editFile: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
    }
    readonly body: EditFileRequest
    readonly answer: EditFileResponse
  }
  /** List a directory. Scope: sandbox:read. */
  readonly listFiles: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
      /** Most entries of one page. */
      readonly pageSize?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: FileList
  }
  /** Create a directory. Scope: sandbox:execute. */
  readonly createDirectory: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
    }
    readonly body?: CreateDirectoryRequest | undefined
    readonly answer: undefined
  }
  /** Rename a file or directory. Scope: sandbox:execute. */
  readonly renameFile: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
    }
    readonly body: RenameFileRequest
    readonly answer: undefined
  }
  /** Remove a file or directory. Scope: sandbox:execute. */
  readonly removeFile: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
      /** Removes a directory with everything in it. */
      readonly recursive?: boolean | undefined
    }
    readonly answer: undefined
  }
  /** Unpack a tar archive into a directory. Scope: sandbox:execute. */
  readonly uploadArchive: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
    }
    readonly headers: {
      /** gzip where the archive is compressed so (a .tar.gz). */
      readonly "Content-Encoding"?: string | undefined
    }
    readonly body: Uint8Array
    readonly answer: UnpackedArchive
  }
  /** A directory as a tar archive. Scope: sandbox:read. */
  readonly downloadArchive: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      readonly path: FilePath
    }
    readonly answer: Uint8Array
  }
  /** Read the log of a Sandbox. Scope: sandbox:read. */
  readonly readLogs: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Only entries at or after this instant. */
      readonly since?: string | undefined
      readonly stream?: OutputStream | undefined
      readonly source?: LogSource | undefined
      readonly operationId?: OperationId | undefined
      /** Only entries before this instant. */
      readonly until?: string | undefined
      /** Most entries of the answer: the newest that match. */
      readonly limit?: number | undefined
    }
    readonly answer: LogsResponse
  }
  /** Follow the log as it is written. Scope: sandbox:read. */
  readonly streamLogs: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Only entries at or after this instant. */
      readonly since?: string | undefined
      readonly stream?: OutputStream | undefined
      readonly source?: LogSource | undefined
      readonly operationId?: OperationId | undefined
      /** Most entries of what is stored already that are told first: the newest that match. */
      readonly limit?: number | undefined
      /** The `id` of the last event that was received; Last-Event-ID counts instead. */
      readonly after?: string | undefined
    }
    readonly headers: {
      /** As EventSource sends it: the `id` of the last event that was received. */
      readonly "Last-Event-Id"?: string | undefined
    }
    readonly answer: ServerSentEvents
  }
  /** Lifecycle, operations and resources of a Sandbox. Scope: sandbox:read. */
  readonly readAnalytics: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** Begin of the window; 24 hours before `to` by default. */
      readonly from?: string | undefined
      /** End of the window, exclusive; now by default. */
      readonly to?: string | undefined
      /** Length of one bucket. */
      readonly resolutionSeconds?: number | undefined
      /** Only what belongs to this boot. */
      readonly generation?: number | undefined
    }
    readonly answer: AnalyticsResponse
  }
  /** Open a preview of a port. Scope: sandbox:execute. */
  readonly createPreview: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly body: CreatePreviewRequest
    readonly answer: PreviewResponse
  }
  /** List previews. Scope: sandbox:execute. */
  readonly listPreviews: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly answer: PreviewList
  }
  /** Close what is open. Scope: sandbox:execute. */
  readonly closePreviews: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly answer: undefined
  }
  /** Get the address of an open preview again. Scope: sandbox:execute. */
  readonly lookUpPreview: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly body: LookUpPreviewRequest
    readonly answer: PreviewResponse
  }
  /** Close a preview. Scope: sandbox:execute. */
  readonly closePreview: {
    readonly path: {
      readonly id: SandboxId
      readonly previewId: PreviewId
    }
    readonly answer: undefined
  }
  /** Open TCP access to ports. Scope: sandbox:execute. */
  readonly createServiceAccess: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly headers: {
      readonly "Idempotency-Key": ServiceAccessId
    }
    readonly body: ServiceAccessRequest
    readonly answer: ServiceAccessEnvelope
  }
  /** Recover a live envelope. Scope: sandbox:execute. */
  readonly lookUpServiceAccess: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly headers: {
      readonly "Idempotency-Key": ServiceAccessId
    }
    readonly body: ServiceAccessRequest
    readonly answer: ServiceAccessEnvelope
  }
  /** Revoke TCP access. Scope: sandbox:execute. */
  readonly revokeServiceAccess: {
    readonly path: {
      readonly id: SandboxId
      readonly generationId: ServiceAccessId
    }
    readonly answer: ServiceAccessRevoke
  }
  /** Grant an SSH connection. Scope: sandbox:execute. */
  readonly grantConnection: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly body: CooperativeConnectionKeys
    readonly answer: CooperativeEnvelope
  }
  /** Recover a grant. Scope: sandbox:execute. */
  readonly regrantConnection: {
    readonly path: {
      readonly id: SandboxId
      readonly endpointId: EndpointId
    }
    readonly body: CooperativeConnectionKeys
    readonly answer: CooperativeEnvelope
  }
  /** Revoke a grant. Scope: sandbox:execute. */
  readonly revokeConnection: {
    readonly path: {
      readonly id: SandboxId
      readonly endpointId: EndpointId
    }
    readonly answer: CooperativeRevoke
  }
  /** What the account used. Scope: usage:read. */
  readonly readUsage: {
    readonly query: {
      /** Begin of the window; by default that of the current UTC month, or of the one that `to` ends or is in. */
      readonly from?: string | undefined
      /** End of the window, exclusive; the end of the current UTC month by default. */
      readonly to?: string | undefined
    }
    readonly answer: UsageResponse
  }
  /** The account's credit. Scope: usage:read. */
  readonly readBalance: {
    readonly answer: BalanceResponse
  }
  /** What came into the account's wallet and what left it. Scope: usage:read. */
  readonly listTransactions: {
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
    }
    readonly answer: WalletTransactionList
  }
  /** What the account's Sandboxes, their snapshots and its images cost. Scope: usage:read. */
  readonly readCosts: {
    readonly query: {
      /** Begin of the window; by default that of the current UTC month, or of the one that `to` ends or is in. */
      readonly from?: string | undefined
      /** End of the window, exclusive; the end of the current UTC month by default. */
      readonly to?: string | undefined
      /** What each cost is of. */
      readonly groupBy?: "sandbox" | "day" | "workspace" | undefined
      readonly sandboxId?: SandboxId | undefined
    }
    readonly answer: CostReport
  }
  /** Watch a Sandbox and all that is in it. Scope: sandbox:read. */
  readonly streamSandboxEvents: {
    readonly path: {
      readonly id: SandboxId
    }
    readonly query: {
      /** The `id` of the last event that was received; Last-Event-ID, if sent, counts instead. */
      readonly after?: string | undefined
    }
    readonly headers: {
      /** As EventSource sends it: the `id` of the last event that was received. */
      readonly "Last-Event-Id"?: string | undefined
    }
    readonly answer: ServerSentEvents
  }
  /** Watch all Sandboxes of the account. Scope: sandbox:read. */
  readonly streamEvents: {
    readonly query: {
      /** The `id` of the last event that was received; Last-Event-ID, if sent, counts instead. */
      readonly after?: string | undefined
    }
    readonly headers: {
      /** As EventSource sends it: the `id` of the last event that was received. */
      readonly "Last-Event-Id"?: string | undefined
    }
    readonly answer: ServerSentEvents
  }
  /** The account's API audit log. Scope: usage:read. */
  readonly listAuditEvents: {
    readonly query: {
      /** Most entries of one page. */
      readonly limit?: number | undefined
      /** The nextCursor of the page before, unchanged. */
      readonly cursor?: string | undefined
      /** Only events at this instant or later. */
      readonly from?: string | undefined
      /** Only events before this instant. */
      readonly to?: string | undefined
      /** Only these: an operationId, or another of the actions that events have. */
      readonly action?: string | undefined
      readonly sandboxId?: SandboxId | undefined
    }
    readonly answer: AuditLog
  }
  /** Open a TCP connection (WebSocket). */
  readonly openTunnel: {
    readonly query: {
      /** One of the capability's ports. */
      readonly port: number
      /**
       * The client of the connection. Connections with the same value belong together, and a newer client cuts all
       * connections of the older one. Absent: each connection is a separate client.
       */
      readonly client?: string | undefined
    }
    readonly answer: undefined
  }
}

/** How each operation is asked for. */
export const operations = {
  getOpenApi: { method: "GET", path: "/api/v2/openapi.json", carries: "json" },
  listMachines: { method: "GET", path: "/api/v2/machines", carries: "json" },
  getMe: { method: "GET", path: "/api/v2/me", carries: "json" },
  revokeKey: { method: "DELETE", path: "/api/v2/auth", carries: "nothing" },
  listWorkspaces: { method: "GET", path: "/api/v2/workspaces", carries: "json" },
  createWorkspace: { method: "POST", path: "/api/v2/workspaces", carries: "json" },
  getWorkspace: { method: "GET", path: "/api/v2/workspaces/{id}", carries: "json" },
  renameWorkspace: { method: "PATCH", path: "/api/v2/workspaces/{id}", carries: "json" },
  deleteWorkspace: { method: "DELETE", path: "/api/v2/workspaces/{id}", carries: "nothing" },
  listSandboxes: { method: "GET", path: "/api/v2/sandboxes", carries: "json" },
  createSandbox: { method: "POST", path: "/api/v2/sandboxes", carries: "json" },
  getSandbox: { method: "GET", path: "/api/v2/sandboxes/{id}", carries: "json" },
  updateSandbox: { method: "PATCH", path: "/api/v2/sandboxes/{id}", carries: "json" },
  deleteSandbox: { method: "DELETE", path: "/api/v2/sandboxes/{id}", carries: "nothing" },
  startSandbox: { method: "POST", path: "/api/v2/sandboxes/{id}/start", carries: "json" },
  stopSandbox: { method: "POST", path: "/api/v2/sandboxes/{id}/stop", carries: "json" },
  listSandboxTransitions: { method: "GET", path: "/api/v2/sandboxes/{id}/transitions", carries: "json" },
  listSandboxHistory: { method: "GET", path: "/api/v2/sandboxes/{id}/history", carries: "json" },
  createSnapshot: { method: "POST", path: "/api/v2/sandboxes/{id}/snapshots", carries: "json" },
  listSnapshots: { method: "GET", path: "/api/v2/snapshots", carries: "json" },
  importSnapshot: { method: "POST", path: "/api/v2/snapshots", sends: "application/x-atoll-snapshot", carries: "json" },
  getSnapshot: { method: "GET", path: "/api/v2/snapshots/{id}", carries: "json" },
  updateSnapshot: { method: "PATCH", path: "/api/v2/snapshots/{id}", carries: "json" },
  deleteSnapshot: { method: "DELETE", path: "/api/v2/snapshots/{id}", carries: "nothing" },
  listSnapshotTransitions: { method: "GET", path: "/api/v2/snapshots/{id}/transitions", carries: "json" },
  exportSnapshot: { method: "GET", path: "/api/v2/snapshots/{id}/content", carries: "bytes" },
  forkSandbox: { method: "POST", path: "/api/v2/sandboxes/{id}/fork", carries: "json" },
  rollbackSandbox: { method: "POST", path: "/api/v2/sandboxes/{id}/rollback", carries: "json" },
  readSandboxLineage: { method: "GET", path: "/api/v2/sandboxes/{id}/lineage", carries: "json" },
  pullImage: { method: "POST", path: "/api/v2/images", carries: "json" },
  listImages: { method: "GET", path: "/api/v2/images", carries: "json" },
  uploadImage: { method: "POST", path: "/api/v2/images/upload", sends: "application/vnd.oci.image.layout.v1.tar", carries: "json" },
  buildImage: { method: "POST", path: "/api/v2/images/build", sends: "application/x-tar", carries: "json" },
  getImage: { method: "GET", path: "/api/v2/images/{id}", carries: "json" },
  deleteImage: { method: "DELETE", path: "/api/v2/images/{id}", carries: "nothing" },
  readBuildOutput: { method: "GET", path: "/api/v2/images/{id}/build/output", carries: "json" },
  streamBuildOutput: { method: "GET", path: "/api/v2/images/{id}/build/output/stream", carries: "events" },
  listImageTransitions: { method: "GET", path: "/api/v2/images/{id}/transitions", carries: "json" },
  execute: { method: "POST", path: "/api/v2/sandboxes/{id}/execute", carries: "json" },
  startOperation: { method: "POST", path: "/api/v2/sandboxes/{id}/operations", carries: "json" },
  listOperations: { method: "GET", path: "/api/v2/sandboxes/{id}/operations", carries: "json" },
  getOperation: { method: "GET", path: "/api/v2/sandboxes/{id}/operations/{operationId}", carries: "json" },
  readOperationOutput: { method: "GET", path: "/api/v2/sandboxes/{id}/operations/{operationId}/output", carries: "json" },
  streamOperationOutput: { method: "GET", path: "/api/v2/sandboxes/{id}/operations/{operationId}/output/stream", carries: "events" },
  waitOperation: { method: "POST", path: "/api/v2/sandboxes/{id}/operations/{operationId}/wait", carries: "json" },
  cancelOperation: { method: "POST", path: "/api/v2/sandboxes/{id}/operations/{operationId}/cancel", carries: "json" },
  listOperationTransitions: { method: "GET", path: "/api/v2/sandboxes/{id}/operations/{operationId}/transitions", carries: "json" },
  listDeclinedEvents: { method: "GET", path: "/api/v2/sandboxes/{id}/operations/{operationId}/declined", carries: "json" },
  listProcesses: { method: "GET", path: "/api/v2/sandboxes/{id}/processes", carries: "json" },
  endProcess: { method: "DELETE", path: "/api/v2/sandboxes/{id}/processes/{processId}", carries: "nothing" },
  openTerminal: { method: "GET", path: "/api/v2/sandboxes/{id}/terminal", carries: "nothing" },
  statFile: { method: "GET", path: "/api/v2/sandboxes/{id}/files/stat", carries: "json" },
  readFile: { method: "GET", path: "/api/v2/sandboxes/{id}/files/content", carries: "bytes" },
  writeFile: { method: "PUT", path: "/api/v2/sandboxes/{id}/files/content", sends: "application/octet-stream", carries: "nothing" },
  editFile: { method: "PATCH", path: "/api/v2/sandboxes/{id}/files/content", carries: "json" },
  listFiles: { method: "GET", path: "/api/v2/sandboxes/{id}/files/list", carries: "json" },
  createDirectory: { method: "POST", path: "/api/v2/sandboxes/{id}/files/directory", carries: "nothing" },
  renameFile: { method: "POST", path: "/api/v2/sandboxes/{id}/files/rename", carries: "nothing" },
  removeFile: { method: "DELETE", path: "/api/v2/sandboxes/{id}/files", carries: "nothing" },
  uploadArchive: { method: "POST", path: "/api/v2/sandboxes/{id}/files/archive", sends: "application/x-tar", carries: "json" },
  downloadArchive: { method: "GET", path: "/api/v2/sandboxes/{id}/files/archive", carries: "bytes" },
  readLogs: { method: "GET", path: "/api/v2/sandboxes/{id}/logs", carries: "json" },
  streamLogs: { method: "GET", path: "/api/v2/sandboxes/{id}/logs/stream", carries: "events" },
  readAnalytics: { method: "GET", path: "/api/v2/sandboxes/{id}/analytics", carries: "json" },
  createPreview: { method: "POST", path: "/api/v2/sandboxes/{id}/previews", carries: "json" },
  listPreviews: { method: "GET", path: "/api/v2/sandboxes/{id}/previews", carries: "json" },
  closePreviews: { method: "DELETE", path: "/api/v2/sandboxes/{id}/previews", carries: "nothing" },
  lookUpPreview: { method: "POST", path: "/api/v2/sandboxes/{id}/previews/lookup", carries: "json" },
  closePreview: { method: "DELETE", path: "/api/v2/sandboxes/{id}/previews/{previewId}", carries: "nothing" },
  createServiceAccess: { method: "POST", path: "/api/v2/sandboxes/{id}/services", carries: "json" },
  lookUpServiceAccess: { method: "POST", path: "/api/v2/sandboxes/{id}/services/lookup", carries: "json" },
  revokeServiceAccess: { method: "DELETE", path: "/api/v2/sandboxes/{id}/services/{generationId}", carries: "json" },
  grantConnection: { method: "POST", path: "/api/v2/sandboxes/{id}/cooperative-connection", carries: "json" },
  regrantConnection: { method: "POST", path: "/api/v2/sandboxes/{id}/cooperative-connection/{endpointId}", carries: "json" },
  revokeConnection: { method: "DELETE", path: "/api/v2/sandboxes/{id}/cooperative-connection/{endpointId}", carries: "json" },
  readUsage: { method: "GET", path: "/api/v2/usage", carries: "json" },
  readBalance: { method: "GET", path: "/api/v2/usage/balance", carries: "json" },
  listTransactions: { method: "GET", path: "/api/v2/usage/transactions", carries: "json" },
  readCosts: { method: "GET", path: "/api/v2/usage/costs", carries: "json" },
  streamSandboxEvents: { method: "GET", path: "/api/v2/sandboxes/{id}/events", carries: "events" },
  streamEvents: { method: "GET", path: "/api/v2/events", carries: "events" },
  listAuditEvents: { method: "GET", path: "/api/v2/usage/audit", carries: "json" },
  openTunnel: { method: "GET", path: "/api/v2/tunnel", carries: "nothing" }
} as const satisfies Readonly<Record<keyof Operations, object>>
