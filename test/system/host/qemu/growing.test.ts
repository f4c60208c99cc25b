/** A machine whose volume becomes larger while it runs. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2
const larger = 1024 * MiB

describe.skipIf(unusable !== null)("the volume of a virtual machine", () => {
  it.live(
    "grows while it runs, holds more than the machine's largest file before, and stays so over a sleep and a restart",
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("grown"))
        const guest = yield* driver.guest("grown", 1)
        yield* output(guest, "echo kept > file; exec 3>> open; (sleep 1000 <&3 &) > /dev/null")
        const sizes = { vcpus: 1, memoryBytes: 256 * MiB, volumeBytes: larger }
        // Another generation's is left alone.
        yield* driver.resize("grown", 2, sizes)
        const mib = (it: typeof guest) => Effect.map(output(it, "df -m --output=size . | tail -n 1"), Number)
        assert.isBelow(yield* mib(guest), 64)
        yield* driver.resize("grown", 1, sizes)
        yield* driver.resize("grown", 1, sizes)
        const size = yield* mib(guest)
        assert.isAbove(size, 900)
        // Beyond the limit that its process was started with.
        yield* output(
          guest,
          "fallocate -l 700M room; dd if=/dev/urandom of=room bs=1M seek=650 count=8 conv=notrunc; sync; sha256sum room > sum"
        )
        if (driver.capabilities.suspend) {
          yield* driver.suspend("grown", 1)
          yield* driver.provision(sandboxSpec("grown", { volumeBytes: larger }))
          assert.strictEqual(yield* mib(yield* driver.guest("grown", 1)), size)
        }
        yield* driver.stop("grown", 1)
        yield* driver.provision(sandboxSpec("grown", { generation: 2, volumeBytes: larger }))
        const again = yield* driver.guest("grown", 2)
        assert.strictEqual(yield* output(again, "cat file; sha256sum -c sum"), "kept\nroom: OK")
        assert.strictEqual(yield* mib(again), size)
        yield* driver.destroy("grown")
      }).pipe(Effect.provide(freshDriver())),
    4 * TIMEOUT_MS
  )
})
