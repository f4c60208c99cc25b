/** Runs the commands of a host's actor, over its connection and the table of its Sandboxes. */

import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { believedForMs, hostMachine, lookDueAt } from "../../machines/host.ts"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { HostContext } from "../../schemas/contexts/Host.ts"
import { publicText } from "../../schemas/PublicText.ts"
import { Settings } from "../Config.ts"
import type { ActorState, CommandScope } from "../engine/ActorDefinition.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { defineActor } from "../engine/defineActor.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { imagePass } from "../image/imagePass.ts"
import { uploadedImages } from "../image/uploadedImages.ts"
import { hostLost, type LostHost } from "../sandbox/hostLost.ts"
import { runtimeNews } from "../sandbox/RuntimeNews.ts"
import { type SnapshotPass, snapshotPass } from "../snapshot/snapshotPass.ts"
import { Int8 } from "../store/Columns.ts"
import { Canaries } from "./canary.ts"
import { databaseNow } from "./databaseNow.ts"
import { HostLinks } from "./HostLinks.ts"
import { hostSandboxes } from "./hostSandboxes.ts"
import { absentStates, emptiedStates, isRemovedHost } from "./hostStates.ts"
import { hostSupervisor } from "./hostSupervisor.ts"
import { imagesOnHosts } from "./imagesOnHosts.ts"
import { leaveHost } from "./leaveHost.ts"
import { SupervisedHosts } from "./SupervisedHosts.ts"
import { snapshotCopyStatements } from "./snapshotCopyStatements.ts"

/** How many Sandboxes are told concurrently. */
const tellBatch = 32
/** Interval at which the remaining Sandboxes are checked. */
const lookEveryMs = 1_000
/** Log entries about the lease are useless after a day. Each check of the lease deletes up to this many of the oldest. */
const forgetBatch = 16
const forgetAfterMs = 24 * 60 * 60 * 1000

/** A check that is late by this share of a lease proves nothing about a host, and is repeated. */
const late = 0.1
const lookAgainMs = 250

/** The images of a host that was taken out of the fleet with all that it had. */
const noImages = { inventory: Effect.succeed([]), remove: () => Effect.void }

const draining = { code: "HOST_DRAINING", message: publicText`Its host is taken out of use. The volume is kept.` }

/** Compares the images of a host with snapshots and with their copies. A copy takes the place of a lost image. */
const capturedPass = Effect.gen(function* () {
  const pass = yield* snapshotPass
  const copies = yield* snapshotCopyStatements
  const compare: SnapshotPass = Effect.fnUntraced(function* (hostId, images) {
    yield* pass(hostId, { ...images, promoted: (snapshotId, from) => copies.promoted(snapshotId, from) })
    if (hostId !== null) yield* copies.keepOnly(hostId, yield* images.inventory)
  })
  return compare
})

/** What hosts have besides Sandboxes. */
const storedOnHosts = Effect.gen(function* () {
  return {
    ...{ snapshots: yield* capturedPass, images: yield* imagePass },
    ...{ imageRows: yield* imagesOnHosts, uploaded: yield* uploadedImages, leave: yield* leaveHost }
  }
})

/** A lost host may come back with its snapshots and images; one that was taken out of the fleet has nothing any more. */
const losesStored = Effect.fnUntraced(function* (
  { snapshots, imageRows, uploaded }: Effect.Success<typeof storedOnHosts>,
  hostId: string,
  isRemoved: boolean
) {
  yield* uploaded.tellLost(yield* imageRows.lostWith(hostId, null))
  if (!isRemoved) return
  yield* snapshots(hostId, noImages)
  yield* imageRows.forgetAll(hostId)
})

export const hostDefinition = Effect.gen(function* () {
  const actors = yield* ActorHost
  const links = yield* HostLinks
  const supervised = yield* SupervisedHosts
  const news = yield* runtimeNews
  const sql = yield* SqlClient.SqlClient
  const stored = yield* storedOnHosts
  const { hostLeaseMs: leaseMs, hostLostAfterMs: lostAfterMs, reconcileIntervalMs, bootTimeoutMs } = yield* Settings
  const canaries = new Canaries(links, bootTimeoutMs)
  const supervise = hostSupervisor({ links, supervised, news, sql, canaries, ...stored, leaseMs, reconcileIntervalMs })

  const findSeen = SqlSchema.findOneOption({
    Request: Schema.String,
    /** `age`: milliseconds since its last beat, by the database's clock. */
    Result: Schema.Struct({ boot: Schema.String, age: Int8 }),
    execute: (hostId) => sql`select boot, ${databaseNow(sql)} - seen_at as age from hosts where id = ${hostId}`
  })

  const forgetOldEntries = (hostId: string, now: number) =>
    sql`
      delete from transitions where actor_id = ${hostId} and at < ${BigInt(now - forgetAfterMs)}
        and revision in (select revision from transitions where actor_id = ${hostId} order by revision limit ${forgetBatch})`.pipe(
      Effect.orDie
    )

  const lookAtHost = Effect.fnUntraced(function* ({ id: hostId, value, context: known }: ActorState<HostContext>) {
    const began = yield* Clock.currentTimeMillis
    yield* forgetOldEntries(hostId, began)
    const dueAt = lookDueAt(value, known, lostAfterMs)
    const since = performance.now()
    // Nobody looked for a while, so nobody may have listened either: a host that is there says so soon.
    let waitsForMs = began - dueAt > leaseMs * late ? leaseMs : 0
    while (true) {
      const found = yield* Effect.orDie(findSeen(hostId))
      const now = yield* Clock.currentTimeMillis
      const { boot, age } = found._tag === "Some" ? found.value : { boot: "", age: now - known.seenAt }
      const silentForMs = Math.max(0, age)
      // By this service's clock, like its deadlines.
      const seenAt = now - silentForMs
      // A host that has left does not count, however recent its last beat.
      if (boot !== "" && Math.abs(age) < leaseMs) return { type: "SEEN" as const, seenAt, leaseMs }
      // The clock of the database was set back: a host that is there is soon heard of by what it shows now.
      if (age < 0) waitsForMs = Math.max(waitsForMs, leaseMs)
      // The clock of this service was set forward: it looks too early.
      waitsForMs = Math.max(waitsForMs, believedForMs(value, silentForMs, lostAfterMs))
      const leftMs = waitsForMs - (performance.now() - since)
      if (leftMs <= 0) return { type: "SILENT" as const, seenAt, lostAfterMs }
      yield* Effect.sleep(Math.min(lookAgainMs, leftMs))
    }
  })

  /** Tells each Sandbox of the host that has, or will get, a runtime, until none is left, while the host is in one of these states. */
  const settle = Effect.fnUntraced(function* (
    scope: Pick<CommandScope<HostContext>, "state">,
    states: ReadonlyArray<string>,
    eventFor: (generation: number) => EventOf<typeof sandboxMachine>
  ) {
    const { hostId } = scope.state().context
    const { unsettled } = hostSandboxes(sql, hostId)
    let after = ""
    let left = 0
    while (states.includes(scope.state().value)) {
      const found = yield* Effect.orDie(unsettled(after, tellBatch))
      yield* Effect.forEach(
        found,
        ({ id, generation, revision }) =>
          actors.send(sandboxMachine, id, eventFor(generation), { cause: "host", revision }).pipe(
            // It is stopping or stopped already.
            Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void),
            Effect.orDie
          ),
        { concurrency: "unbounded", discard: true }
      )
      left += found.length
      const last = found.at(-1)
      if (last !== undefined && found.length === tellBatch) {
        after = last.id
        continue
      }
      if (left === 0) return true
      // Sandboxes that were told are checked once more.
      after = ""
      left = 0
      yield* Effect.sleep(lookEveryMs)
    }
    return false
  })

  return defineActor(hostMachine, {
    context: HostContext,
    commands: {
      attend: { lane: "supervise", run: (scope, { boot }) => supervise(scope.state().id, boot, scope) },
      canary: { lane: "canary", run: (scope, { boot }) => canaries.boot(scope.state().id, boot) },
      lookAtHost: {
        lane: "lookAtHost",
        run: (scope) => Effect.suspend(() => lookAtHost(scope.state()))
      },
      // A lost host has no supervisor.
      loseSandboxes: {
        lane: "supervise",
        run: (scope, { seenAt }) => {
          const isRemoved = () => isRemovedHost(scope.state().value)
          const lostAs = (): LostHost => ({ is: isRemoved() ? "gone" : "lost", seenAt })
          const loses = Effect.suspend(() => losesStored(stored, scope.state().id, isRemoved()))
          const settled = settle(scope, absentStates, (generation) => hostLost(generation, lostAs()))
          // Not settled: the host is back.
          return Effect.as(Effect.when(Effect.orDie(loses), settled), null)
        }
      },
      drainSandboxes: {
        lane: "drainSandboxes",
        run: (scope) =>
          Effect.map(
            settle(scope, emptiedStates, () => ({ type: "STOP", reason: draining })),
            (isDrained) => (isDrained ? { type: "DRAINED" as const } : null)
          )
      }
    }
  })
})
