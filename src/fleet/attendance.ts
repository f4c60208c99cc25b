/**
 * What a service does for a host whose actor it owns: its machines are brought to agree with its Sandboxes, before anything of it is used and again and
 * again, and what it says is heard. It ends with the actor's ownership, and with the next process of the host.
 *
 * A host is believed of its own Sandboxes only: what it says of others is left aside, and what runs there of others is ended there.
 */

import { Cause, Effect, Schema, Stream } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import type { hostMachine } from "../../machines/host.ts"
import type { HostContext } from "../../schemas/contexts/Host.ts"
import type { CommandScope } from "../actor/ActorDefinition.ts"
import type { EventOf } from "../actor/machineTypes.ts"
import { type Runtime, type RuntimeStall, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { makeHearing } from "../sandbox/Hearing.ts"
import { agreement, SECOND_LOOK_MS } from "../sandbox/HostAgreement.ts"
import type { RuntimeNews } from "../sandbox/RuntimeNews.ts"
import { aliveStates, runtimelessStates } from "../sandbox/sandboxStates.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { Int8 } from "../store/Columns.ts"
import { isDatabaseFault } from "../store/DatabaseFault.ts"
import type { AttendedHosts } from "./AttendedHosts.ts"
import type { Canaries } from "./canary.ts"
import type { HostLinks } from "./HostLinks.ts"
import { type HostSandboxes, hostSandboxes } from "./hostSandboxes.ts"

/** A host that cannot be reached is tried again so often. */
const againMs = 500
/** What has to be ended before it is ready is looked at again so soon. */
const uncleanMs = 250
/** It is seen this often whether it answers. */
const reachEveryMs = 5_000
/** A host that does not answer for so long is not waited for: the next look asks anew. */
const answerWithin = "30 seconds"
/** Of whom it is known that they live there for good. */
const residentsMax = 10_000
/** Who says something of others is heard slowly: each time it is looked up whose it is. */
const strangerMs = 20
/** Each news of one that is held up, or goes on, is a transition; a host that cannot decide is heard so often. */
const stallEveryMs = 1_000

export interface AttendanceOptions {
  readonly links: HostLinks["Service"]
  readonly attended: AttendedHosts["Service"]
  readonly news: RuntimeNews
  readonly sql: SqlClient.SqlClient
  readonly canaries: Canaries
  /** So long it may be unreachable before that is told. */
  readonly leaseMs: number
  readonly reconcileIntervalMs: number
}

type Way = Runtime["Service"]
type HostScope = CommandScope<HostContext, EventOf<typeof hostMachine>>

export const attendance = (options: AttendanceOptions) => {
  const { links, attended, news, sql, canaries, leaseMs, reconcileIntervalMs } = options
  const lookEveryMs = Math.min(reachEveryMs, reconcileIntervalMs)

  const findHeard = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ heardAt: Schema.NullOr(Int8) }),
    execute: (hostId) => sql`select heard_at as "heardAt" from hosts where id = ${hostId}`
  })

  /** What is said of a Sandbox that lives elsewhere is said by mistake, or is a lie. */
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
        // A runtime that tells nothing has an empty stream.
        Effect.andThen(Effect.never)
      )

    /** By Sandbox: when its next one is told, by `performance.now()`. */
    const stallsAt = new BoundedMap<string, number>(residentsMax)
    const stalled = Effect.fnUntraced(function* (stall: RuntimeStall) {
      const now = performance.now()
      const at = Math.max(now, stallsAt.get(stall.sandboxId) ?? 0)
      stallsAt.set(stall.sandboxId, at + stallEveryMs)
      if (at > now) yield* Effect.sleep(at - now)
      yield* news.stall(stall)
    })

    const hear = (way: Way) =>
      Effect.all(
        [
          ofResidents(way.downs, ({ sandboxId, generation, reason }) =>
            news.down(sandboxId, generation, reason, hearing.seenAt())
          ),
          ofResidents(way.stalls, stalled),
          ofResidents(way.console, attended.wrote)
        ],
        { concurrency: "unbounded", discard: true }
      )

    /** A look at what a host has: with the same memory from one to the next. */
    const lookAt = (way: Way) => {
      const answered = <A>(call: Effect.Effect<A, RuntimeUnavailable>) =>
        Effect.timeoutOrElse(call, {
          duration: answerWithin,
          orElse: () => Effect.fail(new RuntimeUnavailable({ message: "The host does not answer." }))
        })
      const inventory = Effect.map(answered(way.inventory), (entries) =>
        entries.filter(({ sandboxId }) => !canaries.has(sandboxId))
      )
      let stopped: ReadonlyArray<string> = []
      const expected = Effect.map(sandboxes.bound, (bound) => {
        stopped = bound
          .filter(({ status, hasRun, isBusy }) => hasRun && !isBusy && runtimelessStates.includes(status))
          .map(({ id }) => id)
        return bound.filter(({ status }) => aliveStates.includes(status))
      })
      const look = agreement({
        expected,
        inventory,
        find: sandboxes.known,
        stop: (sandboxId, generation) => answered(way.stop(sandboxId, generation)),
        destroy: (sandboxId) => answered(way.destroy(sandboxId)),
        news,
        seenAt: Effect.sync(hearing.seenAt),
        toldUntil: (at) => Effect.sync(() => hearing.toldUntil(at))
      })
      const reconcile = Effect.gen(function* () {
        const seen = yield* look
        const here = seen.inventory.map(({ sandboxId }) => sandboxId)
        for (const { id, isMissing } of yield* sandboxes.noteMissing(stopped, here)) {
          yield* isMissing
            ? Effect.logError(`The volume of ${id} is not on its host ${hostId} any more`)
            : Effect.logInfo(`The volume of ${id} is on its host ${hostId} again`)
        }
        yield* sandboxes.healPromises
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

    /** Until the host has another way to it. Fails when it does not answer. */
    const attendBy = (way: Way) =>
      Effect.gen(function* () {
        const { reach, reconcile } = lookAt(way)
        let reconciledAt = Number.NEGATIVE_INFINITY
        let isPuzzled = false
        while ((yield* links.to(hostId)) === way) {
          const dueAfterMs = isPuzzled ? Math.min(SECOND_LOOK_MS, reconcileIntervalMs) : reconcileIntervalMs
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
          yield* Effect.sleep(isPuzzled ? Math.min(SECOND_LOOK_MS, lookEveryMs) : lookEveryMs)
        }
      }).pipe((looks) => Effect.raceFirst(looks, hear(way)), attended.attending(hostId))

    return yield* Effect.flatMap(links.to(hostId), attendBy).pipe(
      Effect.catchIf((error) => error instanceof RuntimeUnavailable, noteSilence),
      Effect.catchCause((cause) =>
        // The database says so itself.
        isDatabaseFault(Cause.squash(cause))
          ? Effect.void
          : Effect.logWarning(`The host ${hostId} could not be attended`, cause)
      ),
      Effect.andThen(Effect.sleep(againMs)),
      Effect.forever
    )
  })
}
