import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { freshKey, gather, shell } from "../../runtime/contract/commands.ts"
import { processContract } from "../../runtime/contract/processContract.ts"
import { sandboxSpec } from "../../runtime/contract/sandboxSpec.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "./TestMachines.ts"

describe.skipIf(unusable !== null)("commands in a VM", () => {
  const host = ManagedRuntime.make(freshDriver())
  const guest = Effect.flatMap(
    Effect.promise(() => host.runPromise(Runtime)),
    (driver) => driver.guest("commands", 1)
  )
  beforeAll(
    () => host.runPromise(Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("commands")))),
    TIMEOUT_MS
  )
  afterAll(() => host.dispose(), TIMEOUT_MS)
  processContract("qemu", guest, "/workspace", TIMEOUT_MS)

  it.live(
    "death by a real-time signal is told by its distance from the first",
    () =>
      Effect.gen(function* () {
        const { processes } = yield* guest
        const died = shell("kill -40 $$")
        expect(yield* processes.execute(freshKey(), died)).toMatchObject({ exitCode: null, signal: "SIGRTMIN+6" })
        expect((yield* gather(processes.run(freshKey(), died))).exited.signal).toBe("SIGRTMIN+6")
      }),
    TIMEOUT_MS
  )

  it.live(
    "a command that the kernel killed for want of memory is told apart from one that was killed",
    () =>
      Effect.gen(function* () {
        const { processes } = yield* guest
        const hog = shell("exec python3 -c 'b=[]\nwhile True: b.append(bytearray(1<<24))'", { timeoutMs: null })
        expect(yield* processes.execute(freshKey(), hog)).toMatchObject({ signal: "SIGKILL", outOfMemory: true })
        expect(yield* processes.execute(freshKey(), shell("kill -9 $$"))).toMatchObject({ outOfMemory: false })
      }),
    TIMEOUT_MS
  )
})
