/** Programs inside a Sandbox see the Sandbox's limits, not the host's. */
import { existsSync } from "node:fs"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { commandSpec, eventually, freshKey, run, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2

describe.skipIf(skipped(unusable) || !isRoot)("limits that programs can see", () => {
  const host = ManagedRuntime.make(freshDriver({ ATOLL_SANDBOX_PROCESSES: "150" }))
  const spec = { ...sandboxSpec("limited"), memoryBytes: 300 * MiB, vcpus: 1 }
  const guest = Effect.flatMap(
    Effect.promise(() => host.runPromise(Runtime)),
    (it) => it.guest("limited", 1)
  )
  beforeAll(async () => {
    await host.runPromise(Effect.flatMap(Runtime, (it) => it.provision(spec)))
  })
  afterAll(() => host.dispose())

  const says = (argv: readonly [string, ...Array<string>]) =>
    Effect.gen(function* () {
      const { stdout } = yield* run(yield* guest, commandSpec([...argv]))
      return stdout.trim()
    })

  it.live("Node sizes its heap by the Sandbox's memory", () =>
    Effect.gen(function* () {
      const program =
        "const v8 = require('node:v8'); console.log(JSON.stringify([process.constrainedMemory(), v8.getHeapStatistics().heap_size_limit]))"
      const [memory, heap] = JSON.parse(yield* says(["/opt/atoll/node", "-e", program])) as Array<number>
      assert.strictEqual(memory, 300 * MiB)
      assert.isBelow(heap!, 300 * MiB)
    })
  )

  it.live("nproc and other counters of processors show the Sandbox's processors", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* says(["nproc"]), "1")
      const { stdout } = yield* run(yield* guest, shell("echo $GOMAXPROCS $PYTHON_CPU_COUNT"))
      assert.strictEqual(stdout.trim(), "1 1")
    })
  )

  it.live.skipIf(!existsSync("/usr/bin/java"))(
    "the JVM sizes its heap by the Sandbox's memory, and chooses its collector for its one processor",
    () =>
      Effect.gen(function* () {
        const flags = yield* says(["java", "-XX:+PrintFlagsFinal", "-version"])
        const heap = Number(/ MaxHeapSize += (\d+)/.exec(flags)?.[1])
        assert.isAbove(heap, 0)
        assert.isBelow(heap, 300 * MiB)
        assert.match(flags, /UseSerialGC += true/)
      })
  )

  it.live("the shown cgroups are the Sandbox's own and cannot be changed", () =>
    Effect.gen(function* () {
      const { stdout } = yield* run(
        yield* guest,
        shell(
          "for f in $(find /sys/fs/cgroup -name '*.limit_in_bytes' -o -name memory.max -o -name cgroup.procs -o -name tasks); do echo 1 > $f && echo changed $f; done 2>/dev/null; mkdir /sys/fs/cgroup/*/x 2>/dev/null; find /sys/fs/cgroup -type d -name 'atoll*' -o -name x"
        )
      )
      assert.strictEqual(stdout.trim(), "")
    })
  )

  it.live("a Sandbox that commands left full of processes can be listed, and each process can be ended", () =>
    Effect.gen(function* () {
      const { processes } = yield* guest
      const full =
        "import os,time\ntry:\n while True:\n  if os.fork()==0: time.sleep(7351); os._exit(0)\nexcept OSError: os._exit(3)"
      const key = freshKey()
      const { exitCode } = yield* processes.execute(key, commandSpec(["python3", "-c", full]))
      assert.strictEqual(exitCode, 3)
      // One slot is free, and a shell needs two.
      const forks = commandSpec(["sh", "-c", "sleep 0 & wait $!"])
      assert.notStrictEqual((yield* processes.execute(freshKey(), forks)).exitCode, 0)
      const left = (yield* processes.every).processes
      assert.isAbove(left.length, 100)
      assert.deepStrictEqual([...new Set(left.map(({ command }) => command))], [key])
      yield* Effect.forEach(left, (one) => processes.endOne(one, { graceMs: 0 }))
      yield* eventually(Effect.map(processes.every, (now) => now.processes.length === 0))
      assert.strictEqual((yield* processes.execute(freshKey(), forks)).exitCode, 0)
    })
  )

  it.live("a command that the kernel killed for lack of memory is distinguished from one that a signal killed", () =>
    Effect.gen(function* () {
      const hog = shell("exec python3 -c 'b=[]\nwhile True: b.append(bytearray(1<<24))'")
      const { exited } = yield* run(yield* guest, hog)
      assert.deepInclude(exited, { exitCode: null, signal: "SIGKILL", outOfMemory: true })
      // Through a shell that reports it.
      const child = yield* run(
        yield* guest,
        shell("python3 -c 'b=[]\nwhile True: b.append(bytearray(1<<24))'; exit $?")
      )
      assert.deepInclude(child.exited, { exitCode: 137, outOfMemory: true })
      const killed = yield* run(yield* guest, shell("kill -9 $$"))
      assert.deepInclude(killed.exited, { exitCode: null, signal: "SIGKILL", outOfMemory: false })
    })
  )
})
