/**
 * The examples of the OpenAPI description. Written here are things by the names of their schemas; what holds them (an answer, a page, a
 * parameter) is put together from these by the schema itself, so that no example can be forgotten.
 *
 * test/service/api/http/openapiExamples.test.ts holds each to its schema and sends the requests to the service.
 */
import { tarMediaType } from "./Files.ts"
import { imageExamples, madeOfNothing } from "./ImageExamples.ts"
import { imageArchiveMediaType } from "./ImageUpload.ts"
import { snapshotExamples } from "./SnapshotExamples.ts"
import { snapshotMediaType } from "./SnapshotFile.ts"
import { cost, profileBounds } from "./samples/amounts.ts"
import {
  accountId,
  apiKeyId,
  endpointId,
  generationId,
  operationId,
  previewId,
  processId,
  publicKey,
  requestId,
  sandboxId,
  unique,
  workspaceId
} from "./samples/ids.ts"

type Json = Record<string, unknown>

const mebibyte = 1024 * 1024
export const gibibyte = 1024 * mebibyte

export const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
const address = "203.0.113.7"
const [made, began, ended, later] = [0, 2, 5, 9].map((second) => `2026-01-31T12:00:0${second}.000Z`)
const [day, nextDay] = ["2026-01-31T00:00:00.000Z", "2026-02-01T00:00:00.000Z"]

const command = { argv: ["python3", "-c", "print(6 * 7)"], cwd: "/workspace" }
const capability = "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..gx0SYKjJp6hvGa9c.1lXoW7nYpO0dPQ.4hEvJ3tqjbl1S0dJ5xZzWw"

const transition = {
  revision: 2,
  at: began,
  event: { type: "PROVISIONED", generation: 1 },
  from: "pending",
  to: "running",
  commands: [{ type: "unschedule", params: { name: "bootTimeout" } }],
  stillPending: [],
  cause: "command",
  requestId: null
}

const entry = { name: "main.py", type: "file", sizeBytes: 13, mode: "0644", modifiedAt: began }

export const written: Record<string, unknown> = {
  Me: {
    account: { id: accountId, name: "Example", email: "ada@example.com", createdAt: made },
    apiKey: {
      id: apiKeyId,
      name: "Development",
      hint: "x7Qz",
      scopes: ["sandbox:read", "sandbox:create", "sandbox:execute", "sandbox:delete"],
      createdAt: made,
      lastUsedAt: later
    },
    limits: { workspaces: 10, sandboxes: 20, workspaceStorageBytes: 50 * gibibyte, profile: profileBounds }
  },
  Workspace: {
    id: workspaceId,
    name: "analysis",
    createdAt: made,
    sandboxCount: 1,
    storageBytes: gibibyte,
    storageLimitBytes: 50 * gibibyte
  },
  CreateWorkspaceRequest: { name: "analysis" },
  RenameWorkspaceRequest: { name: "analysis, second try" },
  Sandbox: {
    id: sandboxId,
    workspaceId,
    name: "analysis",
    runtime: "namespace",
    profile: { vcpus: 0.5, memoryBytes: 512 * mebibyte, diskBytes: gibibyte },
    status: "running",
    statusReason: null,
    networkEnabled: true,
    volume: { id: `vol_${unique}`, sizeBytes: gibibyte },
    ...madeOfNothing,
    buildsImageId: null,
    generation: 1,
    rollback: null,
    metadata: { team: "blue" },
    envNames: ["API_TOKEN"],
    lifetime: {
      stopAfterSeconds: null,
      stopAfterIdleSeconds: 1800,
      deleteAfterStoppedSeconds: 86_400,
      stopAt: null,
      idleStopAt: later,
      deleteAt: null
    },
    checkpoints: { everySeconds: 3600, onStop: true, keep: 5, nextAt: later },
    lastCheckpoint: { at: began, snapshotId: `snp_${unique}`, error: null },
    createdAt: made,
    updatedAt: began,
    startedAt: began,
    stoppedAt: null,
    deletedAt: null
  },
  CreateSandboxRequest: {
    workspaceId,
    name: "analysis",
    profile: { vcpus: 0.5, memoryBytes: 512 * mebibyte },
    networkEnabled: true,
    metadata: { team: "blue" },
    env: { API_TOKEN: "a secret" },
    lifetime: { stopAfterIdleSeconds: 1800, deleteAfterStoppedSeconds: 86_400 },
    checkpoints: { everySeconds: 3600, onStop: true }
  },
  UpdateSandboxRequest: {
    metadata: { team: "green", draft: null },
    env: { API_TOKEN: "another secret" },
    lifetime: { stopAfterIdleSeconds: 3600 }
  },
  StartSandboxRequest: {},
  ...snapshotExamples,
  ...imageExamples,
  ExecuteRequest: { ...command, env: { LANG: "C.UTF-8" }, timeoutSeconds: 10 },
  ExecutionResult: {
    exitCode: 0,
    signal: null,
    reason: null,
    stdout: "42\n",
    stderr: "",
    stdoutTruncated: false,
    stderrTruncated: false,
    encoding: "utf8",
    startedAt: began,
    finishedAt: ended,
    durationMs: 3000
  },
  StartOperationRequest: { ...command, timeoutSeconds: 3600 },
  Operation: {
    id: operationId,
    sandboxId,
    status: "completed",
    ...command,
    exitCode: 0,
    signal: null,
    reason: null,
    createdAt: made,
    startedAt: began,
    finishedAt: ended,
    output: { stdoutBytes: 3, stderrBytes: 0 },
    processTree: "gone"
  },
  WaitOperationRequest: { timeoutSeconds: 30, stdoutOffset: 3 },
  OperationOutputChunk: {
    stream: "stdout",
    offset: 0,
    nextOffset: 3,
    data: "NDIK",
    encoding: "base64",
    truncated: false,
    eof: true
  },
  Transition: transition,
  InnerTransition: {
    kind: "operation",
    actorId: operationId,
    sandboxId,
    ...transition,
    event: { type: "STARTED" },
    from: "queued",
    commands: []
  },
  TransitionList: {
    transitions: [transition],
    nextCursor: null,
    nextEvents: ["STOP", "DELETE"],
    stored: { revision: 2, status: "running", context: { generation: 1 } }
  },
  DeclinedEvent: {
    revision: 3,
    at: later,
    state: "completed",
    event: { type: "CANCEL" },
    code: null,
    cause: "client",
    requestId
  },
  Process: {
    id: processId,
    pid: 4711,
    parentPid: 1,
    argv: ["node", "server.js"],
    user: "sandbox",
    startedBy: "operation",
    operationId,
    state: "sleeping",
    startedAt: began,
    cpuSeconds: 0.41,
    memoryBytes: 48 * mebibyte
  },
  FileStat: entry,
  FileStatResponse: { path: "/workspace/main.py", ...entry },
  FileList: { path: "/workspace", entries: [entry], nextCursor: null },
  EditFileRequest: { expectedSha256: sha256, oldText: "6 * 7", newText: "6 * 9", replaceAll: false },
  EditFileResponse: { path: "/workspace/main.py", sizeBytes: 13, sha256, replacements: 1 },
  UnpackedArchive: { path: "/workspace/src", entries: 214, bytes: 1_482_310 },
  RenameFileRequest: { destination: "/workspace/src/main.py", overwrite: false },
  CreateDirectoryRequest: { recursive: true },
  LogEntry: { id: "8123", at: ended, stream: "stdout", source: "process", operationId, text: "42\n" },
  ResourceSample: {
    at: made,
    cpuSeconds: 1.2,
    memoryBytes: 96 * mebibyte,
    volumeBytes: 3 * mebibyte,
    networkRxBytes: 18_204,
    networkTxBytes: 2048
  },
  CreatePreviewRequest: { port: 3000 },
  Preview: {
    id: previewId,
    sandboxId,
    port: 3000,
    url: `http://${previewId}.preview.localhost:8080/`,
    hostname: `${previewId}.preview.localhost`,
    status: "active",
    createdAt: "2026-01-31T12:00:00.000Z",
    expiresAt: "2026-01-31T13:00:00.000Z"
  },
  ServiceAccessRequest: { requested_at: made, ports: [5432, 6379] },
  ServiceAccessEnvelope: { capability },
  ServiceAccessRevoke: { generationId, cleanup: "confirmed" },
  CooperativeConnectionKeys: {
    publicKeys: [publicKey]
  },
  CooperativeEnvelope: {
    endpointId,
    host: "atoll.example.com",
    port: 2222,
    username: endpointId,
    hostKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
    expiresAt: "2026-01-31T12:00:30.000Z"
  },
  Usage: {
    from: "2026-01-01T00:00:00.000Z",
    to: nextDay,
    asOf: made,
    sandboxSeconds: 3600,
    vcpuSeconds: 3600,
    memoryMibSeconds: 1_843_200,
    volumeMibSeconds: 3_686_400,
    snapshotMibSeconds: 0,
    cpuSeconds: 412.5,
    operations: 12,
    executes: 340
  },
  Balance: {
    currency: "USD",
    microUsd: 9_985_570,
    status: "funded",
    asOf: made,
    burnMicroUsdPerHour: 14_430,
    exhaustsAt: "2026-02-14T00:00:00.000Z",
    grants: [
      {
        id: `grt_${unique}`,
        kind: "promotional",
        grantedMicroUsd: 10_000_000,
        remainingMicroUsd: 9_985_570,
        expiredMicroUsd: 0,
        effectiveAt: day,
        expiresAt: "2026-02-14T00:00:00.000Z",
        status: "active"
      }
    ]
  },
  WalletTransaction: {
    ...madeOfNothing,
    id: `txn_${unique}`,
    at: made,
    postedAt: began,
    kind: "usage",
    microUsd: -14_430,
    balanceMicroUsd: 9_985_570,
    sandboxId,
    period: { from: "2026-01-31T11:00:00.000Z", to: made },
    description: "Usage of analysis",
    grants: [{ grantId: `grt_${unique}`, microUsd: -14_430 }],
    reversesId: null
  },
  CostReport: { costs: [cost], totalMicroUsd: cost.microUsd, burnMicroUsdPerHour: 14_430, asOf: made },
  AuditEvent: {
    id: `aud_${unique}`,
    at: ended,
    source: "api",
    action: "createSandbox",
    apiKeyId: apiKeyId,
    keyHint: "x7Qz",
    keyName: "Development",
    method: "POST",
    path: "/api/v2/sandboxes",
    targetType: "sandbox",
    targetId: sandboxId,
    status: 202,
    errorCode: null,
    requestId,
    sourceIp: address,
    userAgent: "curl/8.5.0"
  },
  SandboxAnalytics: {
    sandboxId,
    from: made,
    to: "2026-01-31T12:05:00.000Z",
    resolutionSeconds: 300,
    generation: null,
    lifecycle: {
      createdAt: made,
      deletedAt: null,
      boots: 1,
      runningSeconds: 298,
      transitions: [{ at: began, from: "pending", to: "running", reason: null }]
    },
    operations: {
      started: 1,
      completed: 1,
      cancelled: 0,
      failed: 0,
      executeCount: 3,
      medianDurationMs: 12.5,
      p99DurationMs: 3000
    },
    resources: {
      samples: [
        {
          at: made,
          cpuSeconds: 1.2,
          memoryBytes: 96 * mebibyte,
          volumeBytes: 3 * mebibyte,
          networkRxBytes: null,
          networkTxBytes: null
        }
      ]
    }
  }
}

const event = (id: string, name: string, data: unknown): string =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`

const transitionEvent = event("1-1", "transition", { kind: "sandbox", actorId: sandboxId, sandboxId, ...transition })

const outputEvents =
  event("3-0", "output", { stream: "stdout", offset: 0, nextOffset: 3, data: "NDIK", truncated: false }) +
  event("3-0", "operation", { operation: written["Operation"] })

/** By operationId: what no schema can make up. */
const streams: Record<string, string> = {
  streamSandboxEvents: transitionEvent,
  streamEvents: transitionEvent,
  streamLogs: event("1-1", "log", { entries: [written["LogEntry"]], truncated: false }),
  streamOperationOutput: outputEvents,
  streamBuildOutput: outputEvents
}

/** By operationId and status, where an answer differs from what was written for the name of its schema. */
const answers: Record<string, unknown> = {
  "createSandbox 202": {
    sandbox: { ...(written["Sandbox"] as Json), status: "pending", generation: 0, startedAt: null, updatedAt: made }
  },
  "stopSandbox 200": {
    sandbox: { ...(written["Sandbox"] as Json), status: "stopped", stoppedAt: later, updatedAt: later }
  },
  "startOperation 202": {
    operation: {
      ...(written["Operation"] as Json),
      status: "queued",
      exitCode: null,
      startedAt: null,
      finishedAt: null,
      output: { stdoutBytes: 0, stderrBytes: 0 },
      processTree: "running"
    }
  }
}

const fileContent = "print(6 * 7)\n"
const archiveContent = "The bytes of a tar archive"

const refName = (schema: Json): string | undefined =>
  typeof schema["$ref"] === "string" ? schema["$ref"].replace("#/components/schemas/", "") : undefined

/** A value of a schema: what was written for its name, the schema's own example, or what its parts make. */
export const exampleOf = (schema: Json, schemas: Readonly<Record<string, Json>>): unknown => {
  const name = refName(schema)
  if (name !== undefined) return written[name] ?? exampleOf(schemas[name]!, schemas)
  const { examples, enum: words, anyOf, properties, items, type } = schema
  if (Array.isArray(examples)) return examples[0]
  if ("const" in schema) return schema["const"]
  if (Array.isArray(words)) return words[0]
  if (Array.isArray(anyOf)) {
    const choices = anyOf as ReadonlyArray<Json>
    return choices.some((choice) => choice["type"] === "null") ? null : exampleOf(choices[0]!, schemas)
  }
  if (type === "array") return items === undefined ? [] : [exampleOf(items as Json, schemas)]
  if (type === "object") {
    return Object.fromEntries(
      Object.entries((properties ?? {}) as Record<string, Json>).map(([key, part]) => [key, exampleOf(part, schemas)])
    )
  }
  if (type === "boolean") return false
  if (type === "integer" || type === "number") return schema["default"] ?? schema["minimum"] ?? 1
  return type === "string" ? "example" : null
}

interface MediaType extends Json {
  readonly schema: Json
}

/** Every content of an operation without examples gets one. */
export const withExample = (
  operationId: string,
  status: string,
  content: Readonly<Record<string, MediaType>>,
  schemas: Readonly<Record<string, Json>>
): Readonly<Record<string, MediaType>> =>
  Object.fromEntries(
    Object.entries(content).map(([mediaType, told]) => [
      mediaType,
      "example" in told || "examples" in told
        ? told
        : {
            ...told,
            example:
              mediaType === "application/octet-stream"
                ? fileContent
                : [tarMediaType, snapshotMediaType, imageArchiveMediaType].includes(mediaType)
                  ? archiveContent
                  : mediaType === "text/event-stream"
                    ? streams[operationId]
                    : (answers[`${operationId} ${status}`] ?? exampleOf(told.schema, schemas))
          }
    ])
  )
