/**
 * What breaks between a service and a Sandbox on another machine, and what does not: links, host processes, slow
 * readers, malformed clients.
 */
import { once } from "node:events"
import { rmSync } from "node:fs"
import type { TLSSocket } from "node:tls"
import { assert, describe, expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { PeerSockets } from "../../../../src/peer/PeerSockets.ts"
import { nameFrame } from "../../../../src/runtime/distant/agentNaming.ts"
import { distantRuntime } from "../../../../src/runtime/distant/distantRuntime.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { dataFolder, driverOn, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { eventually, freshKey, gather, output, run, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { Link } from "../../../support/runtime/distant/Link.ts"
import { hostId, peers, served } from "../../../support/runtime/distant/TestDistant.ts"
import { upload } from "../../../support/upload.ts"

const MiB = 1024 ** 2

/** Reads two bytes, one, and then nothing; echoes what it reads. */
const echoing = (port: string) =>
  `python3 -c "
import socket
s = socket.create_server(('127.0.0.1', ${port}))
print('up', flush=True)
while True:
  c = s.accept()[0]
  while True:
    b = c.recv(65536)
    if not b: break
    c.sendall(b)
  c.close()
"`

describe.skipIf(skipped(unusable))("a Sandbox on another machine", () => {
  /** A host process on a folder, which can be ended and restarted, a link to it, and a service at the other end. */
  const world = Effect.gen(function* () {
    const sockets = Context.get(yield* Layer.build(peers), PeerSockets)
    const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
      Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const life = yield* Effect.acquireRelease(
      Effect.sync(() => ({ scope: Scope.makeUnsafe() })),
      ({ scope }) => Scope.close(scope, Exit.void)
    )
    const start = (port: number) =>
      Effect.suspend(() => {
        life.scope = Scope.makeUnsafe()
        return Effect.gen(function* () {
          const near = Context.get(yield* Layer.build(driverOn(folder)), Runtime)
          return yield* Effect.provideService(served(near, port), PeerSockets, sockets)
        }).pipe(Scope.provide(life.scope))
      })
    const at = yield* start(0)
    const link = yield* Link.to(at.port)
    const far = yield* distantRuntime(hostId, { host: "127.0.0.1", port: link.port }).pipe(
      Effect.provideService(PeerSockets, sockets)
    )
    yield* Effect.addFinalizer(() => Effect.orDie(far.destroy("sandbox")))
    yield* far.provision(sandboxSpec("sandbox"))
    return {
      ...{ sockets, link, far, at },
      /** The process of the host ends and another one begins; its Sandboxes run on. */
      restart: Effect.suspend(() => Effect.andThen(Scope.close(life.scope, Exit.void), start(at.port)))
    }
  })
  const guestOf = ({ far }: Effect.Success<typeof world>) => far.guest("sandbox", 1)

  it.live("loses with a cut link the answers in flight and nothing else", () =>
    Effect.gen(function* () {
      const there = yield* world
      const { link } = there
      const guest = yield* guestOf(there)
      yield* guest.files.write("/workspace/kept", upload([Buffer.from("before")]))
      const key = freshKey()
      const counting = "seq 2000; while [ ! -e /workspace/go ]; do sleep 0.05; done; seq 2001 4000"
      yield* guest.processes.start(key, shell(counting, { output: { mode: "window", bytes: 1 * MiB } }))
      yield* guest.processes.start("echo", shell(echoing("7001")))
      yield* eventually(Effect.map(Effect.exit(Effect.scoped(guest.dial(7001))), (dialled) => Exit.isSuccess(dialled)))

      const half = yield* Deferred.make<void>()
      const uploading = guest.files.write(
        "/workspace/kept",
        upload(
          (async function* () {
            for (let at = 0; at < 8; at++) yield Buffer.alloc(64 * 1024)
            Deferred.doneUnsafe(half, Effect.void)
            await new Promise(() => {})
          })()
        )
      )
      const executing = guest.processes.execute(freshKey(), shell("sleep 600"))
      const following = gather(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
      const tunnel = yield* guest.dial(7001)
      const ended = new Promise((resolve) => tunnel.on("error", () => {}).once("close", resolve))
      const fibers = yield* Effect.forEach([uploading, executing, following], (act) =>
        Effect.forkChild(Effect.flip(act as Effect.Effect<unknown, { readonly fault?: string }>), {
          startImmediately: true
        })
      )
      yield* Deferred.await(half)
      const other = yield* Effect.forkChild(Effect.flip(run(guest, shell("sleep 600"))), { startImmediately: true })
      yield* eventually(Effect.map(guest.processes.every, ({ processes }) => processes.length >= 4))
      link.cut()
      for (const fiber of [...fibers, other]) {
        expect(yield* Fiber.join(fiber as Fiber.Fiber<unknown>)).toMatchObject({ fault: "lost" })
      }
      yield* Effect.promise(() => ended)

      // The agent is unreachable, so nothing is done.
      expect(yield* Effect.flip(guest.processes.list)).toMatchObject({ fault: "unreached" })
      yield* eventually(Effect.map(Effect.exit(guestOf(there)), Exit.isFailure))
      const { fault, message } = yield* Effect.flip(guestOf(there))
      expect({ fault, message }).toEqual({ fault: "unreached", message: "The host of the Sandbox does not answer." })
      yield* eventually(Effect.map(Effect.exit(there.far.inventory), Exit.isFailure))

      link.mend()
      yield* eventually(Effect.map(Effect.exit(guestOf(there)), Exit.isSuccess))
      const again = yield* guestOf(there)
      yield* output(again, "touch /workspace/go")
      const { stdout } = yield* gather(again.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
      expect(stdout).toBe(Array.from({ length: 4000 }, (_, at) => `${at + 1}\n`).join(""))
      expect(yield* output(again, "cat /workspace/kept")).toBe("before")
      // A holder of the old guest is connected again.
      expect(yield* output(guest, "echo well")).toBe("well")
      yield* eventually(Effect.map(Effect.exit(there.far.inventory), Exit.isSuccess))
    }).pipe(Effect.scoped)
  )

  it.live("runs on when the host's process is restarted, and no output is lost", () =>
    Effect.gen(function* () {
      const there = yield* world
      const guest = yield* guestOf(there)
      const key = freshKey()
      const script = "seq 3000; while [ ! -e /workspace/go ]; do sleep 0.05; done; echo end"
      yield* guest.processes.start(key, shell(script, { output: { mode: "window", bytes: 1 * MiB } }))
      const first = yield* Stream.runHead(guest.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
      expect(first._tag).toBe("Some")
      const downs: Array<string> = []
      yield* Effect.forkChild(
        Stream.runForEach(there.far.downs, ({ sandboxId }) => Effect.sync(() => void downs.push(sandboxId)))
      )
      yield* there.restart
      yield* eventually(Effect.map(Effect.exit(guestOf(there)), Exit.isSuccess))
      const again = yield* guestOf(there)
      yield* output(again, "touch /workspace/go")
      const { stdout } = yield* gather(again.processes.attach(key, { stdoutOffset: 0, stderrOffset: 0 }))
      expect(stdout).toBe(`${Array.from({ length: 3000 }, (_, at) => `${at + 1}\n`).join("")}end\n`)
      yield* eventually(Effect.map(Effect.exit(there.far.inventory), Exit.isSuccess))
      expect(yield* there.far.inventory).toEqual([{ sandboxId: "sandbox", state: "running", generation: 1 }])
      // The new process reports a death as the old one did, over a stream that stayed open.
      expect(downs).toEqual([])
      yield* Effect.exit(run(again, shell("kill -KILL 2; sleep 60")))
      yield* eventually(Effect.sync(() => downs.length === 1))
    }).pipe(Effect.scoped)
  )

  it.live("applies backpressure for a reader that does not read, with a megabyte or two in flight", () =>
    Effect.gen(function* () {
      const there = yield* world
      const guest = yield* guestOf(there)
      const { link } = there
      const settled = Effect.gen(function* () {
        for (let before = -1, same = 0; same < 3; before = link.bytesBack) {
          yield* Effect.sleep("150 millis")
          same = link.bytesBack === before ? same + 1 : 0
        }
        return link.bytesBack
      })
      const before = link.bytesBack
      const held = process.memoryUsage().external
      const channel = yield* guest.processes.open({
        ...{ argv: ["sh", "-c", "yes | head -c 300000000"], cwd: "/workspace", env: {}, terminal: null },
        purpose: "ssh"
      })
      const sent = (yield* settled) - before
      expect(sent).toBeGreaterThan(0)
      expect(sent).toBeLessThan(8 * MiB)
      expect(process.memoryUsage().external - held).toBeLessThan(32 * MiB)
      // Other streams of the same Sandbox go on, and so does this one once it is read.
      expect(yield* output(guest, "echo well")).toBe("well")
      let read = 0
      yield* channel.frames.pipe(
        Stream.takeUntil((frame) => {
          if (frame.type === "output") read += frame.bytes.length
          return read > 30 * MiB
        }),
        Stream.runDrain
      )
      expect(link.bytesBack - before).toBeGreaterThan(30 * MiB)
    }).pipe(Effect.scoped)
  )

  it.live("is closed to a client that does not name a running Sandbox", () =>
    Effect.gen(function* () {
      const { sockets, at, far } = yield* world
      const dial = sockets.connect(at, "atoll-agent/1")
      const answer = (socket: TLSSocket) =>
        Effect.promise(async () => {
          const chunks: Array<Buffer> = []
          socket.on("data", (chunk: Buffer) => chunks.push(chunk))
          if (!socket.closed) await new Promise((resolve) => socket.once("close", resolve))
          return Buffer.concat(chunks)
        })
      const sentence = (said: Buffer) => {
        assert.strictEqual(said[0], said.length - 1)
        return said.subarray(1).toString()
      }
      const asking = (bytes: Buffer) =>
        Effect.gen(function* () {
          const socket = yield* dial
          socket.write(bytes)
          return yield* answer(socket)
        }).pipe(Effect.scoped)

      const name = { hostId, sandboxId: "sandbox", generation: 1 }
      const json = (value: unknown) => {
        const text = Buffer.from(JSON.stringify(value))
        return Buffer.concat([Buffer.of(text.length >> 8, text.length & 255), text])
      }
      for (const nonsense of [
        Buffer.of(0, 0),
        Buffer.concat([Buffer.of(255, 255), Buffer.alloc(65_535, 32)]),
        Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        Buffer.concat([Buffer.of(0, 4), Buffer.from("null")]),
        json({ ...name, sandboxId: "x".repeat(65) }),
        json({ ...name, generation: -1 }),
        json({ ...name, generation: 1.5 })
      ]) {
        expect(yield* asking(nonsense)).toEqual(Buffer.alloc(0))
      }
      expect(sentence(yield* asking(nameFrame({ ...name, generation: 2 })))).toContain("does not run")
      expect(sentence(yield* asking(nameFrame({ ...name, sandboxId: "../sandbox" })))).not.toBe("")
      expect(sentence(yield* asking(nameFrame({ ...name, hostId: `host_${"b".repeat(24)}` })))).toContain(
        "Another host"
      )

      // One byte after the other is as good as all together.
      const slow = yield* dial
      for (const byte of nameFrame(name)) slow.write(Buffer.of(byte))
      yield* Effect.promise(() => once(slow, "readable"))
      expect(slow.read(1)).toEqual(Buffer.of(0))
      // The agent's end of it is open: greeted as HTTP/2 wants it, it answers with its settings.
      slow.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
      yield* Effect.promise(async () => {
        while (slow.readableLength === 0) await once(slow, "readable")
      })

      const others = yield* Effect.flip(
        distantRuntime(`host_${"b".repeat(24)}`, at).pipe(Effect.provideService(PeerSockets, sockets))
      )
      expect(others.message).toContain("Another host")
      expect(yield* Effect.flip(far.guest("unknown", 1))).toMatchObject({ fault: "unreached" })
    }).pipe(Effect.scoped)
  )
})
