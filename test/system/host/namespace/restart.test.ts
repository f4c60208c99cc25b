/** The driver across its own deaths and those of its Sandboxes. */
import { execFileSync, spawn } from "node:child_process"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Option, Stream } from "effect"
import { detectCgroups } from "../../../../src/host/linux/cgroups.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import {
  dataFolder,
  driverOn,
  freshDriver,
  isRoot,
  networkUnusable,
  skipped,
  unusable
} from "../../../support/host/namespace/TestHost.ts"
import { instanceOf, lastingTracesOf, processesOf } from "../../../support/host/namespace/traces.ts"
import { commandSpec, eventually, gather, output, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const recordOf = (dataDir: string, sandboxId: string): string =>
  join(dataDir, "runtime", "namespace", sandboxId, "runtime.json")

const initOf = (dataDir: string, sandboxId: string): number =>
  JSON.parse(readFileSync(recordOf(dataDir, sandboxId), "utf8")).init.pid

/** As if its processes had been recorded before the host's last start. */
const writtenInBoot = (dataDir: string, sandboxId: string, bootId: string): void => {
  const path = recordOf(dataDir, sandboxId)
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(/"bootId":\s*"[^"]*"/g, `"bootId":"${bootId}"`))
}

/** As if the service had been killed during that boot: the record that follows a boot is missing. */
const writtenAsBegun = (dataDir: string, sandboxId: string): void => {
  const path = recordOf(dataDir, sandboxId)
  const { network: _, ...begun } = JSON.parse(readFileSync(path, "utf8"))
  writeFileSync(path, JSON.stringify({ ...begun, init: null, agent: null }))
}

/** The cgroups that bound a process's use of processors, memory and pids. */
const boundsOf = (pid: number): ReadonlyArray<string> =>
  readFileSync(`/proc/${pid}/cgroup`, "utf8")
    .split("\n")
    .filter((line) => /:(cpu|memory|pids|cpu,cpuacct):/.test(line))

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim()
  } catch {
    return ""
  }
}

const folder = Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
  Effect.gen(function* () {
    yield* Effect.provide(
      Effect.gen(function* () {
        const driver = yield* Runtime
        for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
      }),
      driverOn(path)
    )
    const left = yield* Effect.promise(() => lastingTracesOf(path))
    yield* Effect.promise(() => rm(path, { recursive: true, force: true }))
    expect(left).toEqual([])
  }).pipe(Effect.orDie)
)

/** One run of a service over that folder. */
const life = <A, E>(path: string, body: (driver: Runtime["Service"]) => Effect.Effect<A, E>) =>
  Effect.provide(Effect.flatMap(Runtime, body), driverOn(path))

describe.skipIf(skipped(unusable))("namespace driver over restarts", () => {
  it.live("the next service finds a running Sandbox, its commands and their output", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* life(path, (driver) =>
        Effect.gen(function* () {
          yield* driver.provision(sandboxSpec("kept"))
          const guest = yield* driver.guest("kept", 1)
          yield* guest.processes.start("job", shell("echo one; sleep 0.5; echo two"))
          yield* Stream.runHead(guest.processes.attach("job", { stdoutOffset: 0, stderrOffset: 0 }))
        })
      )
      yield* life(path, (driver) =>
        Effect.gen(function* () {
          expect(yield* driver.inventory).toEqual([{ sandboxId: "kept", state: "running", generation: 1 }])
          const guest = yield* driver.guest("kept", 1)
          const ended = yield* gather(guest.processes.attach("job", { stdoutOffset: 4, stderrOffset: 0 }))
          expect(ended.stdout).toBe("two\n")
          yield* driver.provision(sandboxSpec("kept"))
          expect(yield* guest.processes.list).toEqual([{ key: "job", running: false }])
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live("a Sandbox that another process restarted is reached immediately", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* life(path, (one) =>
        life(path, (other) =>
          Effect.gen(function* () {
            yield* one.provision(sandboxSpec("again"))
            expect(yield* output(yield* other.guest("again", 1), "echo first")).toBe("first")
            yield* one.stop("again", 1)
            yield* one.provision(sandboxSpec("again", { generation: 2 }))
            expect(yield* output(yield* other.guest("again", 2), "echo second")).toBe("second")
            expect(yield* Effect.flip(other.guest("again", 1))).toMatchObject({ _tag: "GuestUnavailable" })
          })
        )
      )
    }).pipe(Effect.scoped)
  )

  it.live("a Sandbox that is killed gives one down event, soon, and its volume can be booted again", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* life(path, (driver) =>
        Effect.gen(function* () {
          yield* driver.provision(sandboxSpec("shot"))
          yield* output(yield* driver.guest("shot", 1), "echo kept > file; sync")
          const first = yield* Effect.forkChild(Stream.runHead(driver.downs))
          yield* Effect.sleep(50)
          const began = Date.now()
          process.kill(initOf(path, "shot"), "SIGKILL")
          expect(Option.getOrThrow(yield* Fiber.join(first))).toMatchObject({
            type: "down",
            sandboxId: "shot",
            generation: 1,
            reason: { code: "CRASHED" }
          })
          expect(Date.now() - began).toBeLessThan(60_000)
          expect(yield* Effect.flip(driver.guest("shot", 1))).toMatchObject({ _tag: "GuestUnavailable" })
          expect(yield* driver.inventory).toEqual([{ sandboxId: "shot", state: "volume", generation: null }])
          yield* driver.provision(sandboxSpec("shot", { generation: 2 }))
          expect(yield* output(yield* driver.guest("shot", 2), "cat file")).toBe("kept")
          const more = yield* Stream.runCollect(driver.downs.pipe(Stream.interruptWhen(Effect.sleep(700))))
          expect([...more]).toEqual([])
        })
      )
    }).pipe(Effect.scoped)
  )

  const absently = [
    {
      how: "ended while no service ran",
      message: "The Sandbox ended while the service was not running.",
      bootId: null
    },
    {
      how: "ended with its host",
      message: "The Sandbox ended with its host, which was restarted.",
      bootId: "11111111-2222-3333-4444-555555555555"
    }
  ]
  it.live.each(absently)("a Sandbox that $how is found dead at the first check", ({ message, bootId }) =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* life(path, (driver) => driver.provision(sandboxSpec("lost")))
      process.kill(initOf(path, "lost"), "SIGKILL")
      yield* eventually(Effect.sync(() => processesOf(instanceOf(path)).length === 0))
      if (bootId !== null) writtenInBoot(path, "lost", bootId)
      yield* life(path, (driver) =>
        Effect.gen(function* () {
          expect(Option.getOrThrow(yield* Stream.runHead(driver.downs))).toMatchObject({
            sandboxId: "lost",
            generation: 1,
            reason: { code: "CRASHED", message }
          })
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live("a Sandbox that kills its own agent goes down", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* life(path, (driver) =>
        Effect.gen(function* () {
          yield* driver.provision(sandboxSpec("suicide"))
          const guest = yield* driver.guest("suicide", 1)
          const cut = yield* Effect.flip(gather(guest.processes.run("k", shell("kill -KILL 2; sleep 60"))))
          expect(cut).toMatchObject({ _tag: "GuestUnavailable" })
          expect(Option.getOrThrow(yield* Stream.runHead(driver.downs))).toMatchObject({ sandboxId: "suicide" })
          yield* eventually(Effect.sync(() => processesOf(instanceOf(path)).length === 0))
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live("processes whose folder is gone are in the inventory, and destroy ends them", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* life(path, (driver) => driver.provision(sandboxSpec("orphan", { generation: 4 })))
      const state = join(path, "runtime", "namespace", "orphan")
      for (const name of ["runtime.json", "spec.json"]) rmSync(join(state, name))
      yield* life(path, (driver) =>
        Effect.gen(function* () {
          expect(yield* driver.inventory).toMatchObject([{ sandboxId: "orphan" }])
          expect(processesOf(instanceOf(path)).length).toBeGreaterThan(0)
          yield* driver.destroy("orphan")
          expect(processesOf(instanceOf(path))).toEqual([])
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live("a boot that outlives its service is in the inventory as running, and stop ends it", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* life(path, (driver) => driver.provision(sandboxSpec("begun", { generation: 3 })))
      writtenAsBegun(path, "begun")
      yield* life(path, (driver) =>
        Effect.gen(function* () {
          expect(yield* driver.inventory).toEqual([{ sandboxId: "begun", state: "running", generation: 3 }])
          yield* driver.stop("begun", 3)
          expect(yield* driver.inventory).toEqual([{ sandboxId: "begun", state: "volume", generation: null }])
          expect(processesOf(instanceOf(path))).toEqual([])
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live(
    "a service that is killed at any moment leaves nothing that the next one cannot use or remove",
    () =>
      Effect.gen(function* () {
        const path = yield* folder
        const program = fileURLToPath(new URL("provisioner.ts", import.meta.url))
        for (const [round, delayMs] of [30, 60, 90, 120, 160, 200, 260, 320, 400, 500].entries()) {
          yield* Effect.promise(async () => {
            const service = spawn(process.execPath, ["--no-warnings", program, path], {
              stdio: ["ignore", "pipe", "inherit"]
            })
            await new Promise((resolve) => service.stdout.once("data", resolve))
            await new Promise((resolve) => setTimeout(resolve, delayMs))
            const gone = new Promise((resolve) => service.once("exit", resolve))
            service.kill("SIGKILL")
            await gone
          })
          yield* life(path, (driver) =>
            Effect.gen(function* () {
              if (round % 2 === 0) {
                const generation = 1_000 + round
                yield* driver.provision(sandboxSpec("victim", { generation }))
                expect(yield* output(yield* driver.guest("victim", generation), "echo works")).toBe("works")
              }
              yield* driver.destroy("victim")
              expect(yield* driver.inventory).toEqual([])
            })
          )
          expect(yield* Effect.promise(() => lastingTracesOf(path))).toEqual([])
        }
      }).pipe(Effect.scoped),
    120_000
  )

  it.live(
    "twenty Sandboxes boot concurrently",
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        const ids = Array.from({ length: 20 }, (_, index) => `many-${index}`)
        yield* Effect.forEach(ids, (id) => driver.provision(sandboxSpec(id)), { concurrency: "unbounded" })
        const names = yield* Effect.forEach(
          ids,
          (id) => Effect.flatMap(driver.guest(id, 1), (guest) => output(guest, `echo ${id} > name; cat name`)),
          { concurrency: 4 }
        )
        expect(names).toEqual(ids)
        expect((yield* driver.inventory).length).toBe(20)
        yield* Effect.forEach(ids, (id) => driver.destroy(id), { concurrency: 4 })
        expect(yield* driver.inventory).toEqual([])
      }).pipe(Effect.provide(freshDriver())),
    120_000
  )

  it.live.skipIf(!isRoot)("the console has the agent's output, once", () =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec("console"))
      const chunk = Option.getOrThrow(yield* Stream.runHead(driver.console))
      expect(chunk).toMatchObject({ sandboxId: "console", generation: 1, offset: 0 })
      expect(Buffer.from(chunk.bytes).toString()).toContain("atoll agent ready: generation 1")
      const again = yield* Stream.runCollect(driver.console.pipe(Stream.interruptWhen(Effect.sleep(600))))
      expect([...again]).toEqual([])
      yield* driver.destroy("console")
    }).pipe(Effect.provide(freshDriver()))
  )

  it.live.skipIf(networkUnusable !== null)("a Sandbox whose slirp4netns dies soon has a network again", () =>
    Effect.gen(function* () {
      const path = yield* folder
      yield* life(path, (driver) => driver.provision(sandboxSpec("online", { networkEnabled: true })))
      // By another service than the one that booted it.
      yield* life(path, (driver) =>
        Effect.gen(function* () {
          const guest = yield* driver.guest("online", 1)
          const routes = output(guest, "ip -4 route | grep -v ^prohibit || true")
          const before = yield* routes
          expect(before).toContain("default via 10.0.2.2 dev tap0")
          const slirp = processesOf(instanceOf(path)).find((pid) => commandOf(pid) === "slirp4netns")!
          const isBounded = (pid: number) =>
            boundsOf(pid).length > 0 && boundsOf(pid).every((line) => line.endsWith("/online"))
          const mayBound = isRoot && detectCgroups("atoll", false).enforced.cpu
          if (mayBound) expect(isBounded(slirp)).toBe(true)
          process.kill(slirp, "SIGKILL")
          yield* eventually(Effect.map(routes, (it) => !it.includes("tap0")))
          yield* eventually(Effect.map(routes, (it) => it === before))
          yield* eventually(
            Effect.sync(() => processesOf(instanceOf(path)).some((pid) => commandOf(pid) === "slirp4netns"))
          )
          const next = processesOf(instanceOf(path)).find((pid) => commandOf(pid) === "slirp4netns")!
          if (mayBound) yield* eventually(Effect.sync(() => isBounded(next)))
        })
      )
    }).pipe(Effect.scoped)
  )

  it.live.skipIf(networkUnusable !== null || !isRoot)(
    "a network is closed to an address that the host gets later",
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("fenced", { networkEnabled: true }))
        const routes = output(yield* driver.guest("fenced", 1), "ip -4 route")
        // Of an unassigned range (RFC 7526) that is not closed by default.
        const late = "192.88.99.78"
        expect(yield* routes).not.toContain(late)
        yield* Effect.acquireRelease(
          Effect.sync(() => execFileSync("ip", ["address", "add", `${late}/32`, "dev", "lo"])),
          () => Effect.sync(() => execFileSync("ip", ["address", "del", `${late}/32`, "dev", "lo"]))
        )
        yield* eventually(Effect.map(routes, (it) => it.includes(`prohibit ${late}`)))
      }).pipe(Effect.scoped, Effect.provide(freshDriver()))
  )

  it.live("a network that this host cannot give is refused, not omitted", () =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      const granted = driver.capabilities.networkFiltered
      const outcome = yield* Effect.exit(driver.provision(sandboxSpec("net", { networkEnabled: true })))
      expect(outcome._tag).toBe(granted ? "Success" : "Failure")
      if (granted) {
        const guest = yield* driver.guest("net", 1)
        const seen = yield* gather(guest.processes.run("ip", commandSpec(["ip", "-brief", "address"])))
        expect(seen.stdout).toContain("tap0")
      }
      yield* driver.destroy("net")
    }).pipe(Effect.provide(freshDriver()))
  )
})
