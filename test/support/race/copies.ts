/** What clients of a run do with snapshots, forks, rollbacks and images, and what must hold of them. */
import { Effect, Schema } from "effect"
import type { ImageContext } from "../../../schemas/contexts/Image.ts"
import type { SandboxContext } from "../../../schemas/contexts/Sandbox.ts"
import type { SnapshotContext } from "../../../schemas/contexts/Snapshot.ts"
import { PullImageRequest } from "../../../schemas/Image.ts"
import type { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Images } from "../../../src/image/Images.ts"
import { Snapshots } from "../../../src/snapshot/Snapshots.ts"
import { keyed } from "./keyed.ts"
import type { CopyStep } from "./steps.ts"
import type { ActorFact, Witness } from "./Witness.ts"

const copySteps = ["snapshot", "deleteSnapshot", "rollback", "fork", "pull", "deleteImage"] as const

export const isCopyStep = (step: { readonly type: string }): step is CopyStep =>
  (copySteps as ReadonlyArray<string>).includes(step.type)

/** The number of the key that made it; what the service made for a rollback or a fork has its id for one. */
export const keyOfCopy = (id: string, { name }: SnapshotContext | ImageContext): string =>
  name !== null && /^[nib]\d$/.test(name) ? name : id

const noRoom = ["SNAPSHOT_LIMIT_REACHED", "STORAGE_LIMIT_REACHED", "IDEMPOTENCY_CONFLICT", "NOT_FOUND"]

export const copyErrors: Record<CopyStep["type"], ReadonlyArray<string>> = {
  snapshot: [...noRoom, "SANDBOX_NOT_CAPTURABLE"],
  deleteSnapshot: ["NOT_FOUND"],
  rollback: [
    ...noRoom,
    "SANDBOX_CANNOT_ROLL_BACK",
    "SNAPSHOT_NOT_READY",
    "SNAPSHOT_DOES_NOT_FIT",
    "SANDBOX_UNAVAILABLE"
  ],
  fork: [...noRoom, "SANDBOX_NOT_CAPTURABLE"],
  pull: ["IMAGE_LIMIT_REACHED", "STORAGE_LIMIT_REACHED", "IDEMPOTENCY_CONFLICT"],
  deleteImage: ["NOT_FOUND", "IMAGE_IN_USE"]
}

const requestId = "req_race"

export interface CopyKnown {
  readonly accountId: string
  readonly facts: ReadonlyArray<ActorFact>
  readonly idOf: (kind: string, key: string) => string | undefined
  readonly witness: Witness
}

export const copyExchange = (
  step: CopyStep,
  { accountId, idOf, witness }: CopyKnown
): Effect.Effect<void, unknown, Images | Snapshots> => {
  const sandboxId = "sandbox" in step ? idOf("sandbox", `k${step.sandbox}`) : undefined
  const snapshotId = "snapshot" in step ? idOf("snapshot", `n${step.snapshot}`) : undefined
  return Effect.gen(function* () {
    const snapshots = yield* Snapshots
    const images = yield* Images
    if (step.type === "snapshot" && sandboxId !== undefined) {
      const name = `n${step.snapshot}`
      const asked = { requestId, idempotencyKey: name, fingerprint: sandboxId }
      const request = { name, memory: false, expiresAt: null }
      const taken = yield* snapshots
        .create(accountId, sandboxId, { ...asked, request })
        .pipe(keyed(witness, name, sandboxId))
      witness.acknowledge(name, sandboxId, taken.id)
      witness.told.add(`${taken.id} ${taken.status}`)
    } else if (step.type === "deleteSnapshot" && snapshotId !== undefined) {
      yield* snapshots.remove(accountId, snapshotId, { requestId })
      witness.told.add(`${snapshotId} deleting`)
    } else if (step.type === "rollback" && sandboxId !== undefined && snapshotId !== undefined) {
      const { sandbox, kept } = yield* snapshots.rollback(accountId, sandboxId, {
        ...{ requestId, exhaustedAt: null, mayDelete: true, idempotencyKey: null, fingerprint: "" },
        request: { snapshotId, keep: step.keep }
      })
      witness.sandbox(sandbox)
      if ((kept !== null) !== step.keep) witness.fault(`a rollback of ${sandboxId} kept ${kept?.id}`)
    } else if (step.type === "fork" && sandboxId !== undefined) {
      const key = `f${step.fork}`
      const body = JSON.stringify([sandboxId, step.count])
      const names = Array.from({ length: step.count }, (_, index) => `${key}.${index}`)
      const fork = yield* snapshots
        .fork(accountId, sandboxId, {
          ...{ requestId, idempotencyKey: key, fingerprint: body },
          request: { count: step.count, names, memory: false }
        })
        .pipe(keyed(witness, key, body))
      witness.acknowledge(key, body, fork.snapshot.id)
      for (const sandbox of fork.sandboxes) {
        witness.acknowledge(sandbox.name!, body, sandbox.id)
        witness.sandbox(sandbox)
      }
      if (fork.sandboxes.length + fork.refused.length !== step.count) {
        witness.fault(`${key} made ${fork.sandboxes.length} and refused ${fork.refused.length} of ${step.count}`)
      }
    } else if (step.type === "pull") {
      const name = `i${step.image}`
      const pulled = yield* images
        .pull({
          ...{ accountId, requestId, idempotencyKey: name, fingerprint: name },
          request: Schema.decodeUnknownSync(PullImageRequest)({ name, reference: `registry.example/${name}:1` })
        })
        .pipe(keyed(witness, name, name))
      witness.acknowledge(name, name, pulled.id)
      witness.told.add(`${pulled.id} ${pulled.status}`)
    } else if (step.type === "deleteImage") {
      const imageId = idOf("image", `i${step.image}`)
      if (imageId === undefined) return
      yield* images.remove(accountId, imageId, { requestId })
      witness.told.add(`${imageId} deleting`)
    }
  })
}

const settledCopies = ["ready", "failed", "deleted"]

/** Why a snapshot or an image is not done; null: it is. */
export const unsettledCopy = ({ status, pending }: ActorFact): string | null =>
  pending > 0 ? "has commands to do" : settledCopies.includes(status) ? null : "is on its way"

/** What is wrong with a Sandbox's last rollback once nothing moves; null: nothing. */
export const rollbackFault = (
  { id, context }: ActorFact,
  facts: ReadonlyArray<ActorFact>,
  world: SimulatedWorld
): string | null => {
  const { rollback } = context as SandboxContext
  if (rollback === null) return null
  if (rollback.outcome === "open") return "has an open rollback"
  if (rollback.outcome !== "done") return null
  if (world.volumes.has(id) && world.restored.get(id)?.snapshotId !== rollback.snapshotId) {
    return `is said to be rolled back to ${rollback.snapshotId}, and has the volume of ${world.restored.get(id)?.snapshotId}`
  }
  const kept = facts.find((fact) => fact.id === rollback.keptId)
  // A client may delete it later.
  return rollback.keptId === null || (kept !== undefined && kept.status !== "failed")
    ? null
    : `gave up its volume, of which the snapshot is ${kept?.status}`
}

/** Images of snapshots on the host that no row accounts for. `mayLinger`: a second owner's or a crashed one's work may come late. */
export const strayCopies = (
  facts: ReadonlyArray<ActorFact>,
  world: SimulatedWorld,
  mayLinger: boolean
): ReadonlyArray<string> =>
  [...world.snapshots.keys()].flatMap((id) => {
    const row = facts.find((fact) => fact.id === id)
    if (row === undefined) return [`the host has ${id}, which no row knows`]
    return row.status === "deleted" && !mayLinger ? [`${id} is deleted, but the host has it`] : []
  })
