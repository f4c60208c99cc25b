/** The contract of a driver about snapshots, for any driver whose guests run real commands. */
import { Readable } from "node:stream"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, type Layer } from "effect"
import { type ImagePiece, Runtime, type SandboxSpec } from "../../../../src/runtime/Runtime.ts"
import { eventually, output } from "./commands.ts"
import { sandboxSpec } from "./sandboxSpec.ts"

const MiB = 1024 ** 2

/** `runtime` is a new one for each test, on a host without Sandboxes and snapshots. `hostId`: where its snapshots are, as it says. */
export const snapshotContract = (
  name: string,
  runtime: Layer.Layer<Runtime, unknown>,
  { timeout = 240_000, hostId = null }: { readonly timeout?: number; readonly hostId?: string | null } = {}
): void => {
  const test = (title: string, body: Effect.Effect<unknown, unknown, Runtime>) =>
    it.live(title, () => Effect.provide(body, runtime), timeout)

  /** Boots a Sandbox and gives its guest. */
  const booted = (sandboxId: string, changes: Partial<SandboxSpec> = {}) =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      const spec = sandboxSpec(sandboxId, changes)
      yield* driver.provision(spec)
      return yield* driver.guest(sandboxId, spec.generation)
    })

  describe(`snapshots: ${name}`, () => {
    test(
      "a Sandbox from a snapshot has the files of that instant as its own; source and copy then go separate ways",
      Effect.gen(function* () {
        const driver = yield* Runtime
        const source = yield* booted("source")
        yield* output(
          source,
          "mkdir -p a/b; echo then > a/b/file; chmod 600 a/b/file; ln -s a/b/file link; echo x > /tmp/old"
        )
        const captured = yield* driver.snapshots.capture("snap", "source")
        expect(captured).toMatchObject({ hostId, sizeBytes: 64 * MiB })
        yield* output(source, "echo now > a/b/file; echo more > later")
        const child = yield* booted("child", { snapshotId: "snap" })
        expect(yield* output(child, "cat link; ls; ls /tmp")).toBe("then\na\nlink")
        // Every file belongs to the Sandbox's user, who may do with it what it likes.
        expect(yield* output(child, "find . ! -user $(id -u) | wc -l")).toBe("0")
        yield* output(
          child,
          "echo own > a/b/file; chmod 644 a/b/file; mv a c; rm link; echo new > made; touch /tmp/new"
        )
        expect(yield* output(child, "cat c/b/file made; stat -c %u made | grep -qx $(id -u)")).toBe("own\nnew")
        expect(yield* output(source, "cat a/b/file later; ls")).toBe("now\nmore\na\nlater\nlink")
        // The volume stays the child's over its generations.
        yield* driver.stop("child", 1)
        const again = yield* booted("child", { snapshotId: "snap", generation: 2 })
        expect(yield* output(again, "cat c/b/file; echo again > c/b/file; cat c/b/file")).toBe("own\nagain")
        expect(yield* driver.snapshots.inventory).toEqual(["snap"])
        yield* driver.snapshots.remove("snap", null)
      })
    )

    test(
      "a snapshot of a running Sandbox has what was written before, and its writer goes on without a fault",
      Effect.gen(function* () {
        const driver = yield* Runtime
        const source = yield* booted("busy")
        const write = "set -e; i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i >> log; done; echo whole"
        const writer = yield* Effect.forkChild(output(source, write))
        yield* eventually(
          Effect.map(output(source, "wc -l < log 2>/dev/null || echo 0"), (lines) => Number(lines) > 100)
        )
        const before = Number(yield* output(source, "echo mark > mark; wc -l < log"))
        const { pausedMs } = yield* driver.snapshots.capture("snap", "busy")
        expect(pausedMs).toBeGreaterThan(0)
        const after = Number(yield* output(source, "wc -l < log"))
        yield* eventually(Effect.map(output(source, "wc -l < log"), (lines) => Number(lines) > after))
        yield* output(source, "touch stop")
        expect(yield* Fiber.join(writer)).toBe("whole")
        const child = yield* booted("child", { snapshotId: "snap" })
        const [mark, lines, last] = (yield* output(child, "cat mark; wc -l < log; tail -n 1 log")).split("\n")
        expect(mark).toBe("mark")
        expect(Number(lines)).toBeGreaterThanOrEqual(before)
        // No line is lost or torn.
        expect(last).toBe(lines)
      })
    )

    test(
      "a Sandbox that is to have a larger volume than its snapshot has it from its first boot, and one that is rolled back to a larger one from then on",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* output(yield* booted("small"), "echo kept > file")
        yield* driver.snapshots.capture("snap", "small")
        const child = yield* booted("large", { snapshotId: "snap", volumeBytes: 128 * MiB })
        const [kept, kibibytes] = (yield* output(child, "cat file; df -k --output=size . | tail -n 1")).split("\n")
        expect(kept).toBe("kept")
        expect(Number(kibibytes)).toBeGreaterThan(100 * 1024)
        // A rollback to a larger volume makes it larger for good.
        yield* driver.snapshots.capture("of-large", "large")
        yield* driver.stop("small", 1)
        yield* driver.snapshots.restore("of-large", "small", 1)
        for (const generation of [2, 3]) {
          const again = yield* booted("small", { generation })
          expect(yield* output(again, "cat file; df -k --output=size . | tail -n 1")).toBe(`kept\n${kibibytes}`)
          yield* driver.stop("small", generation)
        }
      })
    )

    test(
      "a snapshot of a stopped Sandbox pauses no writer, and outlives its Sandbox",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* output(yield* booted("still"), "echo kept > file")
        yield* driver.stop("still", 1)
        expect((yield* driver.snapshots.capture("snap", "still")).pausedMs).toBe(0)
        yield* driver.destroy("still")
        expect(yield* output(yield* booted("child", { snapshotId: "snap" }), "cat file")).toBe("kept")
      })
    )

    test(
      "snapshots of copies work like any; to remove a snapshot or its source hurts no Sandbox that came from it",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* output(
          yield* booted("first"),
          "echo 1 > file; head -c 3000000 /dev/urandom > bytes; sha256sum bytes > sum"
        )
        yield* driver.snapshots.capture("one", "first")
        const second = yield* booted("second", { snapshotId: "one" })
        yield* output(second, "echo 2 >> file")
        yield* driver.snapshots.remove("one", null)
        yield* driver.destroy("first")
        yield* driver.snapshots.capture("two", "second")
        const third = yield* booted("third", { snapshotId: "two" })
        yield* driver.snapshots.remove("two", null)
        yield* driver.destroy("second")
        expect(
          yield* output(third, "cat file; sha256sum -c sum; echo 3 >> file; rm bytes; find . ! -user $(id -u)")
        ).toBe("1\n2\nbytes: OK")
        yield* driver.stop("third", 1)
        const again = yield* booted("third", { generation: 2, snapshotId: "two" })
        expect(yield* output(again, "cat file")).toBe("1\n2\n3")
        expect(yield* driver.snapshots.inventory).toEqual([])
      })
    )

    test(
      "the same snapshot is taken once, concurrently or later, and several of one Sandbox at the same time are all whole",
      Effect.gen(function* () {
        const driver = yield* Runtime
        const source = yield* booted("source")
        yield* output(source, "echo then > file")
        const [one, same] = yield* Effect.all(
          [driver.snapshots.capture("one", "source"), driver.snapshots.capture("one", "source")],
          { concurrency: "unbounded" }
        )
        expect(same).toEqual(one)
        yield* output(source, "echo now > file")
        expect(yield* driver.snapshots.capture("one", "source")).toEqual(one)
        yield* Effect.all(
          ["two", "three", "four"].map((id) => driver.snapshots.capture(id, "source")),
          { concurrency: "unbounded" }
        )
        expect([...(yield* driver.snapshots.inventory)].toSorted()).toEqual(["four", "one", "three", "two"])
        const files = yield* Effect.forEach(["one", "three"], (snapshotId) =>
          Effect.flatMap(booted(`of-${snapshotId}`, { snapshotId }), (guest) => output(guest, "cat file"))
        )
        expect(files).toEqual(["then", "now"])
      })
    )

    test(
      "a volume is replaced by a snapshot's, once after each generation, and boots with the files of then as its own",
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* output(yield* booted("other"), "echo other > file; chmod 600 file")
        yield* driver.snapshots.capture("of-other", "other")
        const guest = yield* booted("source")
        yield* output(guest, "echo then > file")
        yield* driver.snapshots.capture("then", "source")
        yield* output(guest, "echo now > file; touch later")
        expect(yield* Effect.flip(driver.snapshots.restore("then", "source", 1))).toMatchObject({
          _tag: "RuntimeUnavailable"
        })
        yield* driver.stop("source", 1)
        expect(yield* Effect.flip(driver.snapshots.restore("none", "source", 1))).toMatchObject({
          code: "SNAPSHOT_MISSING"
        })
        expect(yield* Effect.flip(driver.snapshots.restore("then", "never", 1))).toMatchObject({
          code: "VOLUME_MISSING"
        })
        yield* driver.snapshots.restore("then", "source", 1)
        const again = yield* booted("source", { generation: 2, volumeBytes: 96 * MiB })
        expect(yield* output(again, "cat file; ls; echo second > file")).toBe("then\nfile")
        // A late repetition changes nothing.
        yield* driver.snapshots.restore("then", "source", 1)
        yield* driver.stop("source", 2)
        yield* driver.snapshots.restore("then", "source", 1)
        expect(yield* output(yield* booted("source", { generation: 3 }), "cat file")).toBe("second")
        yield* driver.stop("source", 3)
        yield* driver.snapshots.restore("of-other", "source", 3)
        yield* driver.snapshots.remove("of-other", null)
        const third = yield* booted("source", { generation: 4 })
        expect(yield* output(third, "cat file; echo more >> file; cat file; find . ! -user $(id -u) | wc -l")).toBe(
          "other\nother\nmore\n0"
        )
      })
    )

    test(
      "an image takes as much of the disk as was written, and not its size",
      Effect.gen(function* () {
        const driver = yield* Runtime
        const source = yield* booted("sparse", { volumeBytes: 512 * MiB })
        yield* output(source, "head -c 8000000 /dev/urandom > file; sync")
        const captured = yield* driver.snapshots.capture("snap", "sparse")
        expect(captured.sizeBytes).toBe(512 * MiB)
        expect(captured.storedBytes).toBeGreaterThan(8_000_000)
        expect(captured.storedBytes).toBeLessThan(64 * MiB)
        yield* booted("child", { volumeBytes: 512 * MiB, snapshotId: "snap" })
        const { volumeBytes } = yield* driver.sample("child", 1)
        if (volumeBytes !== null) expect(volumeBytes).toBeLessThan(64 * MiB)
      })
    )

    test(
      "an image that leaves the host and comes back makes Sandboxes with the same files; one that is damaged is refused",
      Effect.gen(function* () {
        const driver = yield* Runtime
        const source = yield* booted("source")
        const sum = yield* output(
          source,
          "mkdir a; head -c 3000000 /dev/urandom > a/bytes; ln -s a/bytes link; chmod 640 a/bytes; sha256sum < link"
        )
        yield* driver.snapshots.capture("one", "source")
        const image = yield* driver.snapshots.read("one", null)
        const pieces: Array<ImagePiece> = []
        yield* Effect.promise(async () => {
          for await (const piece of image.pieces) pieces.push(piece)
        })
        const kept = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0)
        expect(kept).toBeGreaterThan(3_000_000)
        expect(kept).toBeLessThan(32 * MiB)
        yield* driver.snapshots.receive("two", { ...image, pieces: Readable.from(pieces) }, driver.kind)
        // Until its snapshot is inserted, no reconciler sees it.
        expect(yield* driver.snapshots.inventory).toEqual(["one"])
        const accepted = yield* driver.snapshots.accept("two", null)
        expect(accepted).toMatchObject({ sizeBytes: 64 * MiB, pausedMs: 0 })
        expect(yield* driver.snapshots.accept("two", null)).toEqual(accepted)
        yield* driver.destroy("source")
        yield* driver.snapshots.remove("one", null)
        const child = yield* booted("child", { snapshotId: "two" })
        expect(yield* output(child, "sha256sum < link; find . ! -user $(id -u); stat -c %a a/bytes")).toBe(
          `${sum}\n640`
        )
        const damaged = pieces.map(({ offset, bytes }) => ({ offset, bytes: bytes.toReversed() }))
        yield* driver.snapshots.receive("bad", { ...image, pieces: Readable.from(damaged) }, driver.kind)
        const refused = yield* Effect.flip(driver.snapshots.accept("bad", null))
        expect(refused).toMatchObject({ _tag: "RuntimeRefused", code: "SNAPSHOT_UNUSABLE" })
        const missing = yield* Effect.flip(driver.provision(sandboxSpec("other", { snapshotId: "bad" })))
        expect(missing).toMatchObject({ code: "SNAPSHOT_MISSING" })
        yield* driver.snapshots.remove("bad", null)
        const broken = Readable.from(
          (async function* () {
            yield pieces[0]!
            throw new Error("broken off")
          })()
        )
        yield* Effect.flip(driver.snapshots.receive("half", { ...image, pieces: broken }, driver.kind))
        expect(yield* Effect.flip(driver.snapshots.accept("half", null))).toMatchObject({ code: "SNAPSHOT_MISSING" })
        expect(yield* driver.snapshots.inventory).toEqual(["two"])
      })
    )

    test(
      "a Sandbox without a volume, or from a snapshot that is not here, is refused and leaves nothing",
      Effect.gen(function* () {
        const driver = yield* Runtime
        const refused = yield* Effect.flip(driver.snapshots.capture("snap", "never"))
        expect(refused).toMatchObject({ _tag: "RuntimeRefused", code: "VOLUME_MISSING" })
        const missing = yield* Effect.flip(driver.provision(sandboxSpec("child", { snapshotId: "snap" })))
        expect(missing).toMatchObject({ _tag: "RuntimeRefused", code: "SNAPSHOT_MISSING" })
        yield* driver.snapshots.remove("snap", null)
        expect(yield* driver.snapshots.inventory).toEqual([])
        expect(yield* driver.inventory).toEqual([])
      })
    )
  })
}
