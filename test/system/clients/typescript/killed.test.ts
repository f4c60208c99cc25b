/**
 * Every method of the TypeScript library against a service that is killed in its middle and started again: nothing is done twice, nothing is lost.
 *
 * Twice, for there are two ways in which an answer does not come: what was asked for was done, or it was not.
 */
import { createHash, randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Exit, Scope } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import * as library from "../../../../clients/typescript/src/index.ts"
import {
  Atoll,
  AtollError,
  ConnectionError,
  ConnectionLost,
  type RunningOperation,
  type SandboxHandle,
  type TransitionEvent
} from "../../../../clients/typescript/src/index.ts"
import { type CuttingProxy, cuttingProxy } from "../../../support/clients/CuttingProxy.ts"
import { ServiceProcess } from "../../../support/crash/ServiceProcess.ts"
import { skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { imageCases } from "./imageCases.ts"
import { previewCases } from "./previewCases.ts"
import { publicMethods } from "./publicMethods.ts"
import { snapshotCases } from "./snapshotCases.ts"

interface World {
  readonly atoll: Atoll
  /** For all cases; none stops it. */
  readonly sandbox: SandboxHandle
  /** Of this round, in names and paths. */
  readonly round: string
  /** Another Sandbox that runs. */
  readonly another: () => Promise<SandboxHandle>
  /** Returns when all cases are ready: what is called next, at once, is in the middle of itself when the service is killed. */
  readonly now: () => Promise<void>
  /** Returns when the service answers again. */
  readonly back: () => Promise<unknown>
}

/** Returned, or not known: nothing else may become of what cannot be repeated. */
const doneOrUnknown = async (call: Promise<unknown>): Promise<void> => {
  try {
    await call
  } catch (thrown) {
    if (!(thrown instanceof ConnectionError) || thrown.outcome !== "unknown") throw thrown
  }
}

const refusedWith = async (code: "NOT_FOUND" | "ALREADY_EXISTS", call: Promise<unknown>): Promise<void> => {
  try {
    await call
  } catch (thrown) {
    if (!(thrown instanceof AtollError) || !thrown.is(code)) throw thrown
  }
}

const lost = async (call: Promise<unknown>): Promise<void> => {
  const thrown = await call.then(
    () => null,
    (thrown: unknown) => thrown
  )
  assert.instanceOf(thrown, ConnectionLost)
}

const gathered = async <A>(things: AsyncIterable<A>): Promise<Array<A>> => {
  const all: Array<A> = []
  for await (const thing of things) all.push(thing)
  return all
}

const joined = async (things: AsyncIterable<Uint8Array>): Promise<string> =>
  Buffer.concat(await gathered(things)).toString()

const revisions = async (operation: RunningOperation): Promise<ReadonlyArray<number>> =>
  (await gathered(operation.transitions())).map(({ revision }) => revision)

/** Speaks for as long as a service is away. */
const slowly = "for i in $(seq 40); do echo $i; sleep 0.05; done; echo end >&2"
const slowOutput = `${Array.from({ length: 40 }, (_, at) => at + 1).join("\n")}\n`

const echo = `require("net").createServer((socket) => { socket.on("error", () => {}); socket.pipe(socket) }).listen(4000, "127.0.0.1")`

/** What reads and what may be repeated: the same as without a kill. */
const same = async (world: World, call: () => Promise<unknown>): Promise<void> => {
  const before = await call()
  await world.now()
  assert.deepStrictEqual(await call(), before)
}

const ended = (sandbox: SandboxHandle) => async () => {
  while (!["deleting", "deleted"].includes((await sandbox.refresh()).status)) await sleep(50)
}

/** What comes back over a forwarded port; nothing where that carries nothing. */
const echoes = (localPort: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(localPort, "127.0.0.1")
    socket.on("error", () => {})
    socket.on("close", () => resolve(""))
    socket.on("data", (answer) => {
      resolve(answer.toString())
      socket.destroy()
    })
    socket.write("ping")
  })

const ofEvents = async ({ sandbox, now }: World, events: AsyncIterable<TransitionEvent>) => {
  const told: Array<TransitionEvent> = []
  let watched = ""
  const reading = (async () => {
    for await (const event of events) {
      told.push(event)
      if (event.to === "completed" && event.actorId === watched) break
    }
  })()
  // They are told from now on, and now is when something of them came.
  while (told.length === 0) await sandbox.run(["true"])
  const operation = await sandbox.start(["sh", "-c", slowly])
  watched = operation.id
  await now()
  await reading
  const own = told.filter(({ actorId }) => actorId === operation.id).map(({ revision }) => revision)
  assert.deepStrictEqual(own, await revisions(operation), "each once, in order")
}

const cases: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "Atoll.me": (world) => same(world, async () => (await world.atoll.me()).account),
  "Atoll.events": (world) => ofEvents(world, world.atoll.events()),

  "Sandboxes.create": async ({ atoll, round, now }) => {
    const metadata = { made: round }
    await now()
    const made = await atoll.sandboxes.create({ metadata })
    const all = (await gathered(atoll.sandboxes.list())).filter(({ record }) => record.metadata["made"] === round)
    assert.deepStrictEqual(
      all.map(({ id }) => id),
      [made.id]
    )
    await made.delete()
  },
  "Sandboxes.get": (world) => same(world, async () => (await world.atoll.sandboxes.get(world.sandbox.id)).id),
  "Sandboxes.list": (world) =>
    same(world, async () => (await gathered(world.atoll.sandboxes.list())).some(({ id }) => id === world.sandbox.id)),

  "Workspaces.list": (world) =>
    same(world, async () => (await world.atoll.workspaces.list()).some(({ id }) => id === world.sandbox.workspaceId)),
  "Workspaces.create": async ({ atoll, round, now }) => {
    await now()
    const { id } = await atoll.workspaces.create(`new-${round}`)
    const all = (await atoll.workspaces.list()).filter(({ name }) => name === `new-${round}`)
    assert.deepStrictEqual(
      all.map((workspace) => workspace.id),
      [id]
    )
    await atoll.workspaces.delete(id)
  },
  "Workspaces.first": (world) => same(world, async () => (await world.atoll.workspaces.first()).id),
  "Workspaces.rename": async ({ atoll, round, now, back }) => {
    const { id } = await atoll.workspaces.create(`old-${round}`)
    await now()
    await doneOrUnknown(atoll.workspaces.rename(id, `renamed-${round}`))
    await back()
    const name = (await atoll.workspaces.list()).find((workspace) => workspace.id === id)?.name
    assert.include([`old-${round}`, `renamed-${round}`], name)
    await atoll.workspaces.delete(id)
  },
  "Workspaces.delete": async ({ atoll, round, now, back }) => {
    const { id } = await atoll.workspaces.create(`gone-${round}`)
    await now()
    await doneOrUnknown(atoll.workspaces.delete(id))
    await back()
    await refusedWith("NOT_FOUND", atoll.workspaces.delete(id))
    assert.isFalse((await atoll.workspaces.list()).some((workspace) => workspace.id === id))
  },

  "Usage.read": (world) => same(world, async () => (await world.atoll.usage.read()).from),
  "Usage.balance": (world) => same(world, async () => (await world.atoll.usage.balance()).status),
  "Usage.costs": (world) => same(world, async () => Array.isArray((await world.atoll.usage.costs()).costs)),
  "Usage.transactions": (world) =>
    same(world, async () => Array.isArray(await gathered(world.atoll.usage.transactions()))),

  "Sandbox.refresh": (world) => same(world, async () => (await world.sandbox.refresh()).status),
  "Sandbox.untilRunning": async ({ atoll, now }) => {
    const sandbox = await atoll.sandboxes.create({ untilRunning: false })
    await now()
    await sandbox.untilRunning()
    assert.strictEqual(sandbox.status, "running")
    await sandbox.delete()
  },
  "Sandbox.stop": async ({ another, now }) => {
    const sandbox = await another()
    await now()
    await sandbox.stop()
    assert.strictEqual(sandbox.status, "stopped")
    await sandbox.delete()
  },
  "Sandbox.boot": async ({ another, now }) => {
    const sandbox = await another()
    await sandbox.stop()
    await now()
    await sandbox.boot()
    assert.strictEqual(sandbox.status, "running")
    assert.strictEqual(sandbox.record.generation, 2, "it was booted once")
    await sandbox.delete()
  },
  "Sandbox.update": async ({ another, now }) => {
    const sandbox = await another()
    await now()
    await doneOrUnknown(sandbox.update({ name: "changed" }))
    await sandbox.refresh()
    assert.include([null, "changed"], sandbox.record.name)
    await sandbox.delete()
  },
  "Sandbox.delete": async ({ another, now }) => {
    const sandbox = await another()
    await now()
    await sandbox.delete()
    await ended(sandbox)()
  },
  "Sandbox.asyncDispose": async ({ another, now }) => {
    const sandbox = await another()
    await now()
    await sandbox[Symbol.asyncDispose]()
    await ended(sandbox)()
  },
  "Sandbox.start": async ({ sandbox, round, now }) => {
    const argv = ["sh", "-c", `echo once >> started-${round}`]
    await now()
    const operation = await sandbox.start(argv)
    assert.strictEqual((await operation.wait()).exitCode, 0)
    assert.strictEqual(await sandbox.files.read(`started-${round}`), "once\n")
  },
  "Sandbox.run": async ({ sandbox, round, now }) => {
    await now()
    const { stdout, stderr, exitCode } = await sandbox.run(["sh", "-c", `echo once >> ran-${round}; ${slowly}; exit 3`])
    assert.deepStrictEqual({ stdout, stderr, exitCode }, { stdout: slowOutput, stderr: "end\n", exitCode: 3 })
    assert.strictEqual(await sandbox.files.read(`ran-${round}`), "once\n")
  },
  "Sandbox.operation": async (world) => {
    const { id } = await world.sandbox.start(["true"])
    await same(world, async () => (await world.sandbox.operation(id)).id)
  },
  "Sandbox.operations": async (world) => {
    const { id } = await world.sandbox.start(["true"])
    await same(
      world,
      async () => (await gathered(world.sandbox.operations())).filter((other) => other.id === id).length
    )
  },
  "Sandbox.processes": async (world) => {
    const sleeper = await world.sandbox.start(["sleep", "977"])
    const sleeps = async () => (await world.sandbox.processes()).filter(({ argv }) => argv.includes("977")).length
    while ((await sleeps()) === 0) await sleep(20)
    await same(world, sleeps)
    await sleeper.cancel()
  },
  "Sandbox.logs": (world) => same(world, async () => Array.isArray(await world.sandbox.logs({ limit: 1 }))),
  "Sandbox.transitions": (world) => same(world, async () => (await gathered(world.sandbox.transitions()))[0]),
  "Sandbox.events": (world) => ofEvents(world, world.sandbox.events()),
  "Sandbox.terminal": async ({ sandbox, now }) => {
    await now()
    const terminal = await sandbox.terminal()
    await terminal.write("exit 4\n")
    const output = terminal.output()
    let next = await output.next()
    while (next.done !== true) next = await output.next()
    assert.deepStrictEqual(next.value, { exitCode: 4, signal: null })
  },
  "Sandbox.tunnel": async ({ sandbox, now }) => {
    await now()
    const tunnel = await sandbox.tunnel(4000)
    tunnel.end("ping")
    assert.strictEqual(await joined(tunnel), "ping")
  },
  "Sandbox.forward": async ({ sandbox, now }) => {
    await using forward = await sandbox.forward(4000)
    assert.strictEqual(await echoes(forward.localPort), "ping")
    await now()
    while ((await echoes(forward.localPort)) !== "ping") await sleep(50)
  },

  "Files.chunks": async ({ sandbox, round, now }) => {
    await sandbox.run(["sh", "-c", `head -c 9000000 /dev/urandom > chunks-${round}`])
    const { stdout } = await sandbox.run(["sha256sum", `chunks-${round}`])
    await now()
    const hash = createHash("sha256")
    for await (const chunk of sandbox.files.chunks(`chunks-${round}`)) hash.update(chunk)
    assert.strictEqual(hash.digest("hex"), stdout.slice(0, 64))
    await sandbox.files.remove(`chunks-${round}`)
  },
  "Files.readStream": async ({ sandbox, round, now }) => {
    const content = randomBytes(300_000)
    await sandbox.files.write(`stream-${round}`, content)
    await now()
    const read = Buffer.concat(await gathered(sandbox.files.readStream(`stream-${round}`, { from: 1000 })))
    assert.isTrue(content.subarray(1000).equals(read))
  },
  "Files.readBytes": async (world) => {
    await world.sandbox.files.write(`bytes-${world.round}`, randomBytes(1000))
    await same(world, () => world.sandbox.files.readBytes(`bytes-${world.round}`))
  },
  "Files.read": async (world) => {
    await world.sandbox.files.write(`text-${world.round}`, "grüße")
    await same(world, () => world.sandbox.files.read(`text-${world.round}`))
  },
  "Files.readText": async (world) => {
    await world.sandbox.files.write(`words-${world.round}`, "grüße")
    await same(world, () => world.sandbox.files.readText(`words-${world.round}`))
  },
  "Files.sha256": async (world) => {
    await world.sandbox.files.write(`sum-${world.round}`, "grüße")
    await same(world, () => world.sandbox.files.sha256(`sum-${world.round}`))
  },
  "Files.write": async ({ sandbox, round, now }) => {
    const size = 9 * 1024 ** 2
    const large = async function* () {
      for (let at = 0; at < 9; at++) yield new Uint8Array(size / 9).fill(110)
    }
    await sandbox.files.write(`written-${round}`, "old")
    await sandbox.files.write(`large-${round}`, "old")
    await now()
    await Promise.all([
      doneOrUnknown(sandbox.files.write(`written-${round}`, "new")),
      doneOrUnknown(sandbox.files.write(`large-${round}`, large(), { size }))
    ])
    assert.include(["old", "new"], await sandbox.files.read(`written-${round}`))
    assert.include(["old", "n".repeat(size)], await sandbox.files.read(`large-${round}`))
  },
  "Files.edit": async ({ sandbox, round, now }) => {
    await sandbox.files.write(`edited-${round}`, "one")
    const expectedSha256 = await sandbox.files.sha256(`edited-${round}`)
    await now()
    await doneOrUnknown(sandbox.files.edit(`edited-${round}`, { oldText: "one", newText: "one two", expectedSha256 }))
    assert.include(["one", "one two"], await sandbox.files.read(`edited-${round}`))
  },
  "Files.list": async (world) => {
    await world.sandbox.run([
      "sh",
      "-c",
      `mkdir listed-${world.round} && cd listed-${world.round} && seq 1200 | xargs touch`
    ])
    await same(
      world,
      async () => (await gathered(world.sandbox.files.list(`listed-${world.round}`))).map(({ name }) => name).length
    )
  },
  "Files.stat": (world) => same(world, async () => (await world.sandbox.files.stat(".")).type),
  "Files.exists": (world) => same(world, () => world.sandbox.files.exists("not-there")),
  "Files.mkdir": async ({ sandbox, round, now, back }) => {
    await now()
    await doneOrUnknown(sandbox.files.mkdir(`made-${round}`))
    await back()
    await refusedWith("ALREADY_EXISTS", sandbox.files.mkdir(`made-${round}`))
    assert.isTrue(await sandbox.files.exists(`made-${round}`))
  },
  "Files.uploadDirectory": async ({ sandbox, round, now, back }) => {
    const from = mkdtempSync(join(tmpdir(), "atoll-upload-"))
    for (let at = 0; at < 20; at++) writeFileSync(join(from, String(at)), String(at))
    await now()
    await doneOrUnknown(sandbox.files.uploadDirectory(from, `up-${round}`))
    await back()
    await sandbox.files.uploadDirectory(from, `up-${round}`)
    rmSync(from, { recursive: true })
    for (let at = 0; at < 20; at += 19) assert.strictEqual(await sandbox.files.read(`up-${round}/${at}`), String(at))
  },
  "Files.downloadDirectory": async ({ sandbox, round, now }) => {
    await sandbox.run([
      "sh",
      "-c",
      `mkdir down-${round} && cd down-${round} && for i in $(seq 20); do echo $i > $i; done`
    ])
    const to = mkdtempSync(join(tmpdir(), "atoll-download-"))
    await now()
    await sandbox.files.downloadDirectory(`down-${round}`, to)
    const found = readdirSync(to).map((name) => readFileSync(join(to, name), "utf8") === `${name}\n`)
    rmSync(to, { recursive: true })
    assert.deepStrictEqual(found, new Array(20).fill(true))
  },
  "Files.rename": async ({ sandbox, round, now, back }) => {
    await sandbox.files.write(`here-${round}`, "moves")
    await now()
    await doneOrUnknown(sandbox.files.rename(`here-${round}`, `there-${round}`))
    await back()
    await refusedWith("NOT_FOUND", sandbox.files.rename(`here-${round}`, `there-${round}`))
    assert.strictEqual(await sandbox.files.read(`there-${round}`), "moves")
  },
  "Files.remove": async ({ sandbox, round, now, back }) => {
    await sandbox.files.write(`removed-${round}`, "goes")
    await now()
    await doneOrUnknown(sandbox.files.remove(`removed-${round}`))
    await back()
    await refusedWith("NOT_FOUND", sandbox.files.remove(`removed-${round}`))
    assert.isFalse(await sandbox.files.exists(`removed-${round}`))
  },

  ...previewCases,
  ...snapshotCases,
  ...imageCases,
  "Previews.open": async ({ sandbox, now }) => {
    await now()
    await doneOrUnknown(sandbox.previews.open(4000))
    assert.isAtMost((await sandbox.previews.list()).filter(({ status }) => status === "active").length, 1)
    await sandbox.previews.close()
  },
  "Previews.list": (world) => same(world, async () => Array.isArray(await world.sandbox.previews.list())),
  "Previews.close": async ({ another, now }) => {
    const sandbox = await another()
    await sandbox.previews.open(4000, { withinSeconds: 0 })
    await now()
    await sandbox.previews.close()
    assert.isTrue((await sandbox.previews.list()).every(({ status }) => status !== "active"))
  },
  "Preview.close": async ({ another, now }) => {
    const sandbox = await another()
    const preview = await sandbox.previews.open(4000, { withinSeconds: 0 })
    await now()
    await preview.close()
    assert.isTrue((await sandbox.previews.list()).every(({ status }) => status !== "active"))
  },
  "Preview.asyncDispose": async ({ another, now }) => {
    const sandbox = await another()
    const preview = await sandbox.previews.open(4000, { withinSeconds: 0 })
    await now()
    await preview[Symbol.asyncDispose]()
    assert.isTrue((await sandbox.previews.list()).every(({ status }) => status !== "active"))
  },

  "Operation.refresh": async (world) => {
    const operation = await world.sandbox.start(["true"])
    await operation.wait()
    await same(world, () => operation.refresh())
  },
  "Operation.wait": async ({ sandbox, now }) => {
    const operation = await sandbox.start(["sh", "-c", `${slowly}; exit 5`])
    await now()
    assert.strictEqual((await operation.wait()).exitCode, 5)
  },
  "Operation.cancel": async ({ sandbox, now }) => {
    const operation = await sandbox.start(["sleep", "600"])
    await now()
    await operation.cancel()
    assert.strictEqual((await operation.wait()).status, "cancelled")
  },
  "Operation.output": async ({ sandbox, now }) => {
    const operation = await sandbox.start(["sh", "-c", slowly])
    const output = gathered(operation.output())
    await now()
    const text = (wanted: string) =>
      output.then((chunks) =>
        Buffer.concat(chunks.filter(({ stream }) => stream === wanted).map(({ bytes }) => bytes)).toString()
      )
    assert.deepStrictEqual([await text("stdout"), await text("stderr")], [slowOutput, "end\n"])
  },
  "Operation.read": async (world) => {
    const operation = await world.sandbox.start(["echo", "hello"])
    await operation.wait()
    await same(world, async () => (await operation.read("stdout", 1)).data)
  },
  "Operation.transitions": async (world) => {
    const operation = await world.sandbox.start(["true"])
    await operation.wait()
    await same(world, () => revisions(operation))
  },

  "Terminal.output": async ({ sandbox, now }) => {
    const terminal = await sandbox.terminal()
    await now()
    await lost(joined(terminal.output()))
  },
  "Terminal.write": async ({ sandbox, now }) => {
    const terminal = await sandbox.terminal()
    await now()
    await doneOrUnknown(terminal.write("true\n"))
    await lost(joined(terminal.output()))
    await lost(terminal.write("true\n"))
  },
  "Terminal.resize": async ({ sandbox, now }) => {
    const terminal = await sandbox.terminal()
    await now()
    terminal.resize({ columns: 100, rows: 30 })
    await lost(terminal.exited)
    terminal.resize({ columns: 100, rows: 31 })
  },
  "Terminal.close": async ({ sandbox, now }) => {
    const terminal = await sandbox.terminal()
    await now()
    await terminal.close()
    assert.isNull(await terminal.exited)
  },
  "Terminal.asyncDispose": async ({ sandbox, now }) => {
    const terminal = await sandbox.terminal()
    await now()
    await terminal[Symbol.asyncDispose]()
    assert.isNull(await terminal.exited)
  },
  "Forward.close": async ({ sandbox, now }) => {
    const forward = await sandbox.forward(4000)
    assert.strictEqual(await echoes(forward.localPort), "ping")
    await now()
    await forward.close()
    assert.strictEqual(await echoes(forward.localPort), "")
  },
  "Forward.asyncDispose": async ({ sandbox, now }) => {
    const forward = await sandbox.forward(4000)
    assert.strictEqual(await echoes(forward.localPort), "ping")
    await now()
    await forward[Symbol.asyncDispose]()
    assert.strictEqual(await echoes(forward.localPort), "")
  }
}

describe.skipIf(skipped(unusable))("a service that is killed in the middle of every method", () => {
  let service: ServiceProcess
  let proxy: CuttingProxy
  const scope = Scope.makeUnsafe()

  beforeAll(async () => {
    service = await ServiceProcess.make({ ATOLL_SERVICE_ACCESS: "on" })
    await service.start()
    proxy = await Effect.runPromise(Scope.provide(cuttingProxy(1), scope))
    proxy.to = service.port
  }, 120_000)

  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    if (service?.isUp) await service.deleteSandboxes()
    await service?.stop()
    service?.killPostgres()
    service?.remove()
  }, 60_000)

  it("has a case for each method", async () => {
    assert.isFunction(library.Atoll)
    assert.deepStrictEqual(Object.keys(cases).toSorted(), (await publicMethods()).toSorted())
  })

  it.each(["answers are lost", "nothing is asked"] as const)(
    "nothing is done twice, nothing is lost: %s",
    async (how) => {
      const atoll = new Atoll({ apiKey: service.key, url: `http://127.0.0.1:${proxy.port}`, patienceSeconds: 120 })
      const round = how.replaceAll(" ", "-")
      const sandbox = await atoll.sandboxes.create({ name: round })
      await sandbox.start(["node", "-e", echo])
      while ((await sandbox.run(["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/4000"])).exitCode !== 0) await sleep(50)

      let ready = 0
      let release = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      const all = Object.entries(cases)
      let allReady = () => {}
      const prepared = new Promise<void>((resolve) => {
        allReady = resolve
      })
      const world: World = {
        atoll,
        sandbox,
        round,
        another: () => atoll.sandboxes.create(),
        // Reads, so it is asked again.
        back: () => atoll.me(),
        now: () => {
          if (++ready === all.length) allReady()
          return released
        }
      }
      const failures: Array<string> = []
      const running = all.map(async ([name, run]) => {
        try {
          await run(world)
        } catch (thrown) {
          failures.push(`${name}: ${thrown instanceof Error ? thrown.stack : String(thrown)}`)
          allReady()
        }
      })
      await prepared
      assert.deepStrictEqual(failures, [])
      proxy.isHolding = true
      if (how === "nothing is asked") service.freeze()
      release()
      await quiet()
      await service.kill()
      proxy.isHolding = false
      await service.start()
      await Promise.all(running)
      assert.deepStrictEqual(failures, [], service.log)
      await sandbox.delete()
    },
    240_000
  )

  /** Until nothing more is asked, nor answered; not for long. */
  const quiet = async () => {
    let before = ""
    for (let turn = 0; turn < 10; turn++) {
      const now = JSON.stringify(proxy.held())
      if (now === before) return
      before = now
      await sleep(300)
    }
  }
})
