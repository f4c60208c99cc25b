/** The transaction of a create: counts, places and inserts one Sandbox. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type SandboxInput, sandboxMachine } from "../../machines/sandbox.ts"
import type { SnapshotContext } from "../../schemas/contexts/Snapshot.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { requiredForVm } from "../../schemas/IdempotencyKey.ts"
import type { SandboxProfile } from "../../schemas/SandboxProfile.ts"
import { KeyClaimed } from "../account/idempotency/claimKey.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import type { NewActor } from "../engine/NewActor.ts"
import { newId } from "../platform/identifier/newId.ts"
import { changeBegins } from "../store/Change.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import { BuildLeases } from "./BuildLeases.ts"
import { Placement } from "./Placement.ts"
import { SandboxEnvs } from "./SandboxEnvs.ts"
import type { Sandboxes } from "./Sandboxes.ts"
import { checkpointsOf, envAfter, lifetimeOf } from "./sandboxChanges.ts"
import { type OfImage, sandboxImage } from "./sandboxImage.ts"
import { sandboxOrigin } from "./sandboxOrigin.ts"
import { sandboxQuota } from "./sandboxQuota.ts"
import { profileBounds, profileWith, usualProfile } from "./sandboxSizes.ts"

/** With the client's key, or one that no other request has. */
export type AskedSandbox = Parameters<Sandboxes["Service"]["create"]>[0] & {
  readonly idempotencyKey: string
  readonly hasKey: boolean
  readonly keyKind: "sandbox.create" | "sandbox.fork.child" | "sandbox.build"
  /** The image that is built in it; absent: it is an ordinary one. */
  readonly buildsImageId?: string
}

/** What a new Sandbox begins with; null: an empty volume, and its host's own root. */
export interface MadeOf {
  readonly origin: SnapshotContext | null
  readonly root: OfImage | null
}

/** @source contract.md "Sandboxes": a create of a VM Sandbox needs a key. */
export const requireKey = (hasKey: boolean, runtime: "vm" | "namespace" | null): Effect.Effect<void, InvalidRequest> =>
  !hasKey && runtime === "vm"
    ? Effect.fail(new InvalidRequest({ details: { issues: [{ path: ["Idempotency-Key"], message: requiredForVm }] } }))
    : Effect.void

/** The new actor, as the host prepares it. */
const newSandbox = (
  { accountId, requestId, idempotencyKey, fingerprint, request, keyKind, buildsImageId }: AskedSandbox,
  input: Pick<SandboxInput, "sandboxId" | "hostId" | "runtime" | "profile" | "env" | "image" | "bootTimeoutMs" | "at">
): NewActor<SandboxInput> => ({
  id: input.sandboxId,
  accountId,
  sandboxId: input.sandboxId,
  input: {
    ...input,
    accountId,
    workspaceId: request.workspaceId,
    volumeId: newId("vol_"),
    name: request.name,
    networkEnabled: request.networkEnabled,
    metadata: request.metadata,
    lifetime: lifetimeOf(null, request.lifetime),
    checkpoints: checkpointsOf(null, request.checkpoints ?? null),
    snapshotId: request.snapshotId ?? null,
    buildsImageId: buildsImageId ?? null
  },
  payload: null,
  cause: "client",
  requestId,
  idempotency: { kind: keyKind, key: idempotencyKey, fingerprint }
})

const otherVolume = ({ diskBytes }: SandboxProfile) =>
  new InvalidRequest({
    details: {
      issues: [
        { path: ["profile", "diskBytes"], message: `The snapshot's volume has ${diskBytes} bytes. Send that, or none.` }
      ]
    }
  })

/** Processes go on only on a machine as theirs was. */
const otherMachine = (path: ReadonlyArray<string>, was: number | boolean) =>
  new InvalidRequest({
    details: { issues: [{ path, message: `The snapshot has the memory of a Sandbox with ${was} here. Send that.` }] }
  })

/** What a Sandbox from this snapshot may not have otherwise; null: it fits. */
const misfitOf = (
  { memory, profile: was, networkEnabled }: SnapshotContext,
  profile: SandboxProfile,
  network: boolean
) => {
  if (profile.diskBytes !== was.diskBytes) return otherVolume(was)
  if (!memory) return null
  if (profile.vcpus !== was.vcpus) return otherMachine(["profile", "vcpus"], was.vcpus)
  if (profile.memoryBytes !== was.memoryBytes) return otherMachine(["profile", "memoryBytes"], was.memoryBytes)
  return network === networkEnabled ? null : otherMachine(["networkEnabled"], networkEnabled)
}

export const insertSandbox = Effect.gen(function* () {
  const host = yield* ActorHost
  const placement = yield* Placement
  const settings = yield* Settings
  const envs = yield* SandboxEnvs
  const leases = yield* BuildLeases
  const sql = yield* SqlClient.SqlClient
  const requireQuota = yield* sandboxQuota
  const origins = yield* sandboxOrigin
  const images = yield* sandboxImage
  const { bootTimeoutMs } = settings
  const bounds = profileBounds(settings)

  /** Its variables: those of its snapshot or its image, and those that were given. A build gets none of a snapshot's. */
  const variablesOf = Effect.fnUntraced(function* ({ request, buildsImageId }: AskedSandbox, { origin, root }: MadeOf) {
    if (buildsImageId !== undefined) return request.env
    if (root !== null) return yield* envAfter(root.env, request.env)
    if (origin === null || origin.env === null) return request.env
    return yield* envAfter(yield* envs.read(origin.snapshotId, origin.env.version), request.env)
  })

  /** Counting and inserting are one step for the whole account. KeyClaimed: another request has made this key's Sandbox. */
  return Effect.fnUntraced(function* (asked: AskedSandbox, made: MadeOf, at: number) {
    const { origin, root } = made
    const { accountId, requestId, idempotencyKey, request, keyKind } = asked
    const { networkEnabled } = request
    const sandboxId = newId("sbx_")
    const profile = yield* profileWith(origin?.profile ?? usualProfile(bounds), request.profile, bounds)
    const misfit = origin === null ? null : misfitOf(origin, profile, networkEnabled)
    if (misfit !== null) return yield* misfit
    yield* requireQuota({ accountId, kind: keyKind, key: idempotencyKey }, request, profile.diskBytes)
    if (origin !== null) yield* origins.lock(origin, keyKind === "sandbox.fork.child")
    if (root !== null) yield* images.lock(root.image)
    const variables = yield* variablesOf(asked, made)
    const env = envs.name(variables)
    const image = asked.buildsImageId === undefined ? (root?.image ?? origin?.image ?? null) : null
    const { hostId, runtime } = yield* placement.place({
      sandboxId,
      runtime: origin?.runtime ?? request.runtime ?? null,
      networkEnabled,
      ...profile,
      ...{ snapshotId: origin?.snapshotId ?? null, hostId: origin?.hostId ?? null, isBound: origin?.memory === true },
      ...(image === null ? {} : { image }),
      ...(asked.buildsImageId === undefined ? {} : { builder: true })
    })
    yield* requireKey(asked.hasKey, runtime)
    const inserted = host.prepare(
      sandboxMachine,
      newSandbox(asked, { sandboxId, hostId, runtime, profile, env, image, bootTimeoutMs, at })
    )
    yield* changeBegins
    const inserts = yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    if (inserts.size === 0) return yield* new KeyClaimed()
    if (env !== null) yield* envs.keep(sandboxId, env, variables)
    if (asked.buildsImageId !== undefined) yield* leases.hold({ sandboxId, accountId, imageId: asked.buildsImageId })
    if (origin !== null) yield* origins.note(sandboxId, origin, at)
    return inserted
  })
})
