/**
 * Keeps the Sandboxes' states and the host's machines in agreement: deaths become events, machines without a Sandbox are
 * destroyed, Sandboxes without their machine learn it, and since when: a death is told with the last moment at which the machine was seen alive.
 *
 * @source design.md invariant 3
 */
import { Clock, Effect, Layer, Schema, Stream } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { ActorHost } from "../actor/ActorHost.ts"
import { Settings } from "../Config.ts"
import { type InventoryEntry, Runtime } from "../runtime/Runtime.ts"
import { textColumn } from "../store/Columns.ts"
import { worker } from "../worker/Worker.ts"
import { Heartbeat } from "./Heartbeat.ts"
import { aliveStates, removedStates, runtimelessStates } from "./sandboxStates.ts"

const Running = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  generation: Schema.Int,
  is_busy: Schema.Boolean
})

const Row = Schema.Struct({
  id: Schema.String,
  status: Schema.String,
  is_busy: Schema.Boolean
})

/** What an inventory entry calls for, given its Sandbox's row. Commands of a Sandbox that are under way are left to it; `meter` is none of its host's. */
const remedy = (entry: InventoryEntry, row: typeof Row.Type | undefined): "destroy" | "tell" | null => {
  if (row === undefined) return "destroy"
  if (row.is_busy) return null
  if (removedStates.includes(row.status)) return "destroy"
  // The Sandbox decides, in its own order of events: it may be starting by now.
  if (entry.state !== "volume" && runtimelessStates.includes(row.status)) return "tell"
  return null
}

/** Nothing is left of it on its host. */
const LOST = { code: "LOST", message: "The runtime was not found on its host." }
/** What every runtime says of one that it knows no more of. */
const ENDED = { code: "CRASHED", message: "The Sandbox ended without being asked to." }

/** How long a runtime has to tell why a machine ended, before it is told without a reason. */
const SECOND_LOOK_MS = 2_000

export const RuntimeWatch = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const host = yield* ActorHost
      const sql = yield* SqlClient.SqlClient
      const heartbeat = yield* Heartbeat
      const { reconcileIntervalMs } = yield* Settings

      const findRunning = SqlSchema.findAll({
        Request: Schema.Void,
        Result: Running,
        execute: () => sql`
          select id, status, (snapshot -> 'context' ->> 'generation')::int4 as generation, pending @? '$[*] ? (@.type != "meter")' as is_busy from actors
          where kind = 'sandbox' and status = any(${textColumn(aliveStates)}::text[])`
      })

      const findRows = SqlSchema.findAll({
        Request: Schema.Array(Schema.String),
        Result: Row,
        execute: (ids) => sql`
          select id, status, pending @? '$[*] ? (@.type != "meter")' as is_busy from actors where id = any(${textColumn(ids)}::text[])`
      })

      const tellDown = (
        sandboxId: string,
        generation: number,
        reason: { readonly code: string; readonly message: string },
        seenAt: number | null
      ) =>
        host
          .send(
            "sandbox",
            sandboxId,
            { type: "RUNTIME_DOWN", generation, reason, ...(seenAt === null ? {} : { seenAt }) },
            { cause: "runtime" }
          )
          .pipe(Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void))

      const tellFound = ({ sandboxId }: InventoryEntry) =>
        host
          .send("sandbox", sandboxId, { type: "RUNTIME_FOUND" }, { cause: "runtime" })
          .pipe(Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void))

      /**
       * A former owner's freezing came about after the Sandbox had been woken: it sleeps, so let it say so. Whoever uses it then, or does
       * already, wakes it.
       */
      const tellAsleep = (sandboxId: string) =>
        Effect.logWarning(`${sandboxId} runs, and was found frozen: it sleeps`).pipe(
          Effect.andThen(host.send("sandbox", sandboxId, { type: "SLEEP" }, { cause: "runtime" })),
          Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void)
        )

      yield* runtime.downs.pipe(
        Stream.runForEach(({ sandboxId, generation, reason }) =>
          heartbeat.seenAt.pipe(
            Effect.flatMap((seenAt) => tellDown(sandboxId, generation, reason, seenAt)),
            Effect.catchCause((cause) => Effect.logError(`The death of ${sandboxId} was not recorded`, cause))
          )
        ),
        // A runtime that tells nothing has an empty stream.
        Effect.andThen(Effect.never),
        (downs) => worker("runtime downs", downs)
      )

      yield* runtime.stalls.pipe(
        Stream.runForEach((stall) =>
          host
            .send(
              "sandbox",
              stall.sandboxId,
              stall.type === "stalled"
                ? { type: "RUNTIME_STALLED", generation: stall.generation, reason: stall.reason }
                : { type: "RUNTIME_RESUMED", generation: stall.generation },
              { cause: "runtime" }
            )
            .pipe(
              Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void),
              Effect.catchCause((cause) => Effect.logError(`The stall of ${stall.sandboxId} was not recorded`, cause))
            )
        ),
        Effect.andThen(Effect.never),
        (stalls) => worker("runtime stalls", stalls)
      )

      /** Sandboxes whose volume is here and whose machine was not at the last look, with their generation. */
      let missed: ReadonlyMap<string, number> = new Map()
      /** When each machine was last found, and when they were last looked for; null: not yet. */
      let foundAt: ReadonlyMap<string, number> = new Map()
      let lookedAt: number | null = null

      const reconcile = Effect.gen(function* () {
        // Candidates first, then the inventory: a Sandbox that came up in between is not taken for a lost one.
        const running = yield* findRunning()
        const now = yield* Clock.currentTimeMillis
        const found = yield* runtime.inventory
        const rows = yield* findRows(found.map((entry) => entry.sandboxId))
        const byId = new Map(rows.map((row) => [row.id, row]))
        for (const entry of found) {
          const action = remedy(entry, byId.get(entry.sandboxId))
          if (action === null) continue
          yield* Effect.logWarning(`Reconciling ${entry.sandboxId} (${entry.state}): ${action}`)
          // One that cannot be ended now must not keep the others from it.
          const remedied: Effect.Effect<unknown, unknown> =
            action === "destroy" ? runtime.destroy(entry.sandboxId) : tellFound(entry)
          yield* remedied.pipe(
            Effect.catchCause((cause) => Effect.logWarning(`${entry.sandboxId} could not be reconciled`, cause))
          )
        }
        const alive = new Map(
          found.flatMap((entry) => (entry.generation === null ? [] : [[entry.sandboxId, entry.generation]]))
        )
        const here = new Set(found.map((entry) => entry.sandboxId))
        const frozen = new Set(found.flatMap((entry) => (entry.state === "suspended" ? [entry.sandboxId] : [])))
        const missing = new Map<string, number>()
        const stillFoundAt = new Map([...alive.keys()].map((id) => [id, now]))
        const heardUntil = yield* heartbeat.seenAt
        // Nobody heard of it: it may have died at any time since it was last found, or came up after all were last looked for.
        const seenAt = (id: string) => {
          const found = foundAt.get(id) ?? lookedAt
          return heardUntil === null || found === null ? heardUntil : Math.min(heardUntil, found)
        }
        let isAllTold = true
        for (const { id, status, generation, is_busy } of running) {
          if (alive.get(id) === generation) {
            const isAwake = (row: typeof Row.Type | undefined) => row?.status === "running" && !row.is_busy
            if (frozen.has(id) && isAwake({ id, status, is_busy }) && isAwake(byId.get(id))) yield* tellAsleep(id)
            continue
          }
          const lastSeenAt = seenAt(id)
          if (lastSeenAt !== null) stillFoundAt.set(id, lastSeenAt)
          // What is under way may end it, or find it dead.
          if (is_busy) isAllTold = false
          else if (!here.has(id)) yield* tellDown(id, generation, LOST, lastSeenAt)
          // The runtime knows best why it ended, and is about to tell.
          else if (missed.get(id) !== generation) {
            isAllTold = false
            missing.set(id, generation)
          } else yield* tellDown(id, generation, ENDED, lastSeenAt)
        }
        missed = missing
        foundAt = stillFoundAt
        lookedAt = now
        if (isAllTold) yield* heartbeat.toldUntil(now)
      }).pipe(
        Effect.catchCause((cause) =>
          Effect.logWarning("The host's machines could not be compared with the Sandboxes", cause)
        )
      )

      yield* reconcile
      const pause = Effect.suspend(() =>
        Effect.sleep(missed.size > 0 ? Math.min(SECOND_LOOK_MS, reconcileIntervalMs) : reconcileIntervalMs)
      )
      yield* worker("reconcile", Effect.andThen(pause, reconcile).pipe(Effect.forever))
    })
  )
}
