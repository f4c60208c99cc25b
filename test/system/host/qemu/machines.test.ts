import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Option, type Scope, Stream } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import {
  destroyAll,
  driverOn,
  freshDriver,
  imageCache,
  scopedFolder,
  TIMEOUT_MS,
  unusable
} from "../../../support/host/qemu/TestMachines.ts"
import {
  commandSpec,
  eventually,
  freshKey,
  gather,
  output,
  run,
  shell
} from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const recordOf = (dataDir: string, sandboxId: string) => {
  const path = `${dataDir}/runtime/qemu/${sandboxId}/record.json`
  return { path, record: JSON.parse(readFileSync(path, "utf8")) as { process: { pid: number } | null; state: string } }
}

const alive = (pid: number): boolean => existsSync(`/proc/${pid}/exe`)

const openFilesMaxOf = (pid: number): number =>
  Number(/^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1])

const pidOf = (dataDir: string, sandboxId: string): number => recordOf(dataDir, sandboxId).record.process!.pid

describe.skipIf(unusable !== null)("virtual machines", () => {
  const test = (title: string, body: Effect.Effect<unknown, unknown, Runtime>) =>
    it.live(title, () => Effect.provide(body, freshDriver()), TIMEOUT_MS)

  /** For tests that outlive a driver: the body makes its own, over the folder that it is given. */
  const testOnFolder = (title: string, body: (folder: string) => Effect.Effect<unknown, unknown, Scope.Scope>) =>
    it.live(
      title,
      () =>
        Effect.scoped(
          Effect.flatMap(scopedFolder, (folder) =>
            Effect.ensuring(
              body(folder),
              Effect.orDie(Effect.provide(Effect.flatMap(Runtime, destroyAll), driverOn(folder)))
            )
          )
        ),
      TIMEOUT_MS
    )

  test(
    "a machine sleeps on disk and wakes with its processes, its files and the right time",
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec("sleeper"))
      const before = yield* driver.guest("sleeper", 1)
      const key = freshKey()
      yield* before.processes.start(key, shell("echo up; read -r line < fifo; echo $line"))
      yield* output(before, "mkfifo fifo 2>/dev/null; echo kept > file; echo $$ > /tmp/mark")
      yield* driver.suspend("sleeper", 1)
      yield* driver.suspend("sleeper", 1)
      expect(yield* driver.inventory).toEqual([{ sandboxId: "sleeper", state: "suspended", generation: 1 }])
      expect(yield* Effect.flip(driver.guest("sleeper", 1))).toMatchObject({ _tag: "GuestUnavailable" })

      yield* driver.provision(sandboxSpec("sleeper"))
      const after = yield* driver.guest("sleeper", 1)
      expect(yield* output(after, "cat file; test -e /tmp/mark && echo marked")).toBe("kept\nmarked")
      const time = Number(yield* output(after, "date +%s%3N"))
      expect(Math.abs(time - Date.now())).toBeLessThan(20_000)
      expect(yield* after.processes.list).toEqual(expect.arrayContaining([{ key, running: expect.any(Boolean) }]))
      yield* after.processes.kill(key, { graceMs: 0 })
      expect((yield* gather(after.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))).stdout).toContain(
        "up\n"
      )
    })
  )

  testOnFolder("a sleep that fails, and a wake that the host refuses, leave nothing behind", (folder) =>
    Effect.gen(function* () {
      const entries = () => readdirSync(`${folder}/runtime/qemu/tired`).toSorted()
      const uids = () => readdirSync(`${folder}/runtime/qemu`).filter((name) => name.startsWith("."))
      const asleep = Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("tired"))
        const before = [entries(), uids()]
        // A folder where the memory would be written.
        mkdirSync(`${folder}/runtime/qemu/tired/suspended.state/in-the-way`, { recursive: true })
        expect(yield* Effect.flip(driver.suspend("tired", 1))).toMatchObject({ _tag: "RuntimeUnavailable" })
        rmSync(`${folder}/runtime/qemu/tired/suspended.state`, { recursive: true })
        expect([entries(), uids()]).toEqual(before)
        yield* output(yield* driver.guest("tired", 1), "echo $$ > /tmp/mark")
        yield* driver.suspend("tired", 1)
        return entries()
      })
      const slept = yield* Effect.provide(asleep, driverOn(folder))
      // Another service, on a host that has no memory left.
      const refused = Effect.gen(function* () {
        const driver = yield* Runtime
        expect(yield* Effect.flip(driver.provision(sandboxSpec("tired")))).toMatchObject({ code: "HOST_FULL" })
        expect(yield* driver.inventory).toEqual([{ sandboxId: "tired", state: "suspended", generation: 1 }])
        expect(entries()).toEqual(slept)
      })
      yield* Effect.provide(refused, driverOn(folder, { ATOLL_VM_MEMORY_BYTES: "1000000" }))
      const woken = Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("tired"))
        expect(yield* output(yield* driver.guest("tired", 1), "test -e /tmp/mark && echo awake")).toBe("awake")
        expect(entries()).not.toContain("suspended.state")
      })
      yield* Effect.provide(woken, driverOn(folder))
    })
  )

  test(
    "a sleeping machine can be stopped; its written files are kept, and the next generation boots afresh",
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec("dozer"))
      yield* output(yield* driver.guest("dozer", 1), "echo written > file")
      yield* driver.suspend("dozer", 1)
      yield* driver.stop("dozer", 1)
      expect(yield* driver.inventory).toEqual([{ sandboxId: "dozer", state: "volume", generation: null }])
      yield* driver.provision(sandboxSpec("dozer", { generation: 2 }))
      expect(yield* output(yield* driver.guest("dozer", 2), "cat file")).toBe("written")
    })
  )

  test(
    "two clones of a template share neither name nor machine id nor random numbers, and both have the time",
    Effect.gen(function* () {
      const driver = yield* Runtime
      const looks: Array<ReadonlyArray<string>> = []
      for (const sandboxId of ["sbx_one", "sbx_two"]) {
        yield* driver.provision(sandboxSpec(sandboxId))
        const guest = yield* driver.guest(sandboxId, 1)
        const look = yield* output(
          guest,
          "hostname; cat /etc/machine-id; head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/uuid; date +%s%3N"
        )
        const [hostname, machineId, random, uuid, time] = look.split("\n")
        expect(hostname).toBe(sandboxId.replace("_", "-"))
        expect(Math.abs(Number(time) - Date.now())).toBeLessThan(20_000)
        looks.push([hostname!, machineId!, random!, uuid!])
        yield* driver.destroy(sandboxId)
      }
      for (const index of [0, 1, 2, 3]) expect(looks[0]![index]).not.toBe(looks[1]![index])
    })
  )

  test(
    "a command is unprivileged: it cannot hurt the agent or PID 1, see a network card, or outgrow its volume",
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec("plain"))
      const guest = yield* driver.guest("plain", 1)
      expect(yield* output(guest, "id -u; id -g; ls /sys/class/net")).toBe("1000\n1000\nlo")
      const attack =
        "kill -9 1; for p in $(ls /proc | grep '^[0-9]'); do [ $p = $$ ] || kill -9 $p; done; echo 1 > /sys/fs/cgroup/sandbox/cgroup.kill; echo o > /proc/sysrq-trigger; poweroff -f; echo b > /dev/virtio-ports/atoll.boot; cat /run/atoll/agent.env"
      yield* run(guest, shell(attack))
      expect(yield* output(guest, "grep CapEff /proc/self/status")).toMatch(/0000000000000000$/)
      const full = yield* run(guest, shell("head -c 100000000 /dev/zero > big"))
      expect(full.stderr).toContain("No space left on device")
      expect(yield* output(guest, "rm big; echo still here")).toBe("still here")
      const { volumeBytes } = yield* driver.sample("plain", 1)
      expect(volumeBytes).toBeLessThanOrEqual(64 * 1024 ** 2)
    })
  )

  test(
    "running out of memory ends the command and not the machine",
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec("hungry"))
      const guest = yield* driver.guest("hungry", 1)
      const ended = yield* run(guest, shell("exec python3 -c 'x=[bytes([1])*(1<<20) for _ in range(400)]'"))
      expect(ended.exited).toMatchObject({ signal: "SIGKILL" })
      expect(yield* output(guest, "echo alive")).toBe("alive")
    })
  )

  testOnFolder("a machine whose slirp4netns dies gets another one, with the same routes", (folder) =>
    Effect.provide(
      Effect.gen(function* () {
        const driver = yield* Runtime
        if (!driver.capabilities.networkFiltered) return
        yield* driver.provision(sandboxSpec("cut-off", { networkEnabled: true }))
        const read = () => recordOf(folder, "cut-off").record as unknown as { network: { pid: number } }
        const machine = pidOf(folder, "cut-off")
        // Addresses of this host are refused, too, as they stand when a network is made: other tests add and remove
        // single ones of 198.18.0.0/15 meanwhile, as `test/support/fleet/Net.ts` does. The kernel writes them backwards, `.19.198`.
        const ofFleets = /^\*\t[0-9A-F]{4}1[23]C6\t.*\tFFFFFFFF\t/
        const routes = () => {
          const lines = readFileSync(`/proc/${machine}/net/route`, "utf8").split("\n")
          return lines.filter((line) => !ofFleets.test(line)).toSorted()
        }
        const before = routes()
        const died = read().network.pid
        process.kill(died, "SIGKILL")
        yield* eventually(Effect.sync(() => read().network.pid !== died))
        expect(routes()).toEqual(before)
        const next = read().network.pid
        expect(alive(next)).toBe(true)
        // Like the first it ends with its machine.
        process.kill(machine, "SIGKILL")
        yield* eventually(Effect.sync(() => !alive(next)))
      }),
      driverOn(folder)
    )
  )

  test(
    "a network reaches neither this host nor private nor link-local addresses, by any name",
    Effect.gen(function* () {
      const driver = yield* Runtime
      if (!driver.capabilities.networkFiltered) return
      const server = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<ReturnType<typeof createServer>>((resolve) => {
              const listening = createServer((socket) => socket.end("reached")).listen(0, "0.0.0.0", () =>
                resolve(listening)
              )
            })
        ),
        (listening) => Effect.sync(() => listening.close())
      )
      const { port } = server.address() as { port: number }
      const own = Object.values(networkInterfaces())
        .flat()
        .filter((it) => it?.family === "IPv4" && it.address !== "127.0.0.1")
        .map((it) => it!.address)
      yield* driver.provision(sandboxSpec("netted", { networkEnabled: true }))
      const guest = yield* driver.guest("netted", 1)
      const hosts = ["10.0.3.2", "10.0.2.2", "10.0.2.100", "169.254.169.254", "192.168.0.1", "172.17.0.1", ...own]
      const tries = hosts.map((host) => `timeout 4 bash -c 'cat < /dev/tcp/${host}/${port}'`)
      const ended = yield* run(guest, shell(tries.join("; "), { timeoutMs: 100_000 }))
      expect(ended.stdout).not.toContain("reached")
      // It reaches the Internet all the same: the namespace's own forwarder is behind a route, and the rest is refused.
      expect(yield* output(guest, "cat /etc/resolv.conf; ip route show default")).toBe(
        "nameserver 10.0.2.3\ndefault via 10.0.3.2 dev eth0"
      )
      const sample = yield* driver.sample("netted", 1)
      expect(sample.networkTxBytes).not.toBeNull()
    }).pipe(Effect.scoped)
  )

  testOnFolder("a machine that is killed is reported with its reason, and its commands break off", (folder) =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec("victim"))
      const reported = yield* Effect.forkChild(Stream.runHead(driver.downs))
      const guest = yield* driver.guest("victim", 1)
      const key = freshKey()
      yield* guest.processes.start(key, shell("sleep 600"))
      const broken = yield* Effect.forkChild(
        Effect.flip(gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 })))
      )
      process.kill(pidOf(folder, "victim"), "SIGKILL")
      expect(Option.getOrNull(yield* Fiber.join(reported))).toMatchObject({
        sandboxId: "victim",
        generation: 1,
        reason: { code: "CRASHED" }
      })
      expect(yield* Fiber.join(broken)).toMatchObject({ _tag: "GuestUnavailable" })
      expect(yield* driver.inventory).toEqual([{ sandboxId: "victim", state: "volume", generation: null }])
    }).pipe(Effect.provide(driverOn(folder)))
  )

  testOnFolder("a guest that holds every descriptor of its QEMU is adopted all the same", (folder) =>
    Effect.gen(function* () {
      const flood = Effect.gen(function* () {
        const driver = yield* Runtime
        if (!driver.capabilities.networkFiltered) return false
        yield* driver.provision(sandboxSpec("greedy", { networkEnabled: true }))
        // Each source port of UDP is a socket of QEMU for minutes. 192.88.99.1 is unassigned (RFC 7526).
        const ports =
          "import itertools,socket,time\nfor n in itertools.count():\n time.sleep(0.05 if n>6000 else 0)\n s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\n try: s.sendto(b'x',('192.88.99.1',9))\n except OSError: pass\n s.close()"
        const guest = yield* driver.guest("greedy", 1)
        yield* guest.processes.start(freshKey(), commandSpec(["python3", "-c", ports], { timeoutMs: null }))
        return true
      })
      if (!(yield* Effect.provide(flood, driverOn(folder)))) return
      const pid = pidOf(folder, "greedy")
      // The memory that the ended service left free is taken too.
      yield* eventually(Effect.sync(() => readdirSync(`/proc/${pid}/fd`).length === 4096))
      const later = Effect.gen(function* () {
        const driver = yield* Runtime
        // Connected to, so it can be watched, measured and stopped.
        expect((yield* driver.sample("greedy", 1)).cpuSeconds).toBeGreaterThan(0)
        expect(alive(pid)).toBe(true)
        // Once its guest has no more room to take, either.
        yield* eventually(Effect.sync(() => openFilesMaxOf(pid) < 8192))
        expect(yield* output(yield* driver.guest("greedy", 1), "echo served")).toBe("served")
        yield* driver.stop("greedy", 1)
        expect(alive(pid)).toBe(false)
      })
      yield* Effect.provide(later, driverOn(folder))
    })
  )

  testOnFolder(
    "a start of the service waits for no machine that does not answer, and ends it after a while",
    (folder) =>
      Effect.gen(function* () {
        yield* Effect.provide(
          Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("mute"))),
          driverOn(folder)
        )
        const pid = pidOf(folder, "mute")
        process.kill(pid, "SIGSTOP")
        const later = Effect.gen(function* () {
          const driver = yield* Runtime
          // Here already, and not decided yet.
          expect(alive(pid)).toBe(true)
          expect(Option.getOrNull(yield* Stream.runHead(driver.downs))).toMatchObject({
            ...{ sandboxId: "mute", generation: 1 },
            reason: { code: "CRASHED", message: expect.stringContaining("did not answer") }
          })
          yield* eventually(Effect.sync(() => !alive(pid)))
        })
        yield* Effect.provide(later, driverOn(folder, { ATOLL_VM_ANSWER_TIMEOUT_MS: "6000" }))
      })
  )

  testOnFolder("a machine whose QEMU hangs is ended and reported", (folder) =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      yield* driver.provision(sandboxSpec("frozen"))
      const pid = pidOf(folder, "frozen")
      const reported = yield* Effect.forkChild(Stream.runHead(driver.downs))
      process.kill(pid, "SIGSTOP")
      expect(Option.getOrNull(yield* Fiber.join(reported))).toMatchObject({
        ...{ sandboxId: "frozen", generation: 1 },
        reason: { code: "CRASHED", message: expect.stringContaining("did not answer") }
      })
      expect(alive(pid)).toBe(false)
      yield* driver.stop("frozen", 1)
      expect(yield* driver.inventory).toEqual([{ sandboxId: "frozen", state: "volume", generation: null }])
    }).pipe(Effect.provide(driverOn(folder, { ATOLL_VM_ANSWER_TIMEOUT_MS: "5000" })))
  )

  testOnFolder("a machine outlives the service, which finds it again with its commands and their output", (folder) =>
    Effect.gen(function* () {
      const key = freshKey()
      const first = Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("survivor"))
        const guest = yield* driver.guest("survivor", 1)
        yield* guest.processes.start(key, shell("echo first; while [ ! -e go ]; do sleep 0.1; done; echo second"))
        // The service ends in the middle of a session.
        yield* Stream.runHead(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
      })
      yield* Effect.provide(first, driverOn(folder))
      const pid = pidOf(folder, "survivor")
      expect(alive(pid)).toBe(true)
      const second = Effect.gen(function* () {
        const driver = yield* Runtime
        expect(yield* driver.inventory).toEqual([{ sandboxId: "survivor", state: "running", generation: 1 }])
        yield* driver.provision(sandboxSpec("survivor"))
        expect(pidOf(folder, "survivor")).toBe(pid)
        const guest = yield* driver.guest("survivor", 1)
        yield* output(guest, "touch go")
        const ended = yield* gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
        expect(ended.stdout).toBe("first\nsecond\n")
      })
      yield* Effect.provide(second, driverOn(folder))
    })
  )

  testOnFolder("a machine that died while the service was away is reported at the next check", (folder) =>
    Effect.gen(function* () {
      yield* Effect.provide(
        Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("lost"))),
        driverOn(folder)
      )
      const pid = pidOf(folder, "lost")
      process.kill(pid, "SIGKILL")
      yield* eventually(Effect.sync(() => !alive(pid)))
      const look = Effect.flatMap(Runtime, (driver) => Stream.runHead(driver.downs))
      expect(Option.getOrNull(yield* Effect.provide(look, driverOn(folder)))).toMatchObject({
        sandboxId: "lost",
        reason: { code: "CRASHED" }
      })
    })
  )

  testOnFolder("many concurrent users of a machine get it by one connection when the service comes back", (folder) =>
    Effect.gen(function* () {
      yield* Effect.provide(
        Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("wanted"))),
        driverOn(folder)
      )
      const later = Effect.gen(function* () {
        const driver = yield* Runtime
        const began = Date.now()
        const answered = Effect.flatMap(driver.guest("wanted", 1), (guest) => output(guest, "echo here"))
        const all = Effect.forEach([1, 2, 3, 4], () => answered, { concurrency: "unbounded" })
        expect(yield* all).toEqual(["here", "here", "here", "here"])
        // A connection that waits for another one is given up after 30 s.
        expect(Date.now() - began).toBeLessThan(29_000)
      })
      yield* Effect.provide(later, driverOn(folder))
    })
  )

  testOnFolder("a boot that a crash cut off before its process was recorded is found and ended", (folder) =>
    Effect.gen(function* () {
      yield* Effect.provide(
        Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("orphan"))),
        driverOn(folder)
      )
      const pid = pidOf(folder, "orphan")
      const { path, record } = recordOf(folder, "orphan")
      writeFileSync(path, JSON.stringify({ ...record, state: "starting", process: null }))
      const later = Effect.gen(function* () {
        const driver = yield* Runtime
        expect(yield* driver.inventory).toEqual([{ sandboxId: "orphan", state: "running", generation: 1 }])
        yield* driver.provision(sandboxSpec("orphan"))
        expect(alive(pid)).toBe(false)
        expect(yield* output(yield* driver.guest("orphan", 1), "echo again")).toBe("again")
      })
      yield* Effect.provide(later, driverOn(folder))
    })
  )

  testOnFolder("a full host refuses before anything is started or written", (folder) =>
    Effect.gen(function* () {
      const driver = yield* Runtime
      const refused = yield* Effect.flip(driver.provision(sandboxSpec("late")))
      expect(refused).toMatchObject({ _tag: "RuntimeRefused", code: "HOST_FULL" })
      expect(yield* driver.inventory).toEqual([])
      expect(readdirSync(`${folder}/runtime/qemu`).filter((name) => !name.startsWith("."))).toEqual([])
    }).pipe(Effect.provide(driverOn(folder, { ATOLL_VM_MEMORY_BYTES: "1000000" })))
  )

  testOnFolder("where no template can be made a machine boots in full, with its volume and its name", (folder) =>
    Effect.gen(function* () {
      const vmDir = `${folder}/vm`
      mkdirSync(vmDir)
      symlinkSync(`${imageCache}/images`, `${vmDir}/images`)
      // A file where the folder of templates would be.
      writeFileSync(`${vmDir}/templates`, "")
      const body = Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("cold"))
        const guest = yield* driver.guest("cold", 1)
        expect(yield* output(guest, "hostname; touch file; ls")).toBe("cold\nfile")
      })
      yield* Effect.provide(body, driverOn(folder, { ATOLL_VM_DIR: vmDir }))
    })
  )
})
