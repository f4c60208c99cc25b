/** The service against an agent that was taken over: every answer is bounded, and a breach is a GuestUnavailable. */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { FrameType, frameHead } from "../../../src/agent/processes/processFrames.ts"
import { agentHealth } from "../../../src/runtime/agentClient/AgentGuest.ts"
import { makeAgentProcesses } from "../../../src/runtime/agentClient/AgentProcesses.ts"
import { type AgentSession, makeAgentSession } from "../../../src/runtime/agentClient/AgentSession.ts"
import { exitedFrame, settledFrame as settled } from "../../support/agent/hostile/endFrames.ts"

type Answer = (stream: ServerHttp2Stream) => void

const against = (answer: Answer) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const folder = mkdtempSync(join(tmpdir(), "atoll-hostile-"))
      const server = createServer()
      const sessions = new Set<ServerHttp2Session>()
      server.on("session", (session) => sessions.add(session))
      server.on("sessionError", () => {})
      server.on("stream", (stream) => {
        stream.on("error", () => {})
        answer(stream)
      })
      const path = join(folder, "socket")
      await new Promise<void>((resolve) => server.listen(path, resolve))
      const session = makeAgentSession({
        connect: () =>
          new Promise((resolve, reject) => {
            const socket = connect(path, () => resolve(socket)).on("error", reject)
          })
      })
      return { folder, server, sessions, session }
    }),
    ({ folder, server, sessions, session }) =>
      Effect.promise(async () => {
        session.close()
        for (const it of sessions) it.destroy()
        await new Promise((resolve) => server.close(resolve))
        rmSync(folder, { recursive: true, force: true })
      })
  ).pipe(Effect.map(({ session }) => session))

const breaches = (title: string, answer: Answer, call: (session: AgentSession) => Effect.Effect<unknown, unknown>) =>
  it.live(title, () =>
    Effect.gen(function* () {
      const session = yield* against(answer)
      expect(yield* Effect.flip(call(session))).toMatchObject({ _tag: "GuestUnavailable" })
    }).pipe(Effect.scoped)
  )

const json =
  (value: unknown, status = 200): Answer =>
  (stream) => {
    stream.respond({ ":status": status })
    stream.end(JSON.stringify(value))
  }

const frames =
  (...parts: ReadonlyArray<Buffer>): Answer =>
  (stream) => {
    stream.respond({ ":status": 200 })
    for (const part of parts) stream.write(part)
    stream.end()
  }

const attach = (session: AgentSession) =>
  Stream.runDrain(makeAgentProcesses(session).attach("key", { stdoutOffset: 0, stderrOffset: 0 }))

describe("a hostile agent", () => {
  breaches(
    "that answers nothing is given up",
    () => {},
    (session) => Effect.scoped(session.request({ method: "GET", path: "/v1/health", headTimeoutMs: 50 }))
  )
  breaches(
    "that speaks another protocol version is not used",
    json({ protocol: 99, generation: 1, bootId: "x", pid: 2, processTrees: "mark" }),
    agentHealth
  )
  breaches("that answers health with nonsense is not believed", json({ protocol: "1" }), agentHealth)
  breaches(
    "that floods a control answer is cut off",
    (stream) => {
      stream.respond({ ":status": 200 })
      const more = () => {
        while (!stream.destroyed && stream.write(Buffer.alloc(64 * 1024))) {}
      }
      stream.on("drain", more)
      more()
    },
    agentHealth
  )
  breaches(
    "that breaks off a control answer is noticed",
    (stream) => {
      stream.respond({ ":status": 200 })
      stream.write('{"processes":')
      setImmediate(() => stream.close(2))
    },
    (session) => makeAgentProcesses(session).list
  )
  breaches(
    "that lists impossible processes is not believed",
    json({ processes: [{ key: 1 }] }),
    (session) => makeAgentProcesses(session).list
  )
  breaches(
    "that refuses with an unknown code is only unavailable",
    json({ code: "X".repeat(10_000), message: "m" }, 409),
    (session) => makeAgentProcesses(session).forget("key")
  )
  breaches(
    "that answers a start with an unknown process is only unavailable",
    json({ code: "PROCESS_UNKNOWN", message: "m" }, 404),
    (session) =>
      makeAgentProcesses(session).start("key", {
        argv: ["true"],
        cwd: "/workspace",
        env: {},
        stdin: null,
        timeoutMs: null,
        output: { mode: "head", bytes: 1 }
      })
  )
  breaches("that sends frames of no known type is cut off", frames(Buffer.alloc(64, 0xff)), attach)
  breaches("that announces a frame of a gigabyte is cut off", frames(frameHead(FrameType.stdout, 0, 2 ** 30)), attach)
  breaches("that sends a negative offset is cut off", frames(frameHead(FrameType.stdout, -1, 1), Buffer.of(0)), attach)
  const piece = (offset: number) => Buffer.concat([frameHead(FrameType.stdout, offset, 2), Buffer.from("hi")])
  const end = exitedFrame({ stdoutBytes: 100 })
  breaches("that repeats an offset is cut off", frames(piece(0), piece(0), end, settled), attach)
  breaches("that leaves out bytes is cut off", frames(piece(0), piece(4), end, settled), attach)
  breaches("that sends output after exited is cut off", frames(end, piece(0), settled), attach)
  breaches("that counts fewer bytes than it sent is cut off", frames(piece(0), exitedFrame(), settled), attach)
  breaches("that ends before settled is noticed", frames(exitedFrame()), attach)
  breaches("that says more after settled is cut off", frames(settled, exitedFrame()), attach)
  breaches("that invents an exit code is not believed", frames(exitedFrame({ exitCode: "0" }), settled), attach)
  breaches("that invents a signal is not believed", frames(exitedFrame({ signal: "<script>" }), settled), attach)
  breaches(
    "that ends in the middle of a frame is noticed",
    frames(frameHead(FrameType.stdout, 0, 10), Buffer.alloc(5)),
    attach
  )

  it.live("that answers properly is believed, after all that", () =>
    Effect.gen(function* () {
      const session = yield* against(
        frames(frameHead(FrameType.stdout, 0, 2), Buffer.from("hi"), exitedFrame({ stdoutBytes: 2 }), settled)
      )
      const all = yield* Stream.runCollect(
        makeAgentProcesses(session).attach("key", { stdoutOffset: 0, stderrOffset: 0 })
      )
      expect([...all].map((it) => it.type)).toEqual(["output", "exited", "settled"])
    }).pipe(Effect.scoped)
  )

  it.live("a session that broke is opened again by the next request", () =>
    Effect.gen(function* () {
      let calls = 0
      const session = yield* against((stream) => {
        if (++calls === 1) stream.session?.destroy()
        else json({ processes: [] })(stream)
      })
      const { list } = makeAgentProcesses(session)
      expect(yield* Effect.flip(list)).toMatchObject({ _tag: "GuestUnavailable" })
      expect(yield* list).toEqual([])
    }).pipe(Effect.scoped)
  )
})
