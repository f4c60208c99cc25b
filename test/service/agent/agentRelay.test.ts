/** Own process: it counts the connections and the memory of the process. */
/** Several services use one agent that takes a single connection: each reaches it over a relay, as if it were alone. */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Duplex } from "node:stream"
import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeAgentGuest } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { relayAgent } from "../../../src/runtime/agentClient/AgentRelay.ts"
import { makeAgentSession } from "../../../src/runtime/agentClient/AgentSession.ts"
import { collectGarbage } from "../../support/collectGarbage.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"
import { commandSpec, eventually, freshKey } from "../../support/runtime/contract/commands.ts"
import { upload } from "../../support/upload.ts"

const MiB = 1024 ** 2

/** An agent, and the guests of services that reach it over one session. */
const agentOf = (services: number) =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "atoll-agent-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    )
    mkdirSync(join(folder, "workspace"))
    const agent = yield* Effect.acquireRelease(
      Effect.promise(() => TestAgent.start(folder)),
      (agent) => Effect.promise(() => agent.kill())
    )
    const guests = Array.from({ length: services }, () => {
      const relays: Array<Duplex> = []
      const session = makeAgentSession({
        connect: async () => {
          const relay = relayAgent(agent.session)
          relays.push(relay)
          return relay
        }
      })
      return { ...makeAgentGuest(session), relays, session }
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => guests.forEach(({ session }) => session.close())))
    return { agent, workspace: join(folder, "workspace"), guests }
  })

const spec = (folder: string, script: string) => commandSpec(["sh", "-c", script], { cwd: folder })

/** Sends endlessly to each connection, or echoes its bytes and its end. */
const listening = (kind: "endless" | "echo") =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const piece = Buffer.alloc(65_536)
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        socket.on("error", () => {})
        if (kind === "echo") return void socket.pipe(socket)
        const push = () => {
          while (socket.write(piece));
          socket.once("drain", push)
        }
        push()
      }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close())
  ).pipe(Effect.map((server) => (server.address() as AddressInfo).port))

it.live("many concurrent streams of several services each carry exactly their own bytes", () =>
  Effect.gen(function* () {
    const { guests, workspace } = yield* agentOf(3)
    const port = yield* listening("echo")
    const work = guests.flatMap((guest, service) => {
      const content = Buffer.alloc(4 * MiB, `${service} says so. `)
      const filing = Effect.gen(function* () {
        const path = `/workspace/${service}`
        const pieces = Array.from({ length: 64 }, (_, at) => content.subarray(at * 65_536, (at + 1) * 65_536))
        yield* guest.files.write(path, upload(pieces))
        const read = yield* guest.files.read(path, { offset: 0, maxBytes: 4 * MiB, version: null })
        const digest = createHash("sha256")
        yield* Effect.promise(async () => {
          for await (const chunk of read.body) digest.update(chunk)
        })
        expect(digest.digest("hex")).toBe(createHash("sha256").update(content).digest("hex"))
      }).pipe(Effect.scoped)
      const executing = Effect.gen(function* () {
        const said = `${service}`.repeat(100_000)
        const { stdout } = yield* guest.processes.execute(
          freshKey(),
          spec(workspace, `head -c 100000 /dev/zero | tr '\\0' ${service}`)
        )
        expect(Buffer.from(stdout).toString()).toBe(said)
      })
      const echoing = Effect.gen(function* () {
        const stream = yield* guest.dial(port)
        const back = yield* Effect.promise(async () => {
          let text = ""
          stream.end(`${service} `.repeat(50_000))
          for await (const chunk of stream) text += String(chunk)
          return text
        })
        expect(back).toBe(`${service} `.repeat(50_000))
      }).pipe(Effect.scoped)
      return [filing, echoing, ...Array.from({ length: 10 }, () => executing)]
    })
    yield* Effect.all(work, { concurrency: "unbounded" })
  }).pipe(Effect.scoped)
)

it.live("an unread stream, a reset stream and a relay that ends affect no other stream", () =>
  Effect.gen(function* () {
    const { agent, guests, workspace } = yield* agentOf(2)
    const [one, other] = guests as [(typeof guests)[0], (typeof guests)[0]]
    const port = yield* listening("endless")
    const own = makeAgentGuest(agent.session)
    const running = Effect.map(own.processes.list, (all) => all.filter((it) => it.running).map(({ key }) => key))

    const heldNow = () => {
      collectGarbage()
      return process.memoryUsage().external
    }
    const held = heldNow()
    for (let at = 0; at < 16; at++) yield* one.dial(port)
    const lasting = (guest: typeof one, key: string) =>
      Effect.forkChild(Effect.flip(guest.processes.execute(key, spec(workspace, "sleep 600"))), {
        startImmediately: true
      })
    const interrupted = yield* lasting(one, "interrupted")
    const cut = yield* lasting(one, "cut")
    const kept = yield* lasting(other, "kept")
    yield* eventually(Effect.map(running, (keys) => keys.length === 3))
    expect(heldNow() - held).toBeLessThan(48 * MiB)

    yield* Fiber.interrupt(interrupted)
    yield* eventually(Effect.map(running, (keys) => !keys.includes("interrupted")))
    expect((yield* running).toSorted()).toEqual(["cut", "kept"])

    for (const relay of one.relays) relay.destroy()
    expect(yield* Fiber.join(cut)).toMatchObject({ fault: "lost" })
    yield* eventually(Effect.map(running, (keys) => keys.length === 1))
    expect(yield* running).toEqual(["kept"])
    // The service reconnects over another relay.
    yield* one.processes.list

    yield* Effect.promise(() => agent.kill())
    expect(yield* Fiber.join(kept)).toMatchObject({ fault: "lost" })
    // The relay runs and the agent does not: the caller learns that nothing was done.
    expect(yield* Effect.flip(other.processes.list)).toMatchObject({ fault: "unreached" })
  }).pipe(Effect.scoped)
)

// A failing run would compute without end and take all memory.
it("answers without a body leave the host idle", () => {
  const fixture = join(import.meta.dirname, "fixtures/emptyAnswers.ts")
  const { stdout, stderr } = spawnSync(process.execPath, [fixture], {
    encoding: "utf8",
    timeout: 60_000,
    killSignal: "SIGKILL"
  })
  expect(stdout, stderr).toBe("40 answers")
}, 90_000)
