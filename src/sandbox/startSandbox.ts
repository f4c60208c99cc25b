/** Start: boots a Sandbox, once for each Idempotency-Key, and answers as soon as it runs, or cannot. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine, startObstacle } from "../../machines/sandbox.ts"
import { type CreditExhausted, NotFound, SandboxUnavailable } from "../../schemas/Errors.ts"
import type { Sandbox } from "../../schemas/Sandbox.ts"
import { requireCredit } from "../account/Credit.ts"
import { isKeyTaken } from "../account/idempotency/IdempotencyKeys.ts"
import type { ActorError, KeyContended } from "../engine/ActorError.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { Actors } from "../store/Actors.ts"
import { asked, askSandbox, refusals, settled } from "./askSandbox.ts"
import { limitRefusal } from "./limitRefusal.ts"
import { ownSandbox, type SandboxRecord } from "./ownSandbox.ts"
import { Placement } from "./Placement.ts"
import { RunningWait } from "./RunningWait.ts"
import type { Sandboxes } from "./Sandboxes.ts"
import { sandboxView } from "./SandboxView.ts"
import { isGone, isUp } from "./sandboxStates.ts"
import { sandboxWaits } from "./sandboxWaits.ts"

const startAnswerMs = 20_000

/** If a limit refused the boot, or its host was lost, the client gets that as the answer. */
const booted = (answer: Effect.Effect<Sandbox>, before: SandboxRecord) =>
  settled(answer, before).pipe(
    Effect.filterOrFail(({ status, statusReason }) => startObstacle(status, statusReason) !== "limit", limitRefusal),
    Effect.filterOrFail(
      ({ status, statusReason }) => startObstacle(status, statusReason) !== "hostLost",
      ({ status, statusReason }) => new SandboxUnavailable({ message: statusReason!.message, details: { status } })
    )
  )

export const startSandbox = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const placement = yield* Placement
  const runningWaitMs = yield* RunningWait
  const sql = yield* SqlClient.SqlClient
  const waits = yield* sandboxWaits

  const requireHost = (record: SandboxRecord) =>
    placement
      .obstacle(record.id)
      .pipe(
        Effect.flatMap((message) =>
          message === null
            ? Effect.void
            : Effect.fail(new SandboxUnavailable({ message, details: { status: record.status } }))
        )
      )

  /** The key is scoped to the Sandbox: a start has no 409, so the same key at another Sandbox is another start. */
  const startOnce = (
    record: SandboxRecord,
    requestId: string,
    idempotencyKey: string,
    allowed: Effect.Effect<void, CreditExhausted | SandboxUnavailable>
  ) => {
    const { id, accountId } = record
    const key = { kind: `sandbox.start:${id}`, key: idempotencyKey, fingerprint: id }
    // A key is taken by the commit of its START: one that is taken has nothing left to do.
    const once: Effect.Effect<void, CreditExhausted | SandboxUnavailable | ActorError | KeyContended> = Effect.flatMap(
      isKeyTaken(sql, { accountId, ...key }),
      (taken) =>
        taken
          ? Effect.void
          : allowed.pipe(
              Effect.andThen(host.sendOnce(sandboxMachine, id, { type: "START" }, asked(record, requestId), key)),
              Effect.asVoid
            )
    )
    return once.pipe(
      Effect.retry({ while: ({ _tag }) => _tag === "KeyContended" }),
      Effect.catchTag("KeyContended", Effect.die),
      Effect.catchTags(refusals)
    )
  }

  const start: Sandboxes["Service"]["start"] = Effect.fn("Sandboxes.start")(function* (
    accountId,
    sandboxId,
    { requestId, idempotencyKey, exhaustedAt, wait: waitsFor }
  ) {
    const record = yield* ownSandbox(actors, accountId, sandboxId)
    if (isGone(record.status)) return yield* new NotFound()
    const answer = waits.untilStarted(sandboxId, waitsFor === "running" ? runningWaitMs : startAnswerMs)
    const allowed = Effect.andThen(requireCredit(exhaustedAt), requireHost(record))
    if (idempotencyKey === null) {
      yield* allowed
      const state = yield* askSandbox(host, record, "START", requestId)
      return isUp(state.value) ? sandboxView(state.value, state.context) : yield* booted(answer, record)
    }
    yield* startOnce(record, requestId, idempotencyKey, allowed)
    return yield* booted(answer, record)
  })
  return start
})
