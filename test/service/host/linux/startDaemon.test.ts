/** Programs that outlive the service: what they get, what is known of their end, and that both ways to start them do the same. */
import { execFile, spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, realpathSync, writeFileSync, writeSync } from "node:fs"
import { connect } from "node:net"
import { constants } from "node:os"
import { basename, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, describe, it } from "vitest"
import { detectCgroups, releaseCgroups } from "../../../../src/host/linux/cgroups.ts"
import { hasSpawner } from "../../../../src/host/linux/HostSpawner.ts"
import { hostCommand } from "../../../../src/host/linux/hostCommand.ts"
import { makeGate } from "../../../../src/host/linux/lifePipe.ts"
import { listeningSocket } from "../../../../src/host/linux/listeningSocket.ts"
import { goneWithin, isAlive, signal } from "../../../../src/host/linux/ProcessIdentity.ts"
import { byNode, bySpawner, type Daemon, type DaemonOptions } from "../../../../src/host/linux/startDaemon.ts"
import {
  inheritRequest,
  SpawnerEvent,
  SpawnerEvents,
  startRequest
} from "../../../../src/platform/spawner/spawnerWire.ts"
import { inFolder } from "../../../support/host/linux/inFolder.ts"

const spawns = hasSpawner && process.getuid?.() === 0
const sources = join(import.meta.dirname, "../../../../src/host/linux")

const shell = (script: string, more: Partial<DaemonOptions> = {}): DaemonOptions => ({
  name: "a test's daemon",
  argv: ["/bin/sh", "-c", script],
  cwd: "/",
  env: { PATH: "/usr/bin:/bin", GREETING: "good morning" },
  inherits: {},
  ...more
})

/** Null when it goes on. */
const ended = (daemon: Daemon, withinMs = 20_000) => Promise.race([daemon.ended, sleep(withinMs, null, { ref: false })])

const ways = [["Node", byNode] as const, ...(spawns ? [["the spawner", bySpawner] as const] : [])]

describe.each(ways)("a daemon that %s starts", (_, way) => {
  const start = async (script: string, more: Partial<DaemonOptions> = {}): Promise<Daemon> => {
    const daemon = await way(shell(script, more))
    assert.isNotNull(daemon)
    return daemon
  }

  it("gets a socket, a file and a pipe on which it waits, by their numbers, and no other descriptor", () =>
    inFolder(async (folder) => {
      const told = join(folder, "told")
      const socket = await listeningSocket(join(folder, "socket"))
      const gate = await makeGate(join(folder, "gate"))
      const file = openSync(told, "a", 0o600)
      const script = `read -r go <&8; exec >&6; echo "$go"; read -r again <&8; echo "$again"; pwd; echo "$GREETING"
        cat /proc/self/oom_score_adj; cut -d' ' -f6 /proc/$$/stat; echo $$; ls -l /proc/$$/fd; exec python3 -c '
import socket
it, _ = socket.socket(fileno=3).accept()
it.send(b"served")'`
      const inherits = { 3: socket.fd, 6: file, 8: gate.readFd }
      const daemon = await start(script, { cwd: folder, inherits })
      for (const fd of [file, gate.readFd]) closeSync(fd)
      socket.release()
      const connection = connect(join(folder, "socket"))
      await sleep(50)
      assert.strictEqual(readFileSync(told, "utf8"), "")
      writeSync(gate.writeFd, "go\n")
      writeSync(gate.writeFd, "on\n")
      const [answer] = (await connection.toArray()) as ReadonlyArray<Buffer>
      assert.strictEqual(String(answer), "served")
      assert.deepStrictEqual(await ended(daemon), { status: "0", errors: "" })
      closeSync(gate.writeFd)
      const [go, on, cwd, greeting, score, session, pid, , ...listed] = readFileSync(told, "utf8").trim().split("\n")
      assert.deepStrictEqual([go, on, cwd, greeting], ["go", "on", realpathSync(folder), "good morning"])
      assert.strictEqual(score, readFileSync("/proc/self/oom_score_adj", "utf8").trim())
      assert.deepStrictEqual([session, pid], [String(daemon.process.pid), String(daemon.process.pid)])
      const files = listed.map((line) => /(\d+) -> (.+)$/.exec(line)!.slice(1) as [string, string])
      const given = files.filter(([, path]) => path !== "/dev/null").map(([fd, path]) => [fd, path.split(":")[0]])
      // `>&6` made it 1, too.
      assert.deepStrictEqual(
        given.toSorted(([a], [b]) => Number(a) - Number(b)),
        [
          ["1", realpathSync(told)],
          ["3", "socket"],
          ["6", realpathSync(told)],
          ["8", given.at(-1)![1]!]
        ]
      )
    }))

  it("gets one file by many numbers", () =>
    inFolder(async (folder) => {
      const told = join(folder, "told")
      const file = openSync(told, "w", 0o600)
      const numbers = Array.from({ length: 30 }, (_, n) => n + 3)
      const inherits = Object.fromEntries(numbers.map((number) => [number, file]))
      const daemon = await start(`for n in ${numbers.join(" ")}; do readlink /proc/$$/fd/$n; done >&3`, { inherits })
      closeSync(file)
      assert.strictEqual((await ended(daemon))?.status, "0")
      assert.strictEqual(readFileSync(told, "utf8"), `${realpathSync(told)}\n`.repeat(numbers.length))
    }))

  it("waits at its gate no longer than this process has the other end", () =>
    inFolder(async (folder) => {
      const gate = await makeGate(join(folder, "gate"))
      const daemon = await start("read -r go <&8 || exit 98", { inherits: { 8: gate.readFd } })
      closeSync(gate.readFd)
      assert.isNull(await ended(daemon, 50))
      closeSync(gate.writeFd)
      assert.strictEqual((await ended(daemon))?.status, "98")
    }))

  it("is not ready when it ends, or closes that descriptor, before it has said so", async () => {
    const over = await start("sleep 0.1; exit 5", { readyBy: 4 })
    assert.match(String(await over.ready.catch(String)), /before it was ready/)
    assert.deepStrictEqual(await ended(over), { status: "5", errors: "" })
  })

  it("keeps what it writes to standard error, if that is asked for", async () => {
    const script = "echo first >&2; sleep 0.1; printf é >&2; kill -9 $$"
    assert.deepStrictEqual(await ended(await start(script, { keepsErrors: true })), {
      status: "SIGKILL",
      errors: "first\né"
    })
    assert.deepStrictEqual(await ended(await start(script)), { status: "SIGKILL", errors: "" })
  })
})

const cgroups = detectCgroups(`atoll-test-${process.pid}`, spawns)
afterAll(() => releaseCgroups(cgroups))

describe.skipIf(!spawns || cgroups.v2 === null)("a daemon with a cgroup", () => {
  const inCgroup = (folder: string) =>
    shell("while read -r line; do echo $line; done < /proc/self/cgroup >&2; sleep 0.1", {
      keepsErrors: true,
      cgroup: { folder, argvOutside: ["/bin/sh", "-c", "echo outside >&2; sleep 0.1"] }
    })

  it("starts in it", async () => {
    const daemon = await bySpawner(inCgroup(cgroups.v2!))
    const { errors = "" } = (await ended(daemon!)) ?? {}
    assert.match(errors, new RegExp(`^0::.*/${basename(cgroups.v2!)}$`, "m"))
  })

  it("moves there by itself where it cannot start in it", async () => {
    const nowhere = inCgroup(join(cgroups.v2!, "missing"))
    assert.isNull(await bySpawner(nowhere))
    assert.strictEqual((await ended(await byNode(nowhere)))?.errors, "outside\n")
  })
})

describe("a daemon", () => {
  it("that cannot start is an error, or left to Node", async () => {
    const missing = { ...shell(""), argv: ["/no/such/program"] } as const
    assert.match(String(await byNode(missing).catch(String)), /ENOENT/)
    if (spawns) assert.isNull(await bySpawner(missing))
  })

  it.skipIf(!spawns)("is left to Node where the spawner cannot take a descriptor", async () => {
    assert.isNull(await bySpawner(shell("sleep 20", { inherits: { 3: 9_999 } })))
  })

  it.skipIf(!spawns)("gets descriptors of the spawner's parent alone", async () => {
    const other = spawn("sleep", ["20"], { stdio: ["ignore", "ignore", "ignore"] })
    const events: Array<ReadonlyArray<number>> = []
    const spawner = spawn(join(sources, "native/spawner.x64"), [], { stdio: ["pipe", "pipe", "ignore"] })
    try {
      const told = new SpawnerEvents((kind, id, value) => events.push([kind, id, value]))
      const start = {
        argv: ["true"],
        env: {},
        cwd: "/",
        runAs: null,
        creditBytes: 0,
        unwaited: false,
        cgroup: null,
        input: null
      }
      spawner.stdin.write("\n")
      for (const [id, parent] of [other.pid!, process.pid].entries()) {
        spawner.stdin.write(inheritRequest(id + 1, parent, [[0, 3]]))
        spawner.stdin.write(startRequest({ id: id + 1, ...start }))
      }
      for await (const chunk of spawner.stdout) {
        told.take(chunk as Buffer)
        if (events.length >= 2) break
      }
      const { ESRCH } = constants.errno
      assert.deepStrictEqual(events.map(([kind, id]) => [kind, id]).slice(0, 2), [
        [SpawnerEvent.failed, 1],
        [SpawnerEvent.started, 2]
      ])
      assert.strictEqual(events[0]![2], ESRCH)
    } finally {
      spawner.kill("SIGKILL")
      other.kill("SIGKILL")
    }
  })

  it.skipIf(!spawns)("goes on when its spawner is killed, and its end is still told", async () => {
    const daemon = (await bySpawner(shell("exec sleep 60")))!
    const spawner = Number((await hostCommand(["sh", "-c", "echo $PPID"])).stdout)
    const parent = () =>
      Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${daemon.process.pid}/status`, "latin1"))?.[1])
    assert.strictEqual(parent(), spawner)
    process.kill(spawner, "SIGKILL")
    assert.isTrue(await goneWithin(() => parent() === spawner, 10_000))
    assert.isNull(await ended(daemon, 200))
    assert.isTrue(isAlive(daemon.process))
    signal(daemon.process, "SIGKILL")
    assert.deepStrictEqual(await ended(daemon), { status: "an unknown status", errors: "" })
  })

  it("neither holds its process nor ends with it", () =>
    inFolder(async (folder) => {
      const path = join(folder, "pid")
      writeFileSync(path, "")
      const script = `const { startDaemon } = await import(${JSON.stringify(join(sources, "startDaemon.ts"))})
        const { process: it } = await startDaemon(${JSON.stringify(shell("exec sleep 60"))})
        console.log(JSON.stringify(it))`
      const said = await new Promise<string>((resolve, reject) =>
        execFile(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 }, (fault, stdout) =>
          fault === null ? resolve(stdout) : reject(fault)
        )
      )
      const it = JSON.parse(said)
      await sleep(100)
      assert.isTrue(isAlive(it))
      signal(it, "SIGKILL")
      assert.isTrue(await goneWithin(() => isAlive(it), 10_000))
    }))
})
