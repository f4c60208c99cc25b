/** The volume pool over starts, kills, mount namespaces and full disks. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statfsSync,
  statSync,
  writeFileSync
} from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { presentDriver } from "../../../../src/host/HostFolder.ts"
import { isMounted } from "../../../../src/host/linux/mountTable.ts"
import { missingPackages } from "../../../../src/host/linux/programs.ts"
import { poolImageOf, poolObstacle, purgePool } from "../../../../src/host/linux/volumePool.ts"
import { HostLayout } from "../../../../src/host/namespace/HostLayout.ts"
import { volumesIn } from "../../../../src/ops/backup/volumes.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import { dataFolder, driverOn, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { untilSeen } from "../../../support/until.ts"

const MiB = 1024 ** 2
const program = join(import.meta.dirname, "fixtures/poolStart.ts")

const reason =
  unusable ??
  (isRoot ? null : "only root mounts a pool") ??
  (missingPackages({ "mkfs.xfs": "xfsprogs", xfs_io: "xfsprogs" }).length > 0 ? "xfsprogs is not here" : null)

/** With what a killed process leaves. */
const purged = (dataDir: string) =>
  Effect.promise(async () => {
    const { runFolder } = HostLayout.at(dataDir)
    await purgePool(stateOf(dataDir))
    await rm(runFolder, { recursive: true, force: true })
  })

/** An ext4 disk of this size: the file system of the machine may be another one. */
const diskOf = (bytes: number) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
      Effect.promise(() => rm(path, { recursive: true, force: true }))
    )
    const disk = yield* smallDisk(folder, bytes)
    yield* Effect.addFinalizer(() => purged(disk))
    return disk
  })

const stateOf = (dataDir: string) => join(dataDir, "runtime", "namespace")

const loopsOf = (image: string): ReadonlyArray<string> =>
  execFileSync("losetup", ["--noheadings", "--output", "NAME", "--associated", image], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line !== "")

/** Starts that program; what it printed first. */
const started = (dataDir: string, sandboxId: string, ...enter: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const [file, ...args] = [...enter, process.execPath, program, dataDir, sandboxId]
      const child = spawn(file!, args, { stdio: ["ignore", "pipe", "inherit"] })
      const [said] = await Promise.race([once(child.stdout, "data"), once(child, "exit")])
      return { pool: String(said).trim(), child }
    }),
    ({ child }) => killed(child)
  )

const killed = (child: ReturnType<typeof spawn>) =>
  Effect.promise(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
  })

const prepared = (dataDir: string, choice: "auto" | "off" = "auto") =>
  Effect.acquireRelease(
    Effect.promise(() => HostLayout.prepare(dataDir, choice)),
    (layout) => Effect.promise(() => layout.release(() => layout.sandboxIds().length === 0, false))
  )

/** One run of a service over that folder. */
const life = <A, E>(
  dataDir: string,
  body: (driver: Runtime["Service"]) => Effect.Effect<A, E>,
  reserveBytes = 64 * MiB
) =>
  Effect.provide(Effect.flatMap(Runtime, body), driverOn(dataDir, { ATOLL_DISK_RESERVE_BYTES: String(reserveBytes) }))

describe.skipIf(skipped(reason))("the volume pool", () => {
  it.live(
    "is made once where several processes start together, and none goes on without it; the next start finds it",
    () =>
      Effect.gen(function* () {
        const disk = yield* diskOf(2048 * MiB)
        const image = poolImageOf(stateOf(disk))
        const names = ["one", "two", "three", "four"]
        const all = yield* Effect.forEach(names, (name) => started(disk, name), { concurrency: "unbounded" })
        assert.deepStrictEqual(
          all.map(({ pool }) => pool),
          names.map(() => image)
        )
        assert.strictEqual(loopsOf(image).length, 1)
        yield* Effect.forEach(all, ({ child }) => killed(child))
        const layout = yield* prepared(disk)
        assert.strictEqual(layout.pool, image)
        assert.sameMembers([...layout.sandboxIds()], names)
        assert.strictEqual(loopsOf(image).length, 1)
        // The setting is for new data folders.
        assert.strictEqual((yield* prepared(disk, "off")).pool, image)
      }).pipe(Effect.scoped)
  )

  it.live("is the same file system in another mount namespace, also when the process that made it was killed", () =>
    Effect.gen(function* () {
      const disk = yield* diskOf(2048 * MiB)
      const image = poolImageOf(stateOf(disk))
      const apart = yield* started(disk, "one", "unshare", "--mount", "--propagation", "private")
      assert.strictEqual(apart.pool, image)
      assert.isFalse(isMounted(stateOf(disk)))
      const layout = yield* prepared(disk)
      assert.deepStrictEqual(layout.sandboxIds(), ["one"])
      yield* killed(apart.child)
      const later = yield* started(disk, "two")
      assert.strictEqual(later.pool, image)
      assert.sameMembers([...layout.sandboxIds()], ["one", "two"])
      assert.strictEqual(loopsOf(image).length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("gives copies of volumes without copying them, and gives back what a Sandbox and a deletion free", () =>
    Effect.gen(function* () {
      const disk = yield* diskOf(2048 * MiB)
      const image = poolImageOf(stateOf(disk))
      const blocksOf = (path: string) => 512 * statSync(path).blocks
      yield* life(disk, (driver) =>
        Effect.gen(function* () {
          yield* driver.provision(sandboxSpec("one", { volumeBytes: 256 * MiB }))
          const guest = yield* driver.guest("one", 1)
          const volume = join(stateOf(disk), "one", "volume.img")
          yield* output(guest, "head -c 100M /dev/urandom > /workspace/big; sync")
          yield* Effect.promise(() =>
            untilSeen(
              () => blocksOf(image),
              (bytes) => bytes > 160 * MiB
            )
          )
          const before = blocksOf(image)
          copyFileSync(volume, join(stateOf(disk), "copy.img"), constants.COPYFILE_FICLONE_FORCE)
          execFileSync("sync", ["--file-system", stateOf(disk)])
          assert.isAbove(blocksOf(join(stateOf(disk), "copy.img")), 100 * MiB)
          assert.isBelow(blocksOf(image), before + 8 * MiB)
          yield* Effect.promise(() => rm(join(stateOf(disk), "copy.img")))
          yield* output(guest, "rm /workspace/big; sync")
          const freed = () => {
            execFileSync("sync", ["--file-system", stateOf(disk)])
            return blocksOf(image)
          }
          yield* Effect.promise(() => untilSeen(freed, (bytes) => bytes < before - 90 * MiB))
          yield* driver.destroy("one")
        })
      )
      assert.isFalse(existsSync(image))
      assert.isFalse(isMounted(stateOf(disk)))
    }).pipe(Effect.scoped)
  )

  it.live(
    "admits no volume that the disk below could not hold, and every admitted one can be filled",
    () =>
      Effect.gen(function* () {
        const disk = yield* diskOf(1400 * MiB)
        // Others fill the disk as well: the pool itself has more room than it may take.
        execFileSync("fallocate", ["--length", String(250 * MiB), join(disk, "database")])
        const reserveBytes = 100 * MiB
        const spec = (sandboxId: string) => sandboxSpec(sandboxId, { volumeBytes: 192 * MiB })
        const free = () => {
          const { bavail, bsize } = statfsSync(disk)
          return bavail * bsize
        }
        yield* life(
          disk,
          (driver) =>
            Effect.gen(function* () {
              assert.isTrue(isMounted(stateOf(disk)))
              const admitted: Array<string> = []
              for (let refused = false; !refused; ) {
                const id = `box${admitted.length}`
                refused = yield* driver.provision(spec(id)).pipe(
                  Effect.as(false),
                  Effect.catchTag("RuntimeRefused", ({ code }) => Effect.succeed(code === "HOST_FULL"))
                )
                if (!refused) admitted.push(id)
              }
              assert.isAtLeast(admitted.length, 3)
              const forEach = (script: string) =>
                Effect.forEach(admitted, (id) => Effect.flatMap(driver.guest(id, 1), (guest) => output(guest, script)))
              yield* forEach("yes full > /workspace/all 2>/dev/null; sync")
              execFileSync("sync", ["--file-system", stateOf(disk)])
              assert.isAtLeast(free(), reserveBytes - 16 * MiB)
              // From the images, not from the memory of the Sandboxes' own mounts.
              yield* Effect.forEach(admitted, (id) => driver.stop(id, 1))
              yield* Effect.forEach(admitted, (id) => driver.provision({ ...spec(id), generation: 2 }))
              for (const id of admitted) {
                const guest = yield* driver.guest(id, 2)
                const bytes = yield* output(
                  guest,
                  'bytes=$(stat --format %s /workspace/all); yes full | head -c "$bytes" | cmp - /workspace/all; echo "$bytes"'
                )
                assert.isAbove(Number(bytes), 150 * MiB)
              }
              // Its room is another's as soon as it is deleted.
              yield* driver.destroy("box0")
              yield* driver.provision(spec("again"))
              for (const id of [...admitted.slice(1), "again"]) yield* driver.destroy(id)
            }),
          reserveBytes
        )
        assert.isFalse(existsSync(poolImageOf(stateOf(disk))))
      }).pipe(Effect.scoped),
    180_000
  )

  it.live("keeps its Sandboxes over a restart of the host, for the driver and for a backup", () =>
    Effect.gen(function* () {
      const disk = yield* diskOf(2048 * MiB)
      const image = poolImageOf(stateOf(disk))
      yield* life(disk, (driver) =>
        Effect.gen(function* () {
          yield* driver.provision(sandboxSpec("one"))
          yield* output(yield* driver.guest("one", 1), "echo kept > /workspace/note")
          yield* driver.stop("one", 1)
        })
      )
      assert.isTrue(isMounted(stateOf(disk)))
      const restart = () => execFileSync("umount", [stateOf(disk)])
      restart()
      assert.strictEqual(presentDriver(disk), "namespace")
      const volumes = yield* Effect.promise(() => volumesIn(disk, new Set(["one"])))
      assert.deepStrictEqual(
        volumes.map(({ about }) => about.sandboxId),
        ["one"]
      )
      restart()
      yield* life(disk, (driver) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(
            (yield* driver.inventory).map(({ sandboxId }) => sandboxId),
            ["one"]
          )
          yield* driver.provision(sandboxSpec("one", { generation: 2 }))
          assert.strictEqual(yield* output(yield* driver.guest("one", 2), "cat /workspace/note"), "kept")
          yield* driver.destroy("one")
        })
      )
      assert.isFalse(existsSync(image))
    }).pipe(Effect.scoped)
  )

  it.live("is made, or not, by the start after a process that was killed at any step of making it", () =>
    Effect.gen(function* () {
      const disk = yield* diskOf(2048 * MiB)
      const state = stateOf(disk)
      const image = poolImageOf(state)
      const partial = `${image}.partial`
      const begun = () => {
        mkdirSync(state, { recursive: true })
        writeFileSync(partial, "")
      }
      const closedToOthers = () => {
        begun()
        execFileSync("truncate", ["--size", "1G", partial])
        execFileSync("mkfs.xfs", ["-q", "-f", partial])
        mkdirSync(join(state, ".users"))
      }
      const mounted = () => {
        closedToOthers()
        execFileSync("mount", ["-t", "xfs", "-o", "loop", partial, state])
      }
      const poolFrom = (step: () => void, choice: "auto" | "off") =>
        Effect.sync(step).pipe(
          Effect.andThen(Effect.scoped(Effect.map(prepared(disk, choice), ({ pool }) => pool))),
          Effect.ensuring(Effect.promise(() => purgePool(state)))
        )
      for (const step of [begun, closedToOthers, mounted])
        assert.deepStrictEqual([yield* poolFrom(step, "auto"), existsSync(partial)], [image, false], step.name)
      for (const step of [begun, closedToOthers]) {
        assert.isNull(yield* poolFrom(step, "off"), step.name)
        yield* Effect.promise(() => rm(state, { recursive: true }))
      }
      // It may have been in use already.
      assert.strictEqual(yield* poolFrom(mounted, "off"), image)
    }).pipe(Effect.scoped)
  )

  it.live("grows with its disk, and is not mounted beside a copy of it", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
        Effect.promise(() => rm(path, { recursive: true, force: true }))
      )
      const disk = yield* smallDisk(folder, 1100 * MiB)
      const state = stateOf(disk)
      yield* Effect.addFinalizer(() => purged(disk))
      const first = yield* started(disk, "one")
      yield* killed(first.child)
      const size = () => {
        const { blocks, bsize } = statfsSync(state)
        return blocks * bsize
      }
      const before = size()
      execFileSync("umount", [state])
      execFileSync("umount", [disk])
      const file = join(folder, "disk")
      execFileSync("truncate", ["--size", "+400M", file])
      execFileSync("e2fsck", ["-fy", file], { stdio: "ignore" })
      execFileSync("resize2fs", [file], { stdio: "ignore" })
      execFileSync("mount", ["-o", "loop", file, disk])
      const layout = yield* prepared(disk)
      assert.deepStrictEqual(layout.sandboxIds(), ["one"])
      assert.isAbove(size(), before + 300 * MiB)

      const copy = join(disk, "copy")
      mkdirSync(stateOf(copy), { recursive: true })
      execFileSync("cp", ["--sparse=always", poolImageOf(state), poolImageOf(stateOf(copy))])
      const refused = yield* Effect.promise(() => HostLayout.prepare(copy, "auto").catch((cause: unknown) => cause))
      assert.match(String(refused), /The volume pool .* cannot be mounted/)
    }).pipe(Effect.scoped)
  )

  it.live("is mounted again after its file system shut down for a fault of the disk", () =>
    Effect.gen(function* () {
      const disk = yield* diskOf(2048 * MiB)
      const first = yield* started(disk, "one")
      yield* killed(first.child)
      execFileSync("sync", ["--file-system", stateOf(disk)])
      execFileSync("xfs_io", ["-x", "-c", "shutdown", stateOf(disk)])
      assert.throws(() => readdirSync(stateOf(disk)), /EIO/)
      const layout = yield* prepared(disk)
      assert.deepStrictEqual(layout.sandboxIds(), ["one"])
    }).pipe(Effect.scoped)
  )

  it.live(
    "is not made where the setting says so, or where Sandboxes are already; and its absence leaves an earlier Atoll no way in",
    () =>
      Effect.gen(function* () {
        const disk = yield* diskOf(2048 * MiB)
        const state = stateOf(disk)
        assert.isNull(yield* Effect.promise(() => poolObstacle(state, "auto")))
        yield* Effect.scoped(
          Effect.gen(function* () {
            assert.isNull((yield* prepared(disk, "off")).pool)
            // It is in use as it is.
            assert.isNull((yield* prepared(disk)).pool)
          })
        )
        mkdirSync(join(state, "one"))
        mkdirSync(join(state, "one", "volume"))
        assert.include((yield* Effect.promise(() => poolObstacle(state, "auto")))?.why, "had Sandboxes")
        yield* Effect.scoped(Effect.map(prepared(disk), ({ pool }) => assert.isNull(pool)))
        yield* Effect.promise(() => rm(join(state, "one"), { recursive: true }))
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { pool } = yield* prepared(disk)
            assert.strictEqual(pool, poolImageOf(state))
            mkdirSync(join(state, "two"))
          })
        )
        execFileSync("umount", [state])
        assert.isTrue(statSync(join(state, ".users")).isDirectory())
        yield* Effect.promise(() => purgePool(state))
        assert.deepStrictEqual(readdirSync(state), [])
      }).pipe(Effect.scoped)
  )
})
