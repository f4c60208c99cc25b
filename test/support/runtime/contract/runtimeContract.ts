/** The contract of a driver about a Sandbox's life, for any driver whose guests run real commands. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, type Layer, Scope } from "effect"
import { makeAgentGuest } from "../../../../src/runtime/agentClient/AgentGuest.ts"
import { makeAgentSession } from "../../../../src/runtime/agentClient/AgentSession.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { eventually, output, run, shell } from "./commands.ts"
import { sandboxSpec } from "./sandboxSpec.ts"

/** `runtime` is a new one for each test, on a host without Sandboxes. */
export const runtimeContract = (name: string, runtime: Layer.Layer<Runtime, unknown>, timeout = 240_000): void => {
  const test = (title: string, body: Effect.Effect<unknown, unknown, Runtime>) =>
    it.live(title, () => Effect.provide(body, runtime), timeout)

  describe(`life of a Sandbox: ${name}`, () => {
    test(
      "a second provision changes nothing; stop keeps the volume; the next generation finds it; destroy leaves nothing",
      Effect.gen(function* () {
        const driver = yield* Runtime
        const spec = sandboxSpec("life")
        yield* Effect.all([driver.provision(spec), driver.provision(spec)], { concurrency: 2 })
        const first = yield* driver.guest("life", 1)
        yield* output(first, "echo kept > /workspace/file; echo lost > /tmp/file")
        yield* driver.provision(spec)
        expect(yield* output(yield* driver.guest("life", 1), "cat /tmp/file")).toBe("lost")
        expect(yield* driver.inventory).toEqual([{ sandboxId: "life", state: "running", generation: 1 }])

        yield* driver.stop("life", 1)
        yield* driver.stop("life", 1)
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
        yield* driver.stop("turn", 2)
        expect(yield* driver.inventory).toEqual([{ sandboxId: "turn", state: "running", generation: 3 }])
        yield* driver.guest("turn", 3)
        expect(yield* Effect.flip(driver.guest("turn", 1))).toMatchObject({ _tag: "GuestUnavailable" })
        yield* driver.destroy("turn")
      })
    )

    test(
      "a connection goes to the agent of its generation, beside existing ones, and ends with it",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("afar"))
        const near = yield* driver.guest("afar", 1)
        const scope = yield* Effect.scope
        const connect = () => Effect.runPromise(Scope.provide(driver.connect("afar", 1), scope))
        const session = makeAgentSession({ connect })
        const afar = makeAgentGuest(session)
        const pieces = "for i in $(seq 50); do head -c 10000 /dev/zero | tr '\\0' x; done"
        const [here, there, counted] = yield* Effect.all(
          [output(near, "echo near"), output(afar, "echo afar"), output(afar, `${pieces} | wc -c`)],
          { concurrency: "unbounded" }
        )
        expect([here, there, counted]).toEqual(["near", "afar", "500000"])
        const lasting = yield* Effect.forkChild(Effect.exit(run(afar, shell("sleep 600"))))
        yield* eventually(Effect.map(near.processes.list, (all) => all.some(({ running }) => running)))
        yield* driver.stop("afar", 1)
        expect(Exit.isFailure(yield* Fiber.join(lasting))).toBe(true)
        expect(yield* Effect.flip(driver.connect("afar", 1))).toMatchObject({ _tag: "GuestUnavailable" })
        expect(yield* Effect.flip(driver.connect("never", 1))).toMatchObject({ _tag: "GuestUnavailable" })
        session.close()
        yield* driver.destroy("afar")
      }).pipe(Effect.scoped)
    )

    test(
      "stop and destroy of an unknown Sandbox succeed",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.stop("never", 1)
        yield* driver.destroy("never")
        expect(yield* driver.inventory).toEqual([])
      })
    )

    test(
      "a sample counts the used resources",
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
