/**
 * A Sandbox ready for work: it runs, wakes on demand, or is waited for while it boots.
 *
 * @source contract-details.md "Behaviour that the contract leaves open" (a `pending` Sandbox)
 */
import { Effect, Schema } from "effect"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { NotFound } from "../../schemas/Errors.ts"
import { ActorHost } from "../actor/ActorHost.ts"
import { awaitState } from "../actor/ActorWait.ts"
import { readActor } from "../actor/readActor.ts"
import { Settings } from "../Config.ts"
import { Actors } from "../store/Actors.ts"

/** `status`: its present state; null if it was deleted meanwhile. */
export class NotRunning extends Schema.TaggedError<NotRunning>()("NotRunning", {
  status: Schema.NullOr(Schema.String)
}) {}

const bootAnswerMs = 20_000

/**
 * NotFound also for a deleted Sandbox.
 *
 * @param admit Runs once the Sandbox is known to belong to the account, before its state is checked and before it is woken.
 */
export const runningSandbox = Effect.fnUntraced(function* <E = never>(
  accountId: string,
  sandboxId: string,
  admit: Effect.Effect<void, E> = Effect.void
) {
  const host = yield* ActorHost
  // The guest of this generation decides what still runs, so the owner's cached state is good enough.
  const known = host.peek(sandboxMachine, sandboxId)
  if (known?.accountId === accountId && known.value === "running") {
    yield* admit
    return known.context
  }
  const actors = yield* Actors
  const record = yield* readActor(actors, sandboxMachine, sandboxId)
  if (record === null || record.accountId !== accountId || record.status === "deleted") {
    return yield* new NotFound()
  }
  yield* admit
  if (record.status === "running") {
    host.awaken(sandboxMachine, sandboxId)
    return record.context
  }
  if (record.status !== "sleeping" && record.status !== "pending")
    return yield* new NotRunning({ status: record.status })
  const { bootTimeoutMs } = yield* Settings
  const isAsleep = record.status === "sleeping"
  const { revision } = record
  if (isAsleep)
    yield* host.send(sandboxMachine, sandboxId, { type: "START" }, { cause: "wake", revision }).pipe(Effect.ignore)
  const woken = yield* awaitState(
    sandboxMachine,
    sandboxId,
    ({ value }) => value !== "pending" && value !== "sleeping",
    isAsleep ? bootTimeoutMs : bootAnswerMs
  )
  if (woken?.value !== "running") return yield* new NotRunning({ status: woken?.value ?? null })
  return woken.context
})
