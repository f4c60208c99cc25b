/**
 * A Sandbox ready for work: it runs, wakes on demand, or is waited for while it boots.
 *
 * @source contract-details.md "Behaviour that the contract leaves open" (a `pending` Sandbox)
 */
import { Effect, Schema } from "effect"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { SandboxUnavailable } from "../../schemas/Errors.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { awaitState } from "../engine/ActorWait.ts"
import { Actors } from "../store/Actors.ts"
import { ownLivingSandbox } from "./ownSandbox.ts"
import { isAsleep, isAwaited, isUp } from "./sandboxStates.ts"

/** `status`: its present state; null if it was deleted meanwhile. */
export class NotRunning extends Schema.TaggedError<NotRunning>()("NotRunning", {
  status: Schema.NullOr(Schema.String)
}) {}

/** 502 without a status: the Sandbox's mailbox or guest takes nothing more for now. */
export const unavailable = () => Effect.fail(new SandboxUnavailable({ details: { status: null } }))

/** 502: what most requests that need a running Sandbox answer without one. */
export const unavailableUnlessRunning = <A, E, R>(
  effect: Effect.Effect<A, E | NotRunning, R>
): Effect.Effect<A, Exclude<E, NotRunning> | SandboxUnavailable, R> =>
  Effect.catch(effect, (error) =>
    Effect.fail(
      error instanceof NotRunning
        ? new SandboxUnavailable({ details: { status: error.status } })
        : (error as Exclude<E, NotRunning>)
    )
  )

/** Starts a sleeping Sandbox, unless it has changed since that revision. Its next state tells what came of it. */
export const wakeSandbox = (host: ActorHost["Service"], sandboxId: string, revision: number): Effect.Effect<void> =>
  Effect.ignore(host.send(sandboxMachine, sandboxId, { type: "START" }, { cause: "wake", revision }))

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
  if (known?.accountId === accountId && isUp(known.value)) {
    yield* admit
    return known.context
  }
  const actors = yield* Actors
  const record = yield* ownLivingSandbox(actors, accountId, sandboxId)
  yield* admit
  if (isUp(record.status)) {
    host.awaken(sandboxMachine, sandboxId)
    return record.context
  }
  if (!isAwaited(record.status)) return yield* new NotRunning({ status: record.status })
  const { bootTimeoutMs } = yield* Settings
  const wakes = isAsleep(record.status)
  if (wakes) yield* wakeSandbox(host, sandboxId, record.revision)
  const woken = yield* awaitState(
    sandboxMachine,
    sandboxId,
    ({ value }) => !isAwaited(value),
    wakes ? bootTimeoutMs : bootAnswerMs
  )
  if (woken === null || !isUp(woken.value)) return yield* new NotRunning({ status: woken?.value ?? null })
  return woken.context
})
