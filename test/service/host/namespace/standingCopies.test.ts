/** A copy of a volume that is taken while the processes of its Sandbox stand still. */
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { childrenOf } from "../../../../src/host/linux/ProcessIdentity.ts"
import { canCopyStanding, standingCopy } from "../../../../src/host/namespace/standingCopy.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import {
  dataFolder,
  driverOn,
  freshDriver,
  isRoot,
  skipped,
  unusable
} from "../../../support/host/namespace/TestHost.ts"
import { eventually, freshKey, output, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { untilFound } from "../../../support/until.ts"

const FILES = ["first", "second", "third"]
/** Each number is in every file, one after the other, before the writer prints it. Nothing is flushed. Not all are printed: an agent keeps a bounded output. */
const WRITES = `i=0; while [ ! -e stop ]; do i=$((i+1)); for file in ${FILES.join(" ")}; do echo $i >> $file; done; [ $((i%32)) -ne 0 ] || echo $i; done`

const linesOf = (path: string): ReadonlyArray<ReadonlyArray<string>> =>
  readFileSync(path, "latin1")
    .split("\n")
    .map((line) => line.split(" "))

const v2 = linesOf("/proc/self/mounts").find(([, , type]) => type === "cgroup2")?.[1]
const obstacle =
  unusable ??
  (isRoot ? null : "volumes are images only as root") ??
  (canCopyStanding && v2 !== undefined ? null : "this host cannot stop processes of a cgroup")

const booted = Effect.fnUntraced(function* (sandboxId: string, changes: Parameters<typeof sandboxSpec>[1] = {}) {
  const driver = yield* Runtime
  yield* driver.provision(sandboxSpec(sandboxId, changes))
  return yield* driver.guest(sandboxId, 1)
})

const destroyed = (sandboxId: string) =>
  Effect.flatMap(Runtime, (driver) => driver.destroy(sandboxId)).pipe(Effect.orDie)

const scopedFolder = Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
  Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** Where a running Sandbox is on this host. */
const placeOf = (data: string, sandboxId: string) => {
  const state = join(data, "runtime", "namespace", sandboxId)
  const { init } = JSON.parse(readFileSync(join(state, "runtime.json"), "utf8")) as { init: { pid: number } }
  const [ofInit = ""] = readFileSync(`/proc/${init.pid}/cgroup`, "latin1").match(/^0::.*$/m) ?? []
  const own = ofInit.slice("0::".length, ofInit.indexOf(`/${sandboxId}`) + 1)
  const folder = linesOf("/proc/self/mounts").find(([, path]) => path?.endsWith(`/${sandboxId}`))![1]!
  return { folder, image: join(state, "volume.img"), group: join(v2!, own, sandboxId), copy: join(state, "..", "copy") }
}

type Place = ReturnType<typeof placeOf>

const standsStill = (group: string): boolean => readFileSync(join(group, "cgroup.freeze"), "latin1").trim() === "1"

/** The spawner has started it. */
const copierOf = (image: string): number | undefined =>
  childrenOf(process.pid)
    .flatMap((pid) => [pid, ...childrenOf(pid)])
    .find((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").slice(0, -1).includes(image)
      } catch {
        return false
      }
    })

/** Kills the program while the processes stand still. False when it ended before, as `isOver` may say. */
const killsCopier = async ({ image, group }: Place, isOver: () => boolean): Promise<boolean> => {
  const pid = await untilFound(() => copierOf(image) ?? (isOver() ? "over" : null), { everyMs: 1 })
  while (pid !== "over" && existsSync(`/proc/${pid}/exe`)) {
    if (!standsStill(group)) continue
    process.kill(pid, "SIGKILL")
    return true
  }
  return false
}

/** A Sandbox whose writer waits in the kernel for its volume, so that it cannot stand still. */
const withStuckWriter = <A>(use: (place: Place) => Promise<A>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const folder = yield* scopedFolder
      return yield* Effect.gen(function* () {
        const guest = yield* booted("stuck")
        const place = placeOf(folder, "stuck")
        const writer = yield* Effect.forkChild(output(guest, `${WRITES} > /dev/null; echo whole`))
        yield* eventually(Effect.sync(() => existsSync(join(place.folder, "workspace", FILES[2]!))))
        execFileSync("fsfreeze", ["-f", place.folder])
        const used = yield* Effect.promise(() => use(place)).pipe(
          Effect.ensuring(Effect.sync(() => execFileSync("fsfreeze", ["-u", place.folder])))
        )
        expect(standsStill(place.group)).toBe(false)
        expect(existsSync(place.copy)).toBe(false)
        yield* output(guest, "touch stop")
        expect(yield* Fiber.join(writer)).toBe("whole")
        return used
      }).pipe(Effect.ensuring(destroyed("stuck")), Effect.provide(driverOn(folder)))
    })
  )

describe.skipIf(skipped(obstacle))("copies of volumes whose processes stand still", () => {
  it.live(
    "have each record that a client had read, unflushed too, and no later one without an earlier one",
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        const source = yield* booted("source")
        let told = 0
        const tells = source.processes.run(freshKey(), shell(WRITES)).pipe(
          Stream.runForEach((frame) =>
            Effect.sync(() => {
              if (!("bytes" in frame) || frame.stream !== "stdout") return
              // The last line may be incomplete.
              const whole = Buffer.from(frame.bytes).toString().split("\n").slice(1, -1)
              told = Math.max(told, ...whole.map(Number))
            })
          )
        )
        const writer = yield* Effect.forkChild(tells)
        for (let round = 1; round <= 5; round++) {
          const seen = told
          yield* eventually(Effect.sync(() => told > seen + 50))
          const before = told
          const { pausedMs } = yield* driver.snapshots.capture(`snap-${round}`, "source")
          expect(pausedMs).toBeGreaterThan(0)
          const child = yield* booted(`child-${round}`, { snapshotId: `snap-${round}` })
          const counts: Array<number> = []
          for (const file of FILES) {
            const [count, holes] = (yield* output(
              child,
              `wc -l < ${file}; awk '$1 != NR' ${file} | wc -l; tail -c 1 ${file} | wc -l`
            )).split("\n")
            expect(holes).toBe("0")
            counts.push(Number(count))
          }
          const [first, second, third] = counts as [number, number, number]
          expect(third).toBeGreaterThanOrEqual(before)
          expect(second).toBeGreaterThanOrEqual(third)
          expect(first).toBeGreaterThanOrEqual(second)
          expect(first - third).toBeLessThanOrEqual(1)
          yield* driver.destroy(`child-${round}`)
        }
        yield* output(source, "touch stop")
        yield* Fiber.join(writer)
      }).pipe(Effect.provide(freshDriver())),
    120_000
  )

  it.live(
    "a process that does not stand still in time is let go, and there is no copy",
    () =>
      Effect.gen(function* () {
        const copied = yield* withStuckWriter((place) => standingCopy(place, place.group, place.copy))
        expect(copied).toBeNull()
      }),
    60_000
  )

  it.live(
    "the processes run again when the program that stopped them is killed",
    () =>
      Effect.gen(function* () {
        const copied = yield* withStuckWriter(async (place) => {
          for (;;) {
            const copying = standingCopy(place, place.group, place.copy)
            let isOver = false
            void copying.finally(() => {
              isOver = true
            })
            const isKilled = await killsCopier(place, () => isOver)
            const made = await copying
            expect(standsStill(place.group)).toBe(false)
            if (isKilled) return made
          }
        })
        expect(copied).toBeNull()
      }),
    60_000
  )

  it.live(
    "the next service lets processes run that a killed one left standing still",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* scopedFolder
          const { group } = yield* Effect.gen(function* () {
            yield* output(yield* booted("left"), "echo kept > file")
            return placeOf(folder, "left")
          }).pipe(Effect.provide(driverOn(folder)))
          writeFileSync(join(group, "cgroup.freeze"), "1")
          yield* Effect.gen(function* () {
            const driver = yield* Runtime
            expect(yield* output(yield* driver.guest("left", 1), "cat file")).toBe("kept")
          }).pipe(Effect.ensuring(destroyed("left")), Effect.provide(driverOn(folder)))
        })
      ),
    60_000
  )
})
