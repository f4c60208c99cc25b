/**
 * Takes an Atoll down with everything in it: its processes are asked to stop, then its Sandboxes are stopped by their own machines, as the
 * service would have done it; so the next start, their logs and their meters know of it.
 */
import { existsSync } from "node:fs"
import { readdir, rm, rmdir } from "node:fs/promises"
import { join } from "node:path"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { ActorHost } from "./actor/ActorHost.ts"
import { Settings } from "./Config.ts"
import { removeTree } from "./host/linux/treeRemoval.ts"
import { Runtime } from "./runtime/Runtime.ts"
import { ServiceProcesses } from "./ServiceProcesses.ts"
import { service, store } from "./Service.ts"
import { countedStates, runtimelessStates } from "./sandbox/sandboxStates.ts"
import { textColumn } from "./store/Columns.ts"

/** A boot is waited for before it can be stopped, and a machine may be slow to end. */
const endWithinMs = 180_000
const lookEveryMs = 50

/** What the data folder has of us. */
const ownEntries = ["postgres", "runtime", "service", "installation", "host"]

/** Something goes on. `message` is one sentence. */
export class NotDown extends Schema.TaggedError<NotDown>()("NotDown", { message: Schema.String }) {}

const reason = { code: "ATOLL_DOWN", message: "The operator took Atoll down. The volume is kept." }

/** It has a runtime, or had one a moment ago. */
const unsettledStates = countedStates.filter((state) => !runtimelessStates.includes(state))

/** Tells every Sandbox of those states the event, and waits until none is in one and no command of theirs is open. Returns how many there were. */
const settle = Effect.fnUntraced(function* (
  states: ReadonlyArray<string>,
  event: { readonly type: "STOP"; readonly reason: typeof reason } | { readonly type: "DELETE" }
) {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String }),
    execute: () =>
      sql`select id from actors where kind = 'sandbox' and status = any(${textColumn(states)}::text[]) order by id`
  })
  const count = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ left: Schema.Int }),
    execute: () => sql`
      select count(*)::int4 as left from actors
      where kind = 'sandbox' and (status = any(${textColumn(states)}::text[]) or pending <> '[]'::jsonb)`
  })
  const found = yield* find()
  yield* Effect.forEach(
    found,
    ({ id }) =>
      host
        .send("sandbox", id, event, { cause: "operator" })
        // It is on its way out already.
        .pipe(Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void)),
    { concurrency: 16, discard: true }
  )
  const deadline = (yield* Clock.currentTimeMillis) + endWithinMs
  for (let { left } = yield* count(); left > 0; { left } = yield* count()) {
    if ((yield* Clock.currentTimeMillis) > deadline) {
      return yield* new NotDown({
        message: `${left} Sandboxes did not end within ${endWithinMs / 1000} s. ATOLL_LOG_LEVEL=debug npm start shows why; then do this again.`
      })
    }
    yield* Effect.sleep(lookEveryMs)
  }
  return found.length
})

/** No process besides this one, no machine ahead of its Sandbox, no port. */
const alone = Layer.effect(
  Settings,
  Effect.map(Settings, (settings) => ({
    ...settings,
    clusterPort: 0,
    vmSpares: 0,
    cooperative: "off" as const,
    bootstrapApiKey: null
  }))
)

const endSandboxes = Effect.fnUntraced(function* (isPurge: boolean) {
  const running = yield* settle(unsettledStates, { type: "STOP", reason })
  if (isPurge) {
    yield* settle(countedStates, { type: "DELETE" })
    const runtime = yield* Runtime
    for (const { sandboxId } of yield* runtime.inventory) yield* runtime.destroy(sandboxId)
  }
  return running
})

/** Removes what is ours in the data folder, and it too if nothing else is in it. */
const removeFolder = async (dataDir: string): Promise<ReadonlyArray<string>> => {
  // Of any shape: Sandboxes made it.
  await removeTree(join(dataDir, "runtime")).done
  for (const name of ownEntries) await rm(join(dataDir, name), { recursive: true, force: true })
  await rmdir(dataDir).catch(() => {})
  return readdir(dataDir).catch(() => [])
}

export interface Downed {
  /** Processes of the service that were stopped. */
  readonly processes: number
  /** Sandboxes that were stopped. */
  readonly sandboxes: number
  /** With `isPurge`: what was in the data folder and is none of Atoll's. */
  readonly left: ReadonlyArray<string>
}

/** Needs Settings. `isPurge`: the Sandboxes are deleted, and the data folder with everything in it that is Atoll's. */
export const takeDown = Effect.fn("takeDown")(function* (isPurge: boolean) {
  const { dataDir } = yield* Settings
  const { ended, alive } = yield* Effect.promise(() => ServiceProcesses.end(dataDir))
  if (alive.length > 0) {
    return yield* new NotDown({
      message: `Atoll's process ${alive.join(", ")} did not stop; nothing else was done. kill -9 ends it, then do this again.`
    })
  }
  // Written by the first start.
  const isBegun = existsSync(join(dataDir, "host"))
  const sandboxes = isBegun
    ? yield* endSandboxes(isPurge).pipe(
        Effect.provide(service.pipe(Layer.provideMerge(store), Layer.provide(alone)))
      )
    : 0
  if (!isPurge) return { processes: ended, sandboxes, left: [] } satisfies Downed
  if (existsSync(join(dataDir, "postgres/data/postmaster.pid"))) {
    return yield* new NotDown({
      message: `The database in ${dataDir} is in use, by another command perhaps: the Sandboxes are gone, the folder is not. Do this again once that has ended.`
    })
  }
  const left = yield* Effect.tryPromise({
    try: () => removeFolder(dataDir),
    catch: (cause) => new NotDown({ message: `${dataDir} could not be removed: ${String(cause)}.` })
  })
  return { processes: ended, sandboxes, left } satisfies Downed
})
