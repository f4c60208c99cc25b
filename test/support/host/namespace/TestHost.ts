/**
 * A namespace driver on a separate data folder, which is removed without a trace afterwards; or the reason why this
 * machine cannot have one.
 */
import { mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { layer } from "../../../../src/host/namespace/NamespaceRuntime.ts"
import { networkObstacle, probe } from "../../../../src/host/namespace/probe.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { testSettings } from "../../TestSettings.ts"

const found = await Effect.runPromise(probe)

export const isRoot = process.getuid?.() === 0

/** Null when tests of the driver can run here. */
export const unusable: string | null = found.ok ? null : found.reason
export const networkUnusable: string | null = unusable ?? networkObstacle()

/** Writes once into the test report why a file's tests are skipped. */
export const skipped = (reason: string | null): boolean => {
  if (reason !== null) console.warn(`skipped: ${reason}`)
  return reason !== null
}

export const dataFolder = (): string => mkdtempSync(join(tmpdir(), "atoll-ns-"))

/** The driver over a folder that outlives it. */
export const driverOn = (dataDir: string, environment: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(layer).pipe(Layer.provide(testSettings({ ATOLL_DATA_DIR: dataDir, ...environment })))

/** A driver for one test or one file: at the end it destroys what is left and removes its folder. */
export const freshDriver = (environment: Readonly<Record<string, string>> = {}) =>
  Layer.unwrap(
    Effect.map(
      Effect.acquireRelease(Effect.sync(dataFolder), (folder) =>
        Effect.promise(() => rm(folder, { recursive: true, force: true }))
      ),
      (folder) =>
        Layer.effectDiscard(
          Effect.gen(function* () {
            const driver = yield* Runtime
            yield* Effect.addFinalizer(() =>
              Effect.gen(function* () {
                for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
              }).pipe(Effect.orDie)
            )
          })
        ).pipe(Layer.provideMerge(driverOn(folder, environment)))
    )
  )
