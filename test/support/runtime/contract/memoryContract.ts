/** The contract of a driver about snapshots with memory. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import { Runtime, type SandboxSpec } from "../../../../src/runtime/Runtime.ts"
import { eventually, output } from "./commands.ts"
import { sandboxSpec } from "./sandboxSpec.ts"

const MiB = 1024 ** 2
const CLOCK_ERROR_MS = 2000

/** Counts in its own memory, and shows the number in a file that is in memory, too. Prints its process id. */
const counter = "(i=0; while :; do i=$((i+1)); echo $i > /dev/shm/n; sleep 0.05; done) > /dev/null 2>&1 & echo $!"
// The file is empty for a moment whenever the next number is written.
const read = 'until n=$(cat /dev/shm/n) && [ -n "$n" ]; do :; done; echo $n'

/** `runtime` is a new one for each test, on a host without Sandboxes and snapshots. */
export const memoryContract = (
  name: string,
  runtime: Layer.Layer<Runtime, unknown>,
  { timeout = 240_000 }: { readonly timeout?: number } = {}
): void => {
  const booted = (sandboxId: string, changes: Partial<SandboxSpec> = {}) =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      const spec = sandboxSpec(sandboxId, changes)
      yield* driver.provision(spec)
      return yield* driver.guest(sandboxId, spec.generation)
    })
  const number = (guest: Guest) => Effect.map(output(guest, read), Number)
  const identity = (guest: Guest) => output(guest, "cat /proc/sys/kernel/random/uuid /etc/machine-id; hostname")

  describe(`snapshots with memory: ${name}`, () => {
    it.live(
      "Sandboxes from one go on with its processes and files of that instant, each under its own identity",
      () =>
        Effect.gen(function* () {
          const driver = yield* Runtime
          const source = yield* booted("source")
          const pid = yield* output(source, counter)
          yield* eventually(Effect.map(number(source), (n) => n > 3))
          yield* output(
            source,
            "head -c 3000000 /dev/urandom > bytes; sha256sum bytes > sum; hostname > /tmp/root-disk"
          )
          const before = yield* number(source)
          const captured = yield* driver.snapshots.capture("snap", "source", true)
          expect(captured).toMatchObject({ sizeBytes: (64 + 256) * MiB })
          expect(captured.storedBytes).toBeLessThan((64 + 256) * MiB)
          yield* output(source, "echo later > later")
          const children = yield* Effect.forEach(["one", "two"], (id) => booted(id, { snapshotId: "snap" }), {
            concurrency: 2
          })
          for (const child of children) {
            const n = yield* number(child)
            expect(n).toBeGreaterThanOrEqual(before)
            yield* eventually(Effect.map(number(child), (next) => next > n))
            expect(yield* output(child, `cat /proc/${pid}/comm; sha256sum -c sum; ls; cat /tmp/root-disk`)).toBe(
              "sh\nbytes: OK\nbytes\nsum\nsource"
            )
            const asked = Date.now()
            const clock = Number(yield* output(child, "date +%s%3N"))
            expect(clock).toBeGreaterThan(asked - CLOCK_ERROR_MS)
            expect(clock).toBeLessThan(Date.now() + CLOCK_ERROR_MS)
          }
          const seen = (yield* Effect.forEach([source, ...children], identity)).flatMap((text) => text.split("\n"))
          expect(new Set(seen).size).toBe(9)
          expect(seen).toEqual(expect.arrayContaining(["source", "one", "two"]))
          const n = yield* number(source)
          yield* eventually(Effect.map(number(source), (next) => next > n))
          // Children need neither the snapshot nor the source. Their later boots are of their volumes.
          yield* driver.snapshots.remove("snap", null)
          yield* driver.destroy("source")
          yield* output(children[0]!, "echo own > own")
          yield* driver.stop("one", 1)
          const stopped = yield* Effect.flip(driver.snapshots.capture("none", "one", true))
          expect(stopped).toMatchObject({ _tag: "RuntimeRefused", code: "MEMORY_LOST" })
          const again = yield* booted("one", { generation: 2, snapshotId: "snap" })
          // A sleeping one has its memory saved already.
          const [, two] = children
          const asleep = yield* number(two!)
          yield* driver.suspend("two", 1)
          expect(yield* driver.snapshots.capture("asleep", "two", true)).toMatchObject({ pausedMs: 0 })
          const three = yield* booted("three", { snapshotId: "asleep" })
          expect(yield* number(three)).toBeGreaterThanOrEqual(asleep)
          expect(yield* output(three, "hostname")).toBe("three")
          expect(yield* output(again, "cat own; sha256sum -c sum; ls /dev/shm; ls /tmp")).toBe("own\nbytes: OK")
        }).pipe(Effect.provide(runtime)),
      timeout
    )

    it.live(
      "a Sandbox that is rolled back to one goes on with its processes and files of then; with other sizes it boots from the volume",
      () =>
        Effect.gen(function* () {
          const driver = yield* Runtime
          const source = yield* booted("source")
          const pid = yield* output(source, counter)
          yield* output(source, "echo then > file; echo then > /tmp/root-disk")
          yield* eventually(Effect.map(number(source), (n) => n > 3))
          yield* driver.snapshots.capture("then", "source", true)
          yield* output(source, `kill ${pid}; rm /dev/shm/n; echo now > file; echo now > /tmp/root-disk`)
          yield* driver.stop("source", 1)
          yield* driver.snapshots.restore("then", "source", 1)
          // The memory is the Sandbox's own from here on.
          yield* driver.snapshots.restore("then", "source", 1)
          const again = yield* booted("source", { generation: 2 })
          const n = yield* number(again)
          yield* eventually(Effect.map(number(again), (next) => next > n))
          expect(yield* output(again, `cat /proc/${pid}/comm file /tmp/root-disk; hostname`)).toBe(
            "sh\nthen\nthen\nsource"
          )
          const clock = Number(yield* output(again, "date +%s%3N"))
          expect(Math.abs(clock - Date.now())).toBeLessThan(CLOCK_ERROR_MS)
          yield* driver.stop("source", 2)
          yield* driver.snapshots.restore("then", "source", 2)
          yield* driver.snapshots.remove("then", null)
          const larger = yield* booted("source", { generation: 3, memoryBytes: 384 * MiB })
          expect(yield* output(larger, "cat file; ls /dev/shm")).toBe("then")
        }).pipe(Effect.provide(runtime)),
      timeout
    )
  })
}
