/** The behaviour of each driver for a Sandbox whose volume was removed. */
import { rmSync } from "node:fs"
import { assert } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { output } from "../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../support/runtime/contract/sandboxSpec.ts"

/**
 * @param pathOf The path that is removed: the image, or the whole folder, of a Sandbox.
 * @param driver Over one data folder; each use opens it again.
 */
export const missingVolumeIsRefused = <E>(
  driver: () => Layer.Layer<Runtime, E>,
  pathsOf: (sandboxId: string) => ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    const on = <A, E2>(body: Effect.Effect<A, E2, Runtime>) => Effect.provide(body, driver())
    for (const [index, path] of pathsOf("emptied").entries()) {
      yield* on(
        Effect.gen(function* () {
          const runtime = yield* Runtime
          yield* runtime.provision(sandboxSpec("emptied"))
          yield* output(yield* runtime.guest("emptied", 1), "echo kept > /workspace/file")
          yield* runtime.stop("emptied", 1)
          rmSync(path, { recursive: true })
          // In the service that has made it, and below in a later one.
          const refused = yield* Effect.flip(runtime.provision(sandboxSpec("emptied", { generation: 2 })))
          assert.deepInclude(refused, { _tag: "RuntimeRefused", code: "VOLUME_MISSING" }, String(index))
          assert.notInclude(refused.message, "/")
        })
      )
      yield* on(
        Effect.gen(function* () {
          const runtime = yield* Runtime
          const refused = yield* Effect.flip(runtime.provision(sandboxSpec("emptied", { generation: 3 })))
          assert.deepInclude(refused, { code: "VOLUME_MISSING" })
          assert.notInclude(
            (yield* runtime.inventory).map(({ state }) => state),
            "running"
          )
          // A client that deletes it may make another of that name.
          yield* runtime.destroy("emptied")
          yield* runtime.provision(sandboxSpec("emptied"))
          yield* runtime.destroy("emptied")
        })
      )
    }
  })
