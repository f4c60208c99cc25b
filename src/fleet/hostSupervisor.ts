/**
 * The host supervisor: what a service does for a host whose actor it owns. It reconciles the host's machines with its Sandboxes, once before the host
 * is used and then regularly, and receives the host's events. It ends when the process loses the actor, and at the host's next process.
 *
 * A host is trusted only about its own Sandboxes: reports about others are ignored, and machines of others on the host are destroyed.
 */

import { Cause, Effect, Schema, Stream } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import type { hostMachine } from "../../machines/host.ts"
import type { HostContext } from "../../schemas/contexts/Host.ts"
import type { CommandScope } from "../engine/ActorDefinition.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { type Runtime, type RuntimeStall, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { makeHearing } from "../sandbox/Hearing.ts"
import { reconcilerPass, SECOND_PASS_MS } from "../sandbox/HostReconciler.ts"
import type { RuntimeNews } from "../sandbox/RuntimeNews.ts"
import { aliveStates, runtimelessStates } from "../sandbox/sandboxStates.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { Int8 } from "../store/Columns.ts"
import { isDatabaseFault } from "../store/DatabaseFault.ts"
import type { Canaries } from "./canary.ts"
import type { HostLinks } from "./HostLinks.ts"
import { type HostSandboxes, hostSandboxes } from "./hostSandboxes.ts"
import type { SupervisedHosts } from "./SupervisedHosts.ts"

/** Retry interval for an unreachable host. */
const againMs = 500
/** Interval of checks while machines must still be destroyed before the host is ready. */
const uncleanMs = 250
/** Interval of checks whether the host answers. */
const reachEveryMs = 5_000
/** Time limit of a call: the next pass asks again. */
const answerWithin = "30 seconds"
/** Size of the cache of settled Sandboxes. */
const residentsMax = 10_000
/** Each report about another host's Sandbox costs a query, so such reports are handled slowly. */
const strangerMs = 20
/** Each stall, and each end of a stall, is a transition; a flapping Sandbox is reported at this interval. */
const stallEveryMs = 1_000

export interface HostSupervisorOptions {
  readonly links: HostLinks["Service"]
  readonly supervised: SupervisedHosts["Service"]
  readonly news: RuntimeNews
  readonly sql: SqlClient.SqlClient
  readonly canaries: Canaries
  /** How long the host may be unreachable before its actor learns of it. */
  readonly leaseMs: number
  readonly reconcileIntervalMs: number
}

type HostRuntime = Runtime["Service"]
type HostScope = CommandScope<HostContext, EventOf<typeof hostMachine>>

export const hostSupervisor = (options: HostSupervisorOptions) => {
  const { links, supervised, news, sql, canaries, leaseMs, reconcileIntervalMs } = options
  const lookEveryMs = Math.min(reachEveryMs, reconcileIntervalMs)

  const findHeard = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ heardAt: Schema.NullOr(Int8) }),
    execute: (hostId) => sql`select heard_at as "heardAt" from hosts where id = ${hostId}`
  })

  /** A report about a Sandbox that lives elsewhere is a mistake or a lie. */
  const residents = (sandboxes: HostSandboxes) => {
    const known = new BoundedMap<string, true>(residentsMax)
    return (sandboxId: string) =>
      known.get(sandboxId) === true
        ? Effect.succeed(true)
        : Effect.map(Effect.orDie(sandboxes.resident(sandboxId)), (resident) => {
            if (resident?.isSettled === true) known.set(sandboxId, true)
            return resident !== null
          })
  }

  return Effect.fnUntraced(function* (hostId: string, boot: string, scope: HostScope) {
    const sandboxes = hostSandboxes(sql, hostId)
    const isResident = residents(sandboxes)
    const stored = yield* Effect.orDie(findHeard(hostId))
    const hearing = yield* makeHearing(stored._tag === "Some" ? stored.value.heardAt : null, 2 * lookEveryMs)

    const noteHeard = Effect.suspend(() => {
      hearing.listen()
      const at = hearing.heardUntil()
      return at === null
        ? Effect.void
        : Effect.orDie(sql`update hosts set heard_at = ${BigInt(at)} where id = ${hostId}`)
    })

    const ofResidents = <A extends { readonly sandboxId: string }>(
      said: Stream.Stream<A>,
      hear: (one: A) => Effect.Effect<void, unknown>
    ) =>
      said.pipe(
        Stream.runForEach((one) =>
          Effect.flatMap(isResident(one.sandboxId), (is) => (is ? hear(one) : Effect.sleep(strangerMs))).pipe(
            Effect.catchCause((cause) => Effect.logError(`What ${hostId} said of ${one.sandboxId} was lost`, cause))
          )
        ),
        // A runtime without such reports has an empty stream.
        Effect.andThen(Effect.never)
      )

    /** When the next stall of each Sandbox may be reported, by `performance.now()`. */
    const stallsAt = new BoundedMap<string, number>(residentsMax)
    const stalled = Effect.fnUntraced(function* (stall: RuntimeStall) {
      const now = performance.now()
      const at = Math.max(now, stallsAt.get(stall.sandboxId) ?? 0)
      stallsAt.set(stall.sandboxId, at + stallEveryMs)
      if (at > now) yield* Effect.sleep(at - now)
      yield* news.stall(stall)
    })

    const hear = (runtime: HostRuntime) =>
      Effect.all(
        [
          ofResidents(runtime.downs, ({ sandboxId, generation, reason }) =>
            news.down(sandboxId, generation, reason, hearing.seenAt())
          ),
          ofResidents(runtime.stalls, stalled),
          ofResidents(runtime.console, supervised.wrote)
        ],
        { concurrency: "unbounded", discard: true }
      )

    /** The checks of a host; they share one state over all passes. */
    const lookAt = (runtime: HostRuntime) => {
      const answered = <A>(call: Effect.Effect<A, RuntimeUnavailable>) =>
        Effect.timeoutOrElse(call, {
          duration: answerWithin,
          orElse: () => Effect.fail(new RuntimeUnavailable({ message: "The host does not answer." }))
        })
      const inventory = Effect.map(answered(runtime.inventory), (entries) =>
        entries.filter(({ sandboxId }) => !canaries.has(sandboxId))
      )
      let stopped: ReadonlyArray<string> = []
      const expected = Effect.map(sandboxes.bound, (bound) => {
        stopped = bound
          .filter(({ status, hasRun, isBusy }) => hasRun && !isBusy && runtimelessStates.includes(status))
          .map(({ id }) => id)
        return bound.filter(({ status }) => aliveStates.includes(status))
      })
      const look = reconcilerPass({
        expected,
        inventory,
        find: sandboxes.known,
        stop: (sandboxId, generation) => answered(runtime.stop(sandboxId, generation)),
        destroy: (sandboxId) => answered(runtime.destroy(sandboxId)),
        news,
        seenAt: Effect.sync(hearing.seenAt),
        toldUntil: (at) => Effect.sync(() => hearing.toldUntil(at))
      })
      const reconcile = Effect.gen(function* () {
        const seen = yield* look
        const here = seen.inventory.map(({ sandboxId }) => sandboxId)
        for (const { id, isMissing } of yield* sandboxes.noteMissing(stopped, here)) {
          yield* isMissing
            ? Effect.logError(`The volume of ${id} is missing on its host ${hostId}`)
            : Effect.logInfo(`The volume of ${id} is back on its host ${hostId}`)
        }
        yield* sandboxes.repairReservations
        return seen
      })
      return { reach: inventory, reconcile }
    }

    let told: "reconciled" | "unreached" | null = null
    let silentSince: number | null = null

    const noteSilence = Effect.fnUntraced(function* (error: RuntimeUnavailable) {
      hearing.lose()
      silentSince ??= performance.now()
      if (told === "unreached" || performance.now() - silentSince < leaseMs) return
      told = "unreached"
      yield* scope.tell({
        type: "UNREACHED",
        boot,
        reason: { code: "HOST_UNREACHED", message: error.message }
      })
    })

    /** Runs until the host's connection is replaced. Fails if the host does not answer. */
    const superviseBy = (runtime: HostRuntime) =>
      Effect.gen(function* () {
        const { reach, reconcile } = lookAt(runtime)
        let reconciledAt = Number.NEGATIVE_INFINITY
        let isPuzzled = false
        while ((yield* links.to(hostId)) === runtime) {
          const dueAfterMs = isPuzzled ? Math.min(SECOND_PASS_MS, reconcileIntervalMs) : reconcileIntervalMs
          if (told === "reconciled" && performance.now() - reconciledAt < dueAfterMs) yield* reach
          else {
            const seen = yield* reconcile
            reconciledAt = performance.now()
            ;({ isPuzzled } = seen)
            if (told !== "reconciled" && !seen.isClean) {
              silentSince = null
              yield* Effect.sleep(uncleanMs)
              continue
            }
            if (told !== "reconciled") {
              told = "reconciled"
              yield* scope.tell({ type: "RECONCILED", boot })
            }
          }
          silentSince = null
          yield* noteHeard
          yield* Effect.sleep(isPuzzled ? Math.min(SECOND_PASS_MS, lookEveryMs) : lookEveryMs)
        }
      }).pipe((looks) => Effect.raceFirst(looks, hear(runtime)), supervised.supervising(hostId))

    return yield* Effect.flatMap(links.to(hostId), superviseBy).pipe(
      Effect.catchIf((error) => error instanceof RuntimeUnavailable, noteSilence),
      Effect.catchCause((cause) =>
        // The database's own log line covers it.
        isDatabaseFault(Cause.squash(cause))
          ? Effect.void
          : Effect.logWarning(`Supervision of the host ${hostId} failed`, cause)
      ),
      Effect.andThen(Effect.sleep(againMs)),
      Effect.forever
    )
  })
}
