import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Queue, type Scope } from "effect"
import { Settings } from "../../../../src/Config.ts"
import { HostUsers } from "../../../../src/host/linux/HostUsers.ts"
import { identify } from "../../../../src/host/linux/ProcessIdentity.ts"
import { Machines } from "../../../../src/host/qemu/Machines.ts"
import { openQemuHost } from "../../../../src/host/qemu/QemuHost.ts"
import { isOrphan, isSpare, spareName } from "../../../../src/host/qemu/spareNames.ts"
import { Runtime, type RuntimeDown, type RuntimeStall } from "../../../../src/runtime/Runtime.ts"
import {
  destroyAll,
  driverOn,
  scopedFolder,
  settingsOn,
  TIMEOUT_MS,
  unusable
} from "../../../support/host/qemu/TestMachines.ts"
import { eventually, output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2

interface Record {
  readonly process: { readonly pid: number } | null
  readonly networkEnabled: boolean
  readonly uid: number | null
}

const rootOf = (dataDir: string) => `${dataDir}/runtime/qemu`

const recordOf = (dataDir: string, sandboxId: string) =>
  JSON.parse(readFileSync(`${rootOf(dataDir)}/${sandboxId}/record.json`, "utf8")) as Record

const sparesOf = (dataDir: string): ReadonlyArray<Record> =>
  readdirSync(rootOf(dataDir))
    .filter(isSpare)
    .flatMap((name) => {
      try {
        return [recordOf(dataDir, name)]
      } catch {
        // Not written yet, or gone since it was listed.
        return []
      }
    })

/** QEMU of a spare with or without network runs. */
const sparePid = (dataDir: string, network: boolean) =>
  sparesOf(dataDir).find(({ networkEnabled }) => networkEnabled === network)?.process?.pid

describe.skipIf(unusable !== null)("machines started ahead", () => {
  const testOnFolder = (
    title: string,
    more: Readonly<{ [name: string]: string }>,
    body: (folder: string) => Effect.Effect<unknown, unknown, Runtime | Scope.Scope>,
    after: (folder: string) => void = () => {}
  ) =>
    it.live(
      title,
      () =>
        Effect.scoped(
          Effect.flatMap(scopedFolder, (folder) =>
            Effect.provide(
              Effect.flatMap(Runtime, (driver) => Effect.ensuring(body(folder), Effect.orDie(destroyAll(driver)))),
              driverOn(folder, { ATOLL_VM_SPARES: "1", ...more })
            ).pipe(Effect.andThen(Effect.sync(() => after(folder))))
          )
        ),
      TIMEOUT_MS
    )

  testOnFolder(
    "a new Sandbox gets one with its own name, generation, time and an empty volume; unused spares end with the driver",
    {},
    (folder) =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* eventually(Effect.sync(() => sparePid(folder, false) !== undefined))
        const pid = sparePid(folder, false)
        expect(yield* driver.inventory).toEqual([])
        yield* driver.provision(sandboxSpec("first"))
        expect(recordOf(folder, "first").process?.pid).toBe(pid)
        const guest = yield* driver.guest("first", 1)
        const [name, time, entries] = (yield* output(guest, "hostname; date +%s%3N; ls -A | wc -l; touch mine")).split(
          "\n"
        )
        expect([name, entries]).toEqual(["first", "0"])
        expect(Math.abs(Number(time) - Date.now())).toBeLessThan(20_000)
        expect(yield* driver.inventory).toEqual([{ sandboxId: "first", state: "running", generation: 1 }])

        // The next one is another machine, with another user and another volume.
        yield* eventually(Effect.sync(() => sparePid(folder, false) !== undefined))
        yield* driver.provision(sandboxSpec("second"))
        expect(recordOf(folder, "second").process?.pid).not.toBe(pid)
        expect(recordOf(folder, "second").uid === null).toBe(recordOf(folder, "first").uid === null)
        const ids = new Set<string>()
        for (const id of ["first", "second"]) {
          const look = yield* driver.guest(id, 1)
          ids.add(yield* output(look, "cat /etc/machine-id"))
        }
        expect(ids.size).toBe(2)
        expect(yield* output(yield* driver.guest("second", 1), "ls -A | wc -l")).toBe("0")

        // A later boot keeps the files.
        yield* driver.stop("first", 1)
        yield* driver.provision(sandboxSpec("first", { generation: 2 }))
        expect(yield* output(yield* driver.guest("first", 2), "ls")).toBe("mine")
      }),
    (folder) => expect(readdirSync(rootOf(folder)).filter(isSpare)).toEqual([])
  )

  testOnFolder(
    "a spare gives way to a Sandbox that needs its memory, and a full host still refuses",
    { ATOLL_VM_MEMORY_BYTES: String(2 * (256 + 160) * MiB) },
    (folder) =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* eventually(Effect.sync(() => sparesOf(folder).filter(({ process }) => process !== null).length === 2))
        yield* driver.provision(sandboxSpec("one"))
        // The remaining spare is of the other kind, with a network.
        yield* driver.provision(sandboxSpec("two"))
        expect(sparesOf(folder)).toEqual([])
        expect(yield* Effect.flip(driver.provision(sandboxSpec("three")))).toMatchObject({ code: "HOST_FULL" })
      })
  )

  const leave = (folder: string, name: string, pid: number) => {
    mkdirSync(`${rootOf(folder)}/${name}`, { recursive: true })
    writeFileSync(
      `${rootOf(folder)}/${name}/record.json`,
      JSON.stringify({
        ...{ sandboxId: name, uid: null, generation: 0, vcpus: 1, memoryBytes: 256 * MiB, volumeBytes: 64 * MiB },
        ...{ networkEnabled: false, state: "starting", accelerator: "tcg", uuid: "none", network: null },
        process: identify(pid)
      })
    )
  }
  const sleeper = () => {
    const child = spawn("sleep", ["600"], { stdio: "ignore" })
    return { child, pid: child.pid!, ended: once(child, "exit") }
  }

  it.live(
    "of a process that is gone end at the next start; those of a killed process end with it",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* scopedFolder
          const [killed, living] = [sleeper(), sleeper()]
          const machines = { old: sleeper(), orphan: sleeper(), used: sleeper() }
          const [orphan, used] = [killed, living].map(({ pid }) => spareName(identify(pid)!, "0123456789abcdef"))
          leave(folder, "spare-left", machines.old.pid)
          leave(folder, orphan!, machines.orphan.pid)
          leave(folder, used!, machines.used.pid)
          // It is making another one now, and has recorded nothing yet.
          const begun = spareName(identify(living.pid)!, "fedcba9876543210")
          mkdirSync(`${rootOf(folder)}/${begun}`)
          killed.child.kill("SIGKILL")
          yield* Effect.promise(() => killed.ended)
          const settings = yield* Effect.provide(Settings, settingsOn(folder))
          const host = yield* openQemuHost(settings)
          // The killed one had claimed a user for another, which has no folder yet.
          const users = new HostUsers(host.root, host.firstUid === null ? null : { first: host.firstUid, count: 1000 })
          const named = (maker: string) => `${maker.slice(0, -16)}${"a".repeat(16)}`
          for (const maker of [orphan!, used!]) yield* Effect.promise(() => users.take(named(maker)))
          const withUser = () => [...users.registered().keys()]
          const news = {
            downs: yield* Queue.unbounded<RuntimeDown>(),
            stalls: yield* Queue.unbounded<RuntimeStall>()
          }
          const fork = Effect.runForkWith(yield* Effect.context<never>())
          const machinesHere = new Machines(host, settings, news, { fork, run: Effect.runPromise })
          yield* Effect.flatten(machinesHere.settle)
          for (const { ended } of [machines.old, machines.orphan]) {
            expect(yield* Effect.promise(() => ended)).toEqual([null, "SIGKILL"])
          }
          expect(machines.used.child.exitCode).toBeNull()
          expect(machines.used.child.signalCode).toBeNull()
          expect(readdirSync(rootOf(folder)).filter(isSpare).toSorted()).toEqual([used, begun].toSorted())
          expect(yield* machinesHere.inventory).toEqual([])
          expect(withUser()).toEqual(host.firstUid === null ? [] : [named(used!)])

          living.child.kill("SIGKILL")
          yield* Effect.promise(() => living.ended)
          yield* machinesHere.endOrphans
          expect(yield* Effect.promise(() => machines.used.ended)).toEqual([null, "SIGKILL"])
          expect(readdirSync(rootOf(folder)).filter(isSpare)).toEqual([])
          expect(withUser()).toEqual([])
          yield* machinesHere.release
        })
      ),
    TIMEOUT_MS
  )
})

describe("the name of a machine that is started ahead", () => {
  const me = identify(process.pid)!
  it("belongs to a folder, and shows whether its maker lives", () => {
    expect(spareName({ ...me, pid: 4_194_304, startTime: 10 ** 11 }, "0123456789abcdef")).toMatch(/^[a-z0-9-]{1,64}$/)
    expect(isOrphan(spareName(me, "a"))).toBe(false)
    expect(isOrphan(spareName({ ...me, startTime: me.startTime + 1 }, "a"))).toBe(true)
    expect(isOrphan(spareName({ ...me, bootId: "00000000-0000" }, "a"))).toBe(true)
    expect(isOrphan(spareName({ ...me, pid: 4_194_304 }, "a"))).toBe(true)
    expect(isOrphan("spare-6f1c2d3e-0000-4000-8000-000000000000")).toBe(true)
  })
})
