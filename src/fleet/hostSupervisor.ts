/**
 * The host supervisor: what a service does for a host whose actor it owns. It reconciles the host's machines with its Sandboxes, once before the host
 * is used and then regularly, and receives the host's events. It ends when the process loses the actor, and at the host's next process.
 *
 * A host is trusted only about its own Sandboxes: reports about others are ignored, and machines of others on the host are destroyed.
 */

import { Cause, Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import type { hostMachine } from "../../machines/host.ts"
import type { HostContext } from "../../schemas/contexts/Host.ts"
import type { CommandScope } from "../engine/ActorDefinition.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import type { ImagePass } from "../image/imagePass.ts"
import type { UploadedImages } from "../image/uploadedImages.ts"
import { type Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { makeHearing } from "../sandbox/Hearing.ts"
import { SECOND_PASS_MS } from "../sandbox/HostReconciler.ts"
import type { RuntimeNews } from "../sandbox/RuntimeNews.ts"
import type { SnapshotPass } from "../snapshot/snapshotPass.ts"
import { Int8 } from "../store/Columns.ts"
import { isDatabaseFault } from "../store/DatabaseFault.ts"
import type { Canaries } from "./canary.ts"
import type { HostLinks } from "./HostLinks.ts"
import { hostPass } from "./hostPass.ts"
import { hostReports } from "./hostReports.ts"
import { hostSandboxes } from "./hostSandboxes.ts"
import { isEmptied } from "./hostStates.ts"
import type { ImagesOnHosts } from "./imagesOnHosts.ts"
import type { LeaveHost } from "./leaveHost.ts"
import { leavingHost } from "./leavingHost.ts"
import type { SupervisedHosts } from "./SupervisedHosts.ts"

/** Retry interval for an unreachable host. */
const againMs = 500
/** Interval of checks while machines must still be destroyed before the host is ready. */
const uncleanMs = 250
/** Interval of checks whether the host answers. */
const reachEveryMs = 5_000

export interface HostSupervisorOptions {
  readonly links: HostLinks["Service"]
  readonly supervised: SupervisedHosts["Service"]
  readonly news: RuntimeNews
  readonly sql: SqlClient.SqlClient
  readonly canaries: Canaries
  readonly snapshots: SnapshotPass
  readonly images: ImagePass
  readonly imageRows: ImagesOnHosts
  readonly uploaded: UploadedImages
  readonly leave: LeaveHost
  /** How long the host may be unreachable before its actor learns of it. */
  readonly leaseMs: number
  readonly reconcileIntervalMs: number
}

type HostRuntime = Runtime["Service"]
type HostScope = CommandScope<HostContext, EventOf<typeof hostMachine>>

/** Until when no event of a host was missed, in epoch milliseconds, as stored for the next supervisor. */
const storedHearing = (sql: SqlClient.SqlClient) => ({
  find: SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ heardAt: Schema.NullOr(Int8) }),
    execute: (hostId) => sql`select heard_at as "heardAt" from hosts where id = ${hostId}`
  }),
  store: (hostId: string, at: number) => sql`update hosts set heard_at = ${BigInt(at)} where id = ${hostId}`
})

export const hostSupervisor = (options: HostSupervisorOptions) => {
  const { links, supervised, news, sql, leaseMs, reconcileIntervalMs } = options
  const lookEveryMs = Math.min(reachEveryMs, reconcileIntervalMs)

  const heard = storedHearing(sql)

  return Effect.fnUntraced(function* (hostId: string, boot: string, scope: HostScope) {
    const sandboxes = hostSandboxes(sql, hostId)
    const stored = yield* Effect.orDie(heard.find(hostId))
    const hearing = yield* makeHearing(stored._tag === "Some" ? stored.value.heardAt : null, 2 * lookEveryMs)

    const hear = hostReports(hostId, { sandboxes, news, hearing, supervised })

    const noteHeard = Effect.suspend(() => {
      hearing.listen()
      const at = hearing.heardUntil()
      return at === null ? Effect.void : Effect.orDie(heard.store(hostId, at))
    })

    const leaves = leavingHost(hostId, () => isEmptied(scope.state().value), options.leave)

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
        const { reach, reconcile } = hostPass(hostId, runtime, { ...options, sandboxes, hearing })
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
      }).pipe((looks) => Effect.raceAllFirst([looks, hear(runtime), leaves]), supervised.supervising(hostId))

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
