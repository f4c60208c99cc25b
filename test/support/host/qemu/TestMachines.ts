/**
 * A VM driver on a separate data folder, which is removed without a trace afterwards; or the reason why this machine
 * cannot have one.
 */
import { mkdtempSync } from "node:fs"
import { chmod, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { Settings } from "../../../../src/Config.ts"
import { probe } from "../../../../src/host/qemu/probe.ts"
import { layer } from "../../../../src/host/qemu/QemuRuntime.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../fleet/isOverAFleet.ts"
import { testSettings } from "../../TestSettings.ts"

/** The contract suite's own sizes, so that its Sandboxes match the driver's templates. */
const environment = {
  ATOLL_SANDBOX_MEMORY_BYTES: String(256 * 1024 ** 2),
  ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
  // Spares that start behind a test's back would slow it, and hold memory that it counts.
  ATOLL_VM_SPARES: "0"
}

/** Everything here runs under emulation, on a machine that may be busy; each of a fleet's two hosts boots one first. */
export const TIMEOUT_MS = isOverAFleet ? 480_000 : 240_000

/** For a service whose Sandboxes, or those of its hosts, are machines. */
export const machineSettings = {
  ...environment,
  ATOLL_RUNTIME: "qemu",
  ATOLL_BOOT_TIMEOUT_MS: String(TIMEOUT_MS)
}

export const dataFolder = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "atoll-vm-"))
  await chmod(folder, 0o755)
  return folder
}

/** Where this machine's images are. */
export const imageCache = await Effect.runPromise(
  Effect.map(Effect.provide(Settings, testSettings()), ({ vmDir }) => vmDir)
)

const remove = (folder: string) => Effect.promise(() => rm(folder, { recursive: true, force: true }))

/** A data folder for one scope. */
export const scopedFolder = Effect.acquireRelease(Effect.promise(dataFolder), remove)

export const settingsOn = (dataDir: string, more: Readonly<Record<string, string>> = {}) =>
  testSettings({ ...environment, ATOLL_DATA_DIR: dataDir, ...more })

const found = await Effect.runPromise(
  Effect.scoped(Effect.flatMap(scopedFolder, (folder) => Effect.provide(probe, settingsOn(folder))))
)

/** Null when VMs run here; else one sentence. */
export const unusable: string | null = found.ok ? null : found.reason

if (unusable !== null) console.warn(`skipped: ${unusable}`)

/** The driver over a folder that outlives it. */
export const driverOn = (dataDir: string, more: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(layer).pipe(Layer.provide(settingsOn(dataDir, more)))

export const destroyAll = Effect.fnUntraced(function* (driver: Runtime["Service"]) {
  for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
})

/** A driver for one test or one file: at the end it destroys what is left and removes its folder. */
export const freshDriver = (more: Readonly<Record<string, string>> = {}) =>
  Layer.unwrap(
    Effect.map(scopedFolder, (folder) =>
      Layer.effectDiscard(
        Effect.flatMap(Runtime, (driver) => Effect.addFinalizer(() => Effect.orDie(destroyAll(driver))))
      ).pipe(Layer.provideMerge(driverOn(folder, more)))
    )
  )
