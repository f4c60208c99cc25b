/**
 * Takes an Atoll down with everything in it: stops its processes, then its Sandboxes by their own machines, as the
 * service would; so the next start, the logs and the meters know about it.
 */

import { existsSync } from "node:fs"
import { readdir, rm, rmdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer, Schema } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import { Settings, type SettingsShape } from "../Config.ts"
import { HostFolder, presentDriver } from "../host/HostFolder.ts"
import { removeTree } from "../host/linux/treeRemoval.ts"
import { pooledFolder, purgePool } from "../host/linux/volumePool.ts"
import { RuntimeChoice } from "../host/RuntimeChoice.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { countedStates } from "../sandbox/sandboxStates.ts"
import { settleSandboxes, unsettledStates } from "../sandbox/settleSandboxes.ts"
import { alone, service, store } from "./Service.ts"
import { ServiceProcesses } from "./ServiceProcesses.ts"

/** Atoll's entries in the data folder. */
const ownEntries = ["postgres", "runtime", "service", "spool", "installation", "host", "host.key", "credentials.json"]

/** Something still runs. `message` is one sentence. */
export class NotDown extends Schema.TaggedError<NotDown>()("NotDown", { message: Schema.String }) {}

const reason = { code: "ATOLL_DOWN", message: publicText`The operator took Atoll down. The volume is kept.` }

const endSandboxes = Effect.fnUntraced(function* (isPurge: boolean) {
  const running = yield* settleSandboxes(unsettledStates, () => ({ type: "STOP", reason }))
  if (isPurge) {
    yield* settleSandboxes(countedStates, () => ({ type: "DELETE" }))
    const runtime = yield* Runtime
    for (const { sandboxId } of yield* runtime.inventory) yield* runtime.destroy(sandboxId)
  }
  return running
})

/** A host has no database: its services learn of this when it is back. */
const endOnHost = Effect.fnUntraced(function* (isPurge: boolean) {
  const runtime = yield* Runtime
  let running = 0
  for (const { sandboxId, generation } of yield* runtime.inventory) {
    if (generation !== null) {
      yield* runtime.stop(sandboxId, generation)
      running++
    }
    if (isPurge) yield* runtime.destroy(sandboxId)
  }
  return running
})

/** Ends the Sandboxes, by ATOLL_ROLE: those of a service are on hosts, and other services use them. */
const endSandboxesOf = ({ role, dataDir }: SettingsShape, isPurge: boolean) => {
  switch (role) {
    case "all":
      return endSandboxes(isPurge).pipe(Effect.provide(service.pipe(Layer.provideMerge(store), Layer.provide(alone))))
    case "host":
      return endOnHost(isPurge).pipe(
        Effect.provide(
          RuntimeChoice.layer(presentDriver(dataDir)).pipe(Layer.provide(HostFolder.layer), Layer.provide(alone))
        )
      )
    case "service":
      return Effect.succeed(0)
  }
}

/** Removes Atoll's entries from the data folder, and the folder if it is empty then. */
const removeFolder = async (dataDir: string): Promise<ReadonlyArray<string>> => {
  await purgePool(pooledFolder(dataDir))
  // May be any kind of tree: Sandboxes made it.
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
  /** With `isPurge`: entries of the data folder that are not Atoll's. */
  readonly left: ReadonlyArray<string>
}

/** Needs Settings. `isPurge`: also deletes the Sandboxes, and Atoll's entries of the data folder. */
export const takeDown = Effect.fn("takeDown")(function* (isPurge: boolean) {
  const settings = yield* Settings
  const { dataDir, role } = settings
  if (isPurge && role === "service") {
    return yield* new NotDown({
      message: `ATOLL_ROLE=service: its Sandboxes are on hosts, and --purge would leave them there without a record. Delete them first, and remove the hosts with atoll hosts remove; then delete ${dataDir} and the database.`
    })
  }
  const { ended, alive } = yield* Effect.promise(() => ServiceProcesses.end(dataDir))
  if (alive.length > 0) {
    return yield* new NotDown({
      message: `Atoll's process ${alive.join(", ")} did not stop; nothing else was done. End it with kill -9, then run this again.`
    })
  }
  // The first start writes this file.
  const isBegun = existsSync(join(dataDir, "host"))
  const sandboxes = isBegun ? yield* endSandboxesOf(settings, isPurge) : 0
  if (!isPurge) return { processes: ended, sandboxes, left: [] } satisfies Downed
  if (existsSync(join(dataDir, "postgres/data/postmaster.pid"))) {
    return yield* new NotDown({
      message: `The database in ${dataDir} is in use, perhaps by another command: the Sandboxes are deleted, the folder is not. Run this again once that has ended.`
    })
  }
  const left = yield* Effect.tryPromise({
    try: () => removeFolder(dataDir),
    catch: (cause) => new NotDown({ message: `${dataDir} could not be removed: ${String(cause)}.` })
  })
  return { processes: ended, sandboxes, left } satisfies Downed
})
