/** A Sandbox whose sizes change: its limits while it runs, and its volume's content. */
import { readFileSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { run, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2

/** The kernel grows a mounted file system for who has CAP_SYS_RESOURCE. @source capabilities(7) */
const capabilities = BigInt(`0x${/^CapEff:\s*(\w+)$/m.exec(readFileSync("/proc/self/status", "utf8"))![1]}`)
const growsMounted = ((capabilities >> 24n) & 1n) === 1n

describe.skipIf(skipped(unusable) || !isRoot)("a Sandbox's sizes", () => {
  const host = ManagedRuntime.make(freshDriver())
  const driver = Effect.promise(() => host.runPromise(Runtime))
  const sizes = { vcpus: 0.5, memoryBytes: 256 * MiB, volumeBytes: 64 * MiB }
  const spec = { ...sandboxSpec("sized"), ...sizes }
  beforeAll(async () => {
    await host.runPromise(Effect.flatMap(Runtime, (it) => it.provision(spec)))
  })
  afterAll(() => host.dispose())

  const says = (command: string, generation = 1) =>
    Effect.gen(function* () {
      const { stdout } = yield* run(yield* (yield* driver).guest("sized", generation), shell(command))
      return stdout.trim()
    })
  const memory = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null"
  /** In tenths. */
  const vcpus =
    "cat /sys/fs/cgroup/cpu*/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max 2>/dev/null | head -n 1 | awk '{print $1 / 10000}'"
  const volumeMiB = "df --output=size -BM /workspace | tail -n 1 | tr -d ' M'"

  it.live("are those that were asked for, with tenths of a vCPU", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* says(memory), String(256 * MiB))
      assert.strictEqual(yield* says(vcpus), "5")
      assert.isAtMost(Number(yield* says(volumeMiB)), 64)
    })
  )

  it.live("change while it runs: its memory, its processors and its volume, whose content stays", () =>
    Effect.gen(function* () {
      yield* says("head -c 3000000 /dev/urandom > /workspace/data; sha256sum /workspace/data > /workspace/sum; sync")
      const runtime = yield* driver
      yield* runtime.resize("sized", 1, { vcpus: 1.5, memoryBytes: 384 * MiB, volumeBytes: 256 * MiB })
      assert.strictEqual(yield* says(memory), String(384 * MiB))
      assert.strictEqual(yield* says(vcpus), "15")
      const larger = Number(yield* says(volumeMiB))
      if (growsMounted) assert.isAbove(larger, 128)
      else assert.isAtMost(larger, 64)
      assert.match(yield* says("sha256sum -c /workspace/sum"), /OK$/)
      yield* runtime.resize("sized", 1, { vcpus: 0.2, memoryBytes: 128 * MiB, volumeBytes: 256 * MiB })
      assert.strictEqual(yield* says(memory), String(128 * MiB))
      assert.strictEqual(yield* says(vcpus), "2")
    })
  )

  it.live("do not become less memory than it uses", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        (yield* driver).resize("sized", 1, { vcpus: 1, memoryBytes: MiB, volumeBytes: 256 * MiB })
      )
      assert.match(error.message, /bytes of memory in use/)
      assert.strictEqual(yield* says(memory), String(128 * MiB))
    })
  )

  it.live("of another generation change nothing", () =>
    Effect.gen(function* () {
      yield* (yield* driver).resize("sized", 2, { vcpus: 4, memoryBytes: 512 * MiB, volumeBytes: 512 * MiB })
      assert.strictEqual(yield* says(memory), String(128 * MiB))
    })
  )

  it.live("are new at the next boot, with the volume's content", () =>
    Effect.gen(function* () {
      const runtime = yield* driver
      yield* runtime.stop("sized", 1)
      yield* runtime.provision({ ...spec, generation: 2, vcpus: 0.7, volumeBytes: 400 * MiB })
      assert.strictEqual(yield* says(vcpus, 2), "7")
      assert.isAbove(Number(yield* says(volumeMiB, 2)), 300)
      assert.match(yield* says("sha256sum -c /workspace/sum", 2), /OK$/)
    })
  )

  it.live("asked for again with a boot that is done are applied to it", () =>
    Effect.gen(function* () {
      yield* (yield* driver).provision({ ...spec, generation: 2, vcpus: 0.9, volumeBytes: 400 * MiB })
      assert.strictEqual(yield* says(vcpus, 2), "9")
    })
  )
})
