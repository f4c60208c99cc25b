/** The simulators' default inputs and events. The types ensure that no event and no field is missing. */
import type { ConnectionGrantEvent, ConnectionGrantInput } from "../../../../machines/connectionGrant.ts"
import type { ImageEvent, ImageInput } from "../../../../machines/image.ts"
import type { OperationEvent, OperationInput } from "../../../../machines/operation.ts"
import type { PreviewEvent, PreviewInput } from "../../../../machines/preview.ts"
import type { SandboxInput } from "../../../../machines/sandbox.ts"
import type { SandboxEvent } from "../../../../machines/sandboxEvents.ts"
import type { ServiceAccessEvent, ServiceAccessInput } from "../../../../machines/serviceAccess.ts"
import type { SnapshotEvent, SnapshotInput } from "../../../../machines/snapshot.ts"
import type { WalletEvent, WalletInput } from "../../../../machines/wallet.ts"
import type { ConnectionGrantContext } from "../../../../schemas/contexts/ConnectionGrant.ts"
import type { ImageContext } from "../../../../schemas/contexts/Image.ts"
import type { OperationContext } from "../../../../schemas/contexts/Operation.ts"
import type { PreviewContext } from "../../../../schemas/contexts/Preview.ts"
import type { SandboxContext } from "../../../../schemas/contexts/Sandbox.ts"
import type { ServiceAccessContext } from "../../../../schemas/contexts/ServiceAccess.ts"
import type { SnapshotContext } from "../../../../schemas/contexts/Snapshot.ts"
import type { WalletContext } from "../../../../schemas/contexts/Wallet.ts"
import type { PublicReason, PublicText } from "../../../../schemas/PublicText.ts"

interface Samples<Input, Context, Event extends { readonly type: string }> {
  readonly input: (at: number) => Input
  readonly parameters: {
    readonly [Type in Event["type"]]: (context: Context) => Omit<Extract<Event, { readonly type: Type }>, "type" | "at">
  }
}

const nothing = () => ({})
const reason: PublicReason = { code: "EXAMPLE", message: "An example." as PublicText }
const because = () => ({ reason })
const ofGeneration = ({ generation }: { readonly generation: number }) => ({ generation })
const failedGeneration = ({ generation }: { readonly generation: number }) => ({ generation, reason })

const hourMs = 3_600_000
const owner = { accountId: "acc_example", sandboxId: "sbx_example" }

const sandbox: Samples<SandboxInput, SandboxContext, SandboxEvent> = {
  input: (at) => ({
    ...owner,
    workspaceId: "wsp_example",
    volumeId: "vol_example",
    hostId: null,
    name: "example",
    runtime: "vm",
    profile: { vcpus: 1, memoryBytes: 1_073_741_824, diskBytes: 4_294_967_296 },
    networkEnabled: true,
    metadata: {},
    env: { version: "env_example", names: ["TOKEN"] },
    lifetime: { stopAfterSeconds: 3600, stopAfterIdleSeconds: 600, deleteAfterStoppedSeconds: 86_400 },
    bootTimeoutMs: 60_000,
    snapshotId: null,
    image: null,
    checkpoints: { everySeconds: 3600, onStop: true, keep: 5 },
    at
  }),
  parameters: {
    START: nothing,
    STOP: nothing,
    DELETE: nothing,
    ROLLBACK: () => ({ rollbackId: "rbk_example", snapshotId: "snp_example", keptId: "snp_kept" }),
    VOLUME_RESTORED: ofGeneration,
    ROLLBACK_FAILED: failedGeneration,
    CHANGED: ({ edition }) => ({ edition, changes: { name: "changed" } }),
    STOP_DUE: nothing,
    IDLE_STOP_DUE: nothing,
    WAS_USED: ({ idleStopAt }) => ({ idleStopAt: idleStopAt ?? 0, usedAt: idleStopAt ?? 0 }),
    WAS_IDLE: ({ idleStopAt }) => ({ idleStopAt: idleStopAt ?? 0 }),
    DELETE_DUE: nothing,
    CHECKPOINT_DUE: nothing,
    CHECKPOINT_TAKEN: () => ({ snapshotId: "snp_example" }),
    CHECKPOINT_REFUSED: because,
    SLEEP: nothing,
    RUNTIME_UP: ofGeneration,
    RUNTIME_REFUSED: failedGeneration,
    RUNTIME_FAILED: failedGeneration,
    RUNTIME_DOWN: failedGeneration,
    HOST_LOST: ({ generation, updatedAt }) => ({ generation, reason, seenAt: updatedAt }),
    RUNTIME_FOUND: nothing,
    RUNTIME_STALLED: failedGeneration,
    RUNTIME_RESUMED: ofGeneration,
    RUNTIME_STOPPED: ofGeneration,
    SUSPEND_FAILED: failedGeneration,
    IN_USE: ({ updatedAt }) => ({ until: updatedAt + hourMs }),
    IDLE_DUE: nothing,
    VOLUME_GONE: nothing,
    BOOT_WAITS: ({ generation, updatedAt }) => ({ generation, until: updatedAt + hourMs }),
    BOOT_TIMEOUT: ofGeneration
  }
}

const operation: Samples<OperationInput, OperationContext, OperationEvent> = {
  input: (at) => ({ ...owner, operationId: "op_example", generation: 1, timeoutMs: 60_000, at }),
  parameters: {
    STARTED: nothing,
    REFUSED: because,
    EXITED: () => ({ exitCode: 0, signal: null, reason: null, processTree: "gone" }),
    CANCEL: nothing,
    LOST: because,
    TIME_OUT: nothing,
    TREE_SETTLED: () => ({ processTree: "gone" })
  }
}

const preview: Samples<PreviewInput, PreviewContext, PreviewEvent> = {
  input: (at) => ({
    ...owner,
    previewSha256: "0".repeat(64),
    generation: 1,
    port: 3000,
    lifetimeMs: hourMs,
    at
  }),
  parameters: {
    TUNNEL_OPEN: nothing,
    TUNNEL_REFUSED: because,
    CLOSE: nothing,
    EXPIRE: nothing,
    SANDBOX_ENDED: because,
    TUNNEL_CLOSED: nothing
  }
}

const serviceAccess: Samples<ServiceAccessInput, ServiceAccessContext, ServiceAccessEvent> = {
  input: (at) => ({
    ...owner,
    generationId: "00000000-0000-4000-8000-000000000000",
    generation: 1,
    ports: [5432],
    requestedAt: at,
    lifetimeMs: hourMs,
    at
  }),
  parameters: {
    SANDBOX_CONFIRMED: nothing,
    SANDBOX_REFUSED: because,
    ATTACH: () => ({ client: "a-client" }),
    REVOKE: nothing,
    EXPIRE: nothing,
    SANDBOX_ENDED: because,
    CONNECTIONS_CUT: () => ({ cleanup: "confirmed" })
  }
}

const connectionGrant: Samples<ConnectionGrantInput, ConnectionGrantContext, ConnectionGrantEvent> = {
  input: (at) => ({
    ...owner,
    endpointId: "end_example",
    generation: 1,
    publicKeys: ["ssh-ed25519 AAAA"],
    grantMs: 60_000,
    at
  }),
  parameters: {
    SANDBOX_CONFIRMED: nothing,
    SANDBOX_REFUSED: because,
    CONNECT: nothing,
    CONNECTIONS_OVER: nothing,
    EXPIRE: nothing,
    REVOKE: nothing,
    SANDBOX_ENDED: because
  }
}

const snapshot: Samples<SnapshotInput, SnapshotContext, SnapshotEvent> = {
  input: (at) => ({
    ...owner,
    snapshotId: "snp_example",
    workspaceId: "wsp_example",
    sandboxRevision: 2,
    generation: 1,
    hostId: null,
    name: "example",
    expiresAt: at + 24 * hourMs,
    runtime: "vm",
    profile: { vcpus: 1, memoryBytes: 1_073_741_824, diskBytes: 4_294_967_296 },
    networkEnabled: true,
    sandboxName: "example",
    metadata: {},
    env: null,
    lifetime: null,
    image: null,
    memory: false,
    rollbackId: null,
    checkpoint: true,
    at
  }),
  parameters: {
    CAPTURED: ({ profile }) => ({
      hostId: "host_example",
      sizeBytes: profile.diskBytes,
      storedBytes: 73_400_320,
      pausedMs: 12
    }),
    CAPTURE_FAILED: because,
    SNAPSHOT_LOST: because,
    MOVED: ({ hostId }) => ({ hostId: hostId ?? "host_example", to: "host_other" }),
    CHANGED: ({ edition }) => ({ edition, changes: { name: "changed" } }),
    DELETE: nothing,
    SUPERSEDED: nothing,
    EXPIRE: nothing,
    IMAGE_GONE: nothing
  }
}

const wallet: Samples<WalletInput, WalletContext, WalletEvent> = {
  input: (at) => ({ accountId: "acc_example", at }),
  parameters: {
    CHANGED: nothing,
    RECKONED: ({ createdAt }) => ({
      status: "funded",
      balanceMicroUsd: 5_000_000,
      burnMicroUsdPerHour: 100_000,
      grantedMicroUsd: 5_000_000,
      exhaustedAt: createdAt + 50 * hourMs,
      lowAt: createdAt + 40 * hourMs,
      nextAt: createdAt + hourMs,
      suspendedAt: null,
      reckonedAt: createdAt,
      graceMs: 60_000
    }),
    DUE: nothing,
    STOP_DUE: nothing
  }
}

const image: Samples<ImageInput, ImageContext, ImageEvent> = {
  input: (at) => ({
    accountId: "acc_example",
    imageId: "img_example",
    name: "example",
    // One that is built can meet every state.
    reference: null,
    credentials: null,
    build: { sandboxId: "sbx_example", operationId: null, dockerfile: "Dockerfile", target: null, isOver: false },
    at
  }),
  parameters: {
    BUILD: nothing,
    BUILD_BEGUN: () => ({ operationId: "op_example" }),
    BUILT: nothing,
    BUILD_FAILED: because,
    PULLED: () => ({ digest: "sha256:example", sizeBytes: 314_572_800, storedBytes: 104_857_600, env: null }),
    PULL_FAILED: because,
    IMAGE_LOST: because,
    IMAGE_FOUND: nothing,
    DELETE: nothing,
    IMAGE_REMOVED: nothing
  }
}

export const samples = { sandbox, operation, preview, serviceAccess, connectionGrant, snapshot, image, wallet }
