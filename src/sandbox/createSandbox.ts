/** Create: one Sandbox for each Idempotency-Key, within the account's limits. */
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createOutcome, type SandboxInput, sandboxMachine } from "../../machines/sandbox.ts"
import type { KeptEnv, SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { requiredForVm } from "../../schemas/IdempotencyKey.ts"
import type { Sandbox } from "../../schemas/Sandbox.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import type { NewActor } from "../engine/NewActor.ts"
import { lockByKey } from "../platform/concurrency/lockByKey.ts"
import { newId } from "../platform/identifier/newId.ts"
import { Actors } from "../store/Actors.ts"
import { changeBegins } from "../store/Change.ts"
import { encodeInsert } from "../store/JournalEncoding.ts"
import { insertActors } from "../store/JournalStatements.ts"
import { limitRefusal } from "./limitRefusal.ts"
import { ownSandbox } from "./ownSandbox.ts"
import { Placement } from "./Placement.ts"
import { RunningWait } from "./RunningWait.ts"
import { SandboxEnvs } from "./SandboxEnvs.ts"
import type { Sandboxes } from "./Sandboxes.ts"
import { recordView, sandboxView } from "./SandboxView.ts"
import { lifetimeOf } from "./sandboxChanges.ts"
import { KeyClaimed, sandboxQuota } from "./sandboxQuota.ts"
import { profileBounds, profileWith, usualProfile } from "./sandboxSizes.ts"
import { notStartingStates } from "./sandboxStates.ts"
import { sandboxWaits } from "./sandboxWaits.ts"

const keyKind = "sandbox.create"

type Create = Sandboxes["Service"]["create"]
/** With the client's key, or one that no other request has. */
type Asked = Parameters<Create>[0] & { readonly idempotencyKey: string; readonly hasKey: boolean }

/** @source contract.md "Sandboxes": a create of a VM Sandbox needs a key. */
const requireKey = (hasKey: boolean, runtime: "vm" | "namespace" | null): Effect.Effect<void, InvalidRequest> =>
  !hasKey && runtime === "vm"
    ? Effect.fail(new InvalidRequest({ details: { issues: [{ path: ["Idempotency-Key"], message: requiredForVm }] } }))
    : Effect.void

/** What a create is answered with, the first time if it waited, and every later time. */
const createAnswer = (sandbox: Sandbox) => {
  const outcome = createOutcome(sandbox.status)
  return outcome === "refused"
    ? Effect.fail(limitRefusal(sandbox))
    : Effect.succeed({ sandbox, replayStatus: outcome === "waits" ? (202 as const) : (201 as const) })
}

/** The new actor, as the host prepares it. */
const newSandbox = (
  { accountId, requestId, idempotencyKey, fingerprint, request }: Asked,
  input: Pick<SandboxInput, "sandboxId" | "hostId" | "runtime" | "profile" | "env" | "bootTimeoutMs" | "at">
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
    lifetime: lifetimeOf(null, request.lifetime)
  },
  payload: null,
  cause: "client",
  requestId,
  idempotency: { kind: keyKind, key: idempotencyKey, fingerprint }
})

export const createSandbox = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const placement = yield* Placement
  const settings = yield* Settings
  const runningWaitMs = yield* RunningWait
  const envs = yield* SandboxEnvs
  const sql = yield* SqlClient.SqlClient
  const withAccountLock = yield* lockByKey
  const requireQuota = yield* sandboxQuota
  const waits = yield* sandboxWaits
  const { bootTimeoutMs } = settings
  const bounds = profileBounds(settings)

  const replay = Effect.fnUntraced(function* ({ accountId, idempotencyKey, fingerprint }: Asked) {
    const known = yield* takenKey(sql, { accountId, kind: keyKind, key: idempotencyKey }, fingerprint)
    return known === null ? null : recordView(yield* ownSandbox(actors, accountId, known.targetId))
  })

  const createAnswerOnceRunning = (sandbox: Sandbox) =>
    Effect.flatMap(
      notStartingStates.includes(sandbox.status)
        ? Effect.succeed(sandbox)
        : waits.untilStarted(sandbox.id, runningWaitMs),
      createAnswer
    )

  /** Counting and inserting are one step for the whole account. KeyClaimed: another request has made this key's Sandbox. */
  const claim = Effect.fnUntraced(function* (asked: Asked, sandboxId: string, at: number, env: KeptEnv | null) {
    const { accountId, requestId, idempotencyKey, request } = asked
    const { networkEnabled } = request
    const profile = yield* profileWith(usualProfile(bounds), request.profile, bounds)
    yield* requireQuota({ accountId, kind: keyKind, key: idempotencyKey }, request, profile.diskBytes)
    const wanted = { sandboxId, runtime: request.runtime ?? null, networkEnabled, ...profile }
    const { hostId, runtime } = yield* placement.place(wanted)
    yield* requireKey(asked.hasKey, runtime)
    const inserted = host.prepare(
      sandboxMachine,
      newSandbox(asked, { sandboxId, hostId, runtime, profile, env, bootTimeoutMs, at })
    )
    yield* changeBegins
    const made = yield* insertActors(sql, [encodeInsert(inserted)], [requestId])
    if (made.size === 0) return yield* new KeyClaimed()
    if (env !== null) yield* envs.keep(sandboxId, env, request.env)
    return inserted
  })

  const create: Create = Effect.fn("Sandboxes.create")(function* (given) {
    const { wait: waitsFor, idempotencyKey, request } = given
    yield* requireKey(idempotencyKey !== null, request.runtime ?? placement.usual)
    const asked: Asked = {
      ...given,
      idempotencyKey: idempotencyKey ?? `unnamed ${randomUUID()}`,
      hasKey: idempotencyKey !== null
    }
    const answer = waitsFor === "running" ? createAnswerOnceRunning : createAnswer
    const replayed = yield* replay(asked)
    if (replayed !== null) return yield* answer(replayed)
    const at = yield* Clock.currentTimeMillis
    const env = envs.name(asked.request.env)
    const inserted = yield* sql.withTransaction(claim(asked, newId("sbx_"), at, env)).pipe(
      withAccountLock(asked.accountId),
      Effect.catchTag("SqlError", Effect.die),
      Effect.catchTag("KeyClaimed", () => Effect.succeed(null)),
      Effect.uninterruptible
    )
    if (inserted === null) return yield* answer((yield* replay(asked))!)
    yield* host.adopt(inserted)
    return yield* answer(sandboxView(inserted.row.snapshot.value, inserted.row.snapshot.context as SandboxContext))
  })
  return create
})
