/** What machines may write on the host's disk, on a small private disk. */
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Queue, type Scope, Stream } from "effect"
import { recipe } from "../../../../src/host/qemu/image/recipe.ts"
import { Runtime, type RuntimeStall } from "../../../../src/runtime/Runtime.ts"
import { fillUp, makeRoom, onceMade } from "../../../support/host/linux/filledDisk.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import { destroyAll, driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { eventually, output, run, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2
const volumeBytes = 64 * MiB

const overlayBytes = (disk: string, sandboxId: string): number =>
  statSync(`${disk}/runtime/qemu/${sandboxId}/root.qcow2`).blocks * 512

const diskIsOurs = process.getuid?.() === 0

describe.skipIf(unusable !== null || !diskIsOurs)("virtual machines on a small disk", () => {
  const testOnDisk = (
    title: string,
    bytes: number,
    body: (disk: string) => Effect.Effect<unknown, unknown, Runtime | Scope.Scope>
  ) =>
    it.live(
      title,
      () =>
        Effect.scoped(
          Effect.flatMap(
            Effect.flatMap(scopedFolder, (folder) => smallDisk(folder, bytes)),
            (disk) =>
              Effect.provide(
                Effect.flatMap(Runtime, (driver) => Effect.ensuring(body(disk), Effect.orDie(destroyAll(driver)))),
                driverOn(disk, { ATOLL_DISK_RESERVE_BYTES: "0" })
              )
          )
        ),
      TIMEOUT_MS
    )

  testOnDisk(
    "an admitted machine has room for all its permitted writes, outside of its volume too; the next one is refused in plain words",
    recipe.rootBytes + volumeBytes + 400 * MiB,
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("first"))
        const refused = yield* Effect.flip(driver.provision(sandboxSpec("second")))
        expect(refused).toMatchObject({ _tag: "RuntimeRefused", code: "HOST_FULL" })
        expect(refused.message).not.toMatch(/ATOLL_|MiB|\d/)
        // A stopped machine keeps only its volume.
        yield* driver.stop("first", 1)
        yield* driver.provision(sandboxSpec("second"))
      })
  )

  testOnDisk("what a guest deletes is the host's again", recipe.rootBytes + volumeBytes + 400 * MiB, (disk) =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec("tidy"))
      const guest = yield* driver.guest("tidy", 1)
      const before = overlayBytes(disk, "tidy")
      yield* output(guest, "head -c 60000000 /dev/urandom > /tmp/big && sync -f /tmp/big")
      expect(overlayBytes(disk, "tidy") - before).toBeGreaterThan(50 * MiB)
      yield* output(guest, "rm /tmp/big && sync -f /tmp")
      yield* eventually(Effect.sync(() => overlayBytes(disk, "tidy") - before < 10 * MiB))
    })
  )

  testOnDisk(
    "a machine whose writes the host cannot take waits, reports the reason, and goes on by itself once there is room",
    recipe.rootBytes + volumeBytes + 400 * MiB,
    (disk) =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        const told = yield* Queue.unbounded<RuntimeStall>()
        yield* Effect.forkScoped(Stream.runForEach(driver.stalls, (stall) => Queue.offer(told, stall)))
        yield* driver.provision(sandboxSpec("writer"))
        const guest = yield* driver.guest("writer", 1)
        // Another program fills the host's disk.
        fillUp(disk)
        const written = yield* Effect.forkScoped(
          run(
            guest,
            shell("head -c 60000000 /dev/urandom > /tmp/big; sync -f /tmp/big; date +%s%3N", { timeoutMs: 90_000 })
          )
        )
        expect(yield* Queue.take(told)).toMatchObject({
          ...{ type: "stalled", sandboxId: "writer", generation: 1 },
          reason: { code: "HOST_FULL", message: expect.stringContaining("goes on by itself") }
        })
        expect(yield* driver.inventory).toMatchObject([{ sandboxId: "writer", state: "running" }])
        expect(yield* Effect.flip(driver.guest("writer", 1))).toMatchObject({
          message: expect.stringContaining("disk")
        })
        // A start changes nothing: it runs as soon as it can.
        yield* driver.provision(sandboxSpec("writer"))
        expect(yield* Effect.flip(driver.suspend("writer", 1))).toMatchObject({ _tag: "RuntimeUnavailable" })

        makeRoom(disk)
        expect(yield* Queue.take(told)).toEqual({ type: "resumed", sandboxId: "writer", generation: 1 })
        // The command never noticed, and the time is right.
        expect(Math.abs(Number((yield* Fiber.join(written)).stdout.trim()) - Date.now())).toBeLessThan(30_000)
        expect(yield* output(yield* driver.guest("writer", 1), "stat -c %s /tmp/big")).toBe("60000000")
      })
  )

  const folderOf = (disk: string) => `${disk}/runtime/qemu/sleeper`

  const runsOn = (pid: string) =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      const guest = yield* driver.guest("sleeper", 1)
      expect(yield* output(guest, `cat /proc/${pid}/comm`)).toBe("sleep")
      expect(Math.abs(Number(yield* output(guest, "date +%s%3N")) - Date.now())).toBeLessThan(20_000)
    })

  const slept = Effect.gen(function* () {
    const driver = yield* Runtime
    yield* driver.provision(sandboxSpec("sleeper"))
    // The saved memory is large, and so is the loss without it.
    const script = "head -c 40000000 /dev/urandom > /dev/shm/much; sleep 100000 > /dev/null 2>&1 & echo $!"
    return yield* output(yield* driver.guest("sleeper", 1), script)
  })

  testOnDisk(
    "a machine whose memory fills the disk, or whose record then has no room, stays awake with its processes, and sleeps once there is room",
    recipe.rootBytes + volumeBytes + 800 * MiB,
    (disk) =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        const pid = yield* slept
        const before = readdirSync(folderOf(disk)).toSorted()
        const isMade = (name: string) => name === "suspended.state"

        const filled = onceMade(folderOf(disk), isMade, () => fillUp(disk))
        expect(yield* Effect.flip(driver.suspend("sleeper", 1))).toMatchObject({ _tag: "RuntimeUnavailable" })
        filled.end()
        makeRoom(disk)
        yield* runsOn(pid)
        expect(readdirSync(folderOf(disk)).toSorted()).toEqual(before)

        // No file can be made there any more, existing ones can be written.
        const sealed = onceMade(folderOf(disk), isMade, () => execFileSync("chattr", ["+i", folderOf(disk)]))
        expect(yield* Effect.flip(driver.suspend("sleeper", 1))).toMatchObject({ _tag: "RuntimeUnavailable" })
        sealed.end()
        execFileSync("chattr", ["-i", folderOf(disk)])
        yield* runsOn(pid)

        yield* driver.suspend("sleeper", 1)
        expect(yield* driver.inventory).toMatchObject([{ state: "suspended" }])
        yield* driver.provision(sandboxSpec("sleeper"))
        yield* runsOn(pid)
        expect(readdirSync(folderOf(disk)).toSorted()).toEqual(before)
      })
  )

  testOnDisk(
    "a machine wakes with its memory on a disk that gets full before, or while, it wakes",
    recipe.rootBytes + volumeBytes + 800 * MiB,
    (disk) =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        const pid = yield* slept
        const before = readdirSync(folderOf(disk)).toSorted()
        yield* driver.suspend("sleeper", 1)
        const asleep = readdirSync(folderOf(disk)).toSorted()

        // Before: it is refused, and sleeps on.
        fillUp(disk)
        expect(yield* Effect.flip(driver.provision(sandboxSpec("sleeper")))).toMatchObject({ code: "HOST_FULL" })
        makeRoom(disk)
        expect(readdirSync(folderOf(disk)).toSorted()).toEqual(asleep)

        // After its admission: nothing is lost, whether it can be recorded or not.
        const begun = onceMade(
          folderOf(disk),
          (name) => name === "run",
          () => fillUp(disk)
        )
        yield* Effect.ignore(driver.provision(sandboxSpec("sleeper")))
        begun.end()
        makeRoom(disk)
        yield* driver.provision(sandboxSpec("sleeper"))
        yield* runsOn(pid)

        // Past the point of no return.
        yield* driver.suspend("sleeper", 1)
        const isWaking = () => readFileSync(`${folderOf(disk)}/record.json`, "utf8").includes('"waking"')
        const waking = onceMade(
          folderOf(disk),
          (name) => name === "record.json" && isWaking(),
          () => fillUp(disk)
        )
        yield* driver.provision(sandboxSpec("sleeper"))
        waking.end()
        makeRoom(disk)
        yield* runsOn(pid)
        expect(readdirSync(folderOf(disk)).toSorted()).toEqual(before)
      })
  )
})
