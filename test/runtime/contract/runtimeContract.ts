/** What a driver promises about a Sandbox's life, for any driver whose guests run real commands. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { output } from "./commands.ts"
import { sandboxSpec } from "./sandboxSpec.ts"

/** `runtime` is built anew for each test, on a host without Sandboxes. */
export const runtimeContract = (name: string, runtime: Layer.Layer<Runtime, unknown>, timeout = 240_000): void => {
  const test = (title: string, body: Effect.Effect<unknown, unknown, Runtime>) =>
    it.live(title, () => Effect.provide(body, runtime), timeout)

  describe(`life of a Sandbox: ${name}`, () => {
    test(
      "provision twice is once; stop keeps the volume; the next generation finds it; destroy leaves nothing",
      Effect.gen(function* () {
        const driver = yield* Runtime
        const spec = sandboxSpec("life")
        yield* Effect.all([driver.provision(spec), driver.provision(spec)], { concurrency: 2 })
        const first = yield* driver.guest("life", 1)
        yield* output(first, "echo kept > /workspace/file; echo lost > /tmp/file")
        yield* driver.provision(spec)
        expect(yield* output(yield* driver.guest("life", 1), "cat /tmp/file")).toBe("lost")
        expect(yield* driver.inventory).toEqual([{ sandboxId: "life", state: "running", generation: 1 }])

        yield* driver.stop("life")
        yield* driver.stop("life")
        expect(yield* driver.inventory).toEqual([{ sandboxId: "life", state: "volume", generation: null }])
        expect(yield* Effect.flip(driver.guest("life", 1))).toMatchObject({ _tag: "GuestUnavailable" })
        expect(yield* Effect.flip(first.processes.list)).toMatchObject({ _tag: "GuestUnavailable" })

        yield* driver.provision({ ...spec, generation: 2 })
        const second = yield* driver.guest("life", 2)
        expect(yield* output(second, "cat /workspace/file; ls /tmp")).toBe("kept")

        yield* driver.destroy("life")
        yield* driver.destroy("life")
        expect(yield* driver.inventory).toEqual([])
      })
    )

    test(
      "a newer generation replaces the older, and a call for the older changes nothing",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("turn"))
        yield* driver.provision(sandboxSpec("turn", { generation: 3 }))
        yield* driver.provision(sandboxSpec("turn", { generation: 2 }))
        expect(yield* driver.inventory).toEqual([{ sandboxId: "turn", state: "running", generation: 3 }])
        yield* driver.guest("turn", 3)
        expect(yield* Effect.flip(driver.guest("turn", 1))).toMatchObject({ _tag: "GuestUnavailable" })
        yield* driver.destroy("turn")
      })
    )

    test(
      "stop and destroy of a Sandbox that never was succeed",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.stop("never")
        yield* driver.destroy("never")
        expect(yield* driver.inventory).toEqual([])
      })
    )

    test(
      "a sample counts what was used",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("meter"))
        const guest = yield* driver.guest("meter", 1)
        const before = yield* driver.sample("meter", 1)
        yield* output(guest, "head -c 8000000 /dev/urandom > /workspace/file; sync")
        const after = yield* driver.sample("meter", 1)
        for (const key of ["cpuSeconds", "volumeBytes"] as const) {
          if (before[key] !== null && after[key] !== null) expect(after[key]).toBeGreaterThan(before[key])
        }
        if (after.volumeBytes !== null) expect(after.volumeBytes).toBeGreaterThanOrEqual(8_000_000)
        yield* driver.destroy("meter")
      })
    )
  })
}
