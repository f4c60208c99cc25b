/** A Sandbox that something is to be done in: it runs, or wakes for it. */
import { Effect, Schema } from "effect"
import type { SandboxContext } from "../../machines/sandbox.ts"
import { NotFound } from "../../schemas/Errors.ts"
import { ActorHost } from "../actor/ActorHost.ts"
import { awaitState } from "../actor/ActorWait.ts"
import { Settings } from "../Config.ts"
import { type ActorRecord, Actors } from "../store/Actors.ts"

/** `status`: what it is instead; null when it went away meanwhile. */
export class NotRunning extends Schema.TaggedError<NotRunning>()("NotRunning", {
  status: Schema.NullOr(Schema.String)
}) {}

/** NotFound also for a deleted one. */
export const runningSandbox = Effect.fnUntraced(function* (accountId: string, sandboxId: string) {
  const host = yield* ActorHost
  // The guest of this generation decides what still runs, so what its owner remembers will do.
  const known = host.peek(sandboxId)
  if (known?.kind === "sandbox" && known.accountId === accountId && known.value === "running")
    return known.context as SandboxContext
  const actors = yield* Actors
  const record = (yield* actors.read(sandboxId)) as ActorRecord<SandboxContext> | null
  if (record === null || record.kind !== "sandbox" || record.accountId !== accountId || record.status === "deleted") {
    return yield* new NotFound()
  }
  if (record.status === "running") {
    host.awaken("sandbox", sandboxId)
    return record.context
  }
  if (record.status !== "sleeping") return yield* new NotRunning({ status: record.status })
  const { bootTimeoutMs } = yield* Settings
  yield* host.send("sandbox", sandboxId, { type: "START" }, { cause: "wake" }).pipe(Effect.ignore)
  const woken = yield* awaitState(sandboxId, ({ value }) => value !== "pending" && value !== "sleeping", bootTimeoutMs)
  if (woken?.value !== "running") return yield* new NotRunning({ status: woken?.value ?? null })
  return woken.context as SandboxContext
})
