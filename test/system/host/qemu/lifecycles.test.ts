/**
 * Whole lives of machines, one after another: everything that a machine takes of its host is released. By default a
 * few; `ATOLL_LIFECYCLES=100` runs as many, and then a leak of one in each is far above the noise.
 */
import { randomBytes } from "node:crypto"
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { instanceOf } from "../../../../src/host/qemu/instanceOf.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { collectGarbage } from "../../../support/collectGarbage.ts"
import { destroyAll, driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { eventually, output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2
const lives = Number(process.env["ATOLL_LIFECYCLES"] ?? 2)
/** Of JavaScript, after a collection: the modules of the first life are loaded before the measurement. */
const HEAP_GROWTH_MAX_BYTES = 16 * MiB

const lines = (path: string, holds: (line: string) => boolean) =>
  readFileSync(path, "latin1").split("\n").filter(holds).length

/** Machines, which work in their Sandbox's folder, and children of this process: each server of a machine is one. */
const processesOf = (folder: string): ReadonlyArray<string> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
        return parent === process.pid || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
      } catch {
        return false
      }
    })

const cgroupsOf = (instance: string): ReadonlyArray<string> =>
  ["", ...readdirSync("/sys/fs/cgroup")]
    .flatMap((controller) => {
      const path = `/sys/fs/cgroup/${controller}/${instance}`
      return existsSync(path) ? readdirSync(path, { withFileTypes: true }).filter((it) => it.isDirectory()) : []
    })
    .map(({ name }) => name)

const ended = Effect.orDie(Effect.flatMap(Runtime, destroyAll))

/** What this process and its driver hold of the host. */
const heldBy = (dataDir: string) => {
  const root = `${dataDir}/runtime/qemu`
  const instance = instanceOf(root)
  return {
    descriptors: readdirSync("/proc/self/fd").length,
    // Of this folder only: other tests mount theirs beside it.
    mounts: lines("/proc/self/mounts", (line) => line.includes(dataDir)),
    sockets: lines("/proc/net/unix", (line) => line.includes(instance)),
    cgroups: cgroupsOf(instance),
    processes: processesOf(dataDir),
    files: readdirSync(dataDir, { recursive: true })
      .map(String)
      .filter((name) => !name.startsWith("vm"))
      .toSorted()
  }
}

describe.skipIf(unusable !== null)("the lives of virtual machines", () => {
  it.live(
    `leave nothing behind on the host or in the service (${lives} of them), also when a wake is stopped or deleted in its middle`,
    () =>
      Effect.gen(function* () {
        const dataDir = yield* scopedFolder
        const life = (at: number) =>
          Effect.gen(function* () {
            const driver = yield* Runtime
            const spec = sandboxSpec(`life${at}`, { networkEnabled: at % 2 === 0 })
            const { sandboxId } = spec
            yield* driver.provision(spec)
            const guest = yield* driver.guest(sandboxId, 1)
            yield* output(guest, "echo written > kept; echo remembered > /dev/shm/mark")
            yield* driver.suspend(sandboxId, 1)
            yield* driver.provision(spec)
            expect(yield* output(yield* driver.guest(sandboxId, 1), "cat /dev/shm/mark kept")).toBe(
              "remembered\nwritten"
            )
            yield* driver.suspend(sandboxId, 1)
            // In the middle of a wake, at another moment of it each time.
            const stopped = yield* Effect.forkChild(Effect.exit(driver.provision(spec)))
            yield* Effect.sleep((at * 137) % 1_500)
            yield* driver.stop(sandboxId, 1)
            yield* Fiber.join(stopped)
            expect(yield* driver.inventory).toContainEqual({ sandboxId, state: "volume", generation: null })

            const again = { ...spec, generation: 2 }
            yield* driver.provision(again)
            expect(yield* output(yield* driver.guest(sandboxId, 2), "cat kept; ls /dev/shm | wc -l")).toBe("written\n0")
            yield* driver.suspend(sandboxId, 2)
            const deleted = yield* Effect.forkChild(Effect.exit(driver.provision(again)))
            yield* Effect.sleep((at * 211) % 1_500)
            yield* driver.destroy(sandboxId)
            yield* Fiber.join(deleted)
            expect((yield* driver.inventory).some((entry) => entry.sandboxId === sandboxId)).toBe(false)
          })
        yield* Effect.gen(function* () {
          // Modules and files that are loaded and made once.
          yield* life(0)
          yield* life(1)
          const before = heldBy(dataDir)
          collectGarbage()
          const heapBefore = process.memoryUsage().heapUsed
          for (let at = 2; at < lives + 2; at++) yield* life(at)
          // Sockets and children are closed by the event loop. A template that was lost meanwhile is made again.
          const isBack = Effect.sync(() => heldBy(dataDir).descriptors <= before.descriptors)
          yield* Effect.ignore(Effect.timeout(eventually(isBack), "2 minutes"))
          expect(heldBy(dataDir)).toEqual(before)
          collectGarbage()
          const grown = process.memoryUsage().heapUsed - heapBefore
          console.log(
            `${lives} lives: the heap grew by ${(grown / MiB).toFixed(2)} MiB, RSS ${(process.memoryUsage().rss / MiB).toFixed(0)} MiB`
          )
          expect(grown).toBeLessThan(HEAP_GROWTH_MAX_BYTES)
        }).pipe(Effect.ensuring(ended), Effect.provide(driverOn(dataDir)))
      }).pipe(Effect.scoped),
    TIMEOUT_MS + lives * 60_000
  )

  it.live(
    "leave none of their bytes to the next one's volume or root disk",
    () =>
      Effect.gen(function* () {
        const dataDir = yield* scopedFolder
        const mark = randomBytes(16).toString("hex")
        yield* Effect.gen(function* () {
          const driver = yield* Runtime
          yield* driver.provision(sandboxSpec("former"))
          // Twenty megabytes on each disk, and in the memory that is saved.
          const fill = (path: string) => `yes ${mark} | head -c 20000000 > ${path}`
          yield* output(
            yield* driver.guest("former", 1),
            ["/workspace/a", "/tmp/b", "/dev/shm/c"].map(fill).concat("sync").join("; ")
          )
          const file = (sandboxId: string, name: string) =>
            Effect.promise(() => readFile(`${dataDir}/runtime/qemu/${sandboxId}/${name}`, "latin1"))
          const disks = ["volume.raw", "root.qcow2"]
          for (const name of disks) expect((yield* file("former", name)).includes(mark)).toBe(true)
          yield* driver.suspend("former", 1)
          yield* driver.destroy("former")
          // It has the first one's user again, and its place on the disk.
          yield* driver.provision(sandboxSpec("latter"))
          for (const name of disks) expect((yield* file("latter", name)).includes(mark)).toBe(false)
          const guest = yield* driver.guest("latter", 1)
          const count = (path: string) =>
            output(guest, `sudo cat ${path} | grep -a -c ${mark.slice(0, 20)}[${mark[20]}] || true`)
          expect(yield* count("/dev/vdb")).toBe("0")
          // Also what is allocated and never written.
          yield* output(guest, "fallocate -l 20000000 new && sync")
          expect(yield* count("new")).toBe("0")
        }).pipe(Effect.ensuring(ended), Effect.provide(driverOn(dataDir)))
      }).pipe(Effect.scoped),
    TIMEOUT_MS
  )
})
