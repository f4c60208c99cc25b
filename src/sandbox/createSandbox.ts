/** Create: one Sandbox for each Idempotency-Key, within the account's limits. */
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createOutcome } from "../../machines/sandbox.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import type { Sandbox } from "../../schemas/Sandbox.ts"
import { claimKey } from "../account/idempotency/claimKey.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { Actors } from "../store/Actors.ts"
import { type AskedSandbox, insertSandbox, requireKey } from "./insertSandbox.ts"
import { limitRefusal } from "./limitRefusal.ts"
import { ownSandbox } from "./ownSandbox.ts"
import { Placement } from "./Placement.ts"
import { RunningWait } from "./RunningWait.ts"
import type { Sandboxes } from "./Sandboxes.ts"
import { recordView, sandboxView } from "./SandboxView.ts"
import { sandboxImage } from "./sandboxImage.ts"
import { sandboxOrigin } from "./sandboxOrigin.ts"
import { notStartingStates } from "./sandboxStates.ts"
import { sandboxWaits } from "./sandboxWaits.ts"

type Create = Sandboxes["Service"]["create"]

/** What a create is answered with, the first time if it waited, and every later time. */
const createAnswer = (sandbox: Sandbox) => {
  const outcome = createOutcome(sandbox.status)
  return outcome === "refused"
    ? Effect.fail(limitRefusal(sandbox))
    : Effect.succeed({ sandbox, replayStatus: outcome === "waits" ? (202 as const) : (201 as const) })
}

export const createSandbox = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const placement = yield* Placement
  const runningWaitMs = yield* RunningWait
  const sql = yield* SqlClient.SqlClient
  const claimed = yield* claimKey
  const insert = yield* insertSandbox
  const origins = yield* sandboxOrigin
  const images = yield* sandboxImage
  const waits = yield* sandboxWaits

  const replay = Effect.fnUntraced(function* ({ accountId, idempotencyKey, fingerprint, keyKind }: AskedSandbox) {
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

  /** The Sandbox of the request's key, made now or before. */
  const sandboxOf = Effect.fnUntraced(function* (asked: AskedSandbox) {
    const replayed = yield* replay(asked)
    if (replayed !== null) return replayed
    const root = yield* images.read(asked.accountId, asked.request)
    const origin = yield* origins.read(asked.accountId, asked.request)
    const at = yield* Clock.currentTimeMillis
    const inserted = yield* Effect.uninterruptible(claimed(asked.accountId, insert(asked, { origin, root }, at)))
    if (inserted === null) return (yield* replay(asked))!
    yield* host.adopt(inserted)
    return sandboxView(inserted.row.snapshot.value, inserted.row.snapshot.context as SandboxContext)
  })

  const create: Create = Effect.fn("Sandboxes.create")(function* (given) {
    const { wait: waitsFor, idempotencyKey, request } = given
    yield* requireKey(idempotencyKey !== null, request.runtime ?? placement.usual)
    const asked: AskedSandbox = {
      ...given,
      idempotencyKey: idempotencyKey ?? `unnamed ${randomUUID()}`,
      hasKey: idempotencyKey !== null,
      keyKind: "sandbox.create"
    }
    const sandbox = yield* sandboxOf(asked)
    return yield* waitsFor === "running" ? createAnswerOnceRunning(sandbox) : createAnswer(sandbox)
  })

  const createFork: Sandboxes["Service"]["createFork"] = Effect.fn("Sandboxes.createFork")((given) =>
    sandboxOf({ ...given, hasKey: true, keyKind: "sandbox.fork.child" })
  )
  const createBuilder: Sandboxes["Service"]["createBuilder"] = Effect.fn("Sandboxes.createBuilder")(
    ({ imageId, ...given }) =>
      sandboxOf({
        ...given,
        ...{ idempotencyKey: imageId, fingerprint: imageId, buildsImageId: imageId },
        ...{ hasKey: true, keyKind: "sandbox.build" }
      }).pipe(Effect.catchTag("IMAGE_NOT_READY", Effect.die))
  )
  return { create, createFork, createBuilder }
})
