/** `GuestProcesses` over an AgentSession. Every frame and answer of the agent is decoded and checked before it is passed on. */
import { Effect, Stream } from "effect"
import { FrameType, jsonFrame } from "../../agent/processes/processFrames.ts"
import { EXECUTES_MAX, routes } from "../../agent/wire.ts"
import type { GuestProcesses, ProcessFrame, ProcessSpec } from "../Guest.ts"
import type { AgentRequest } from "./AgentRequest.ts"
import type { AgentSession } from "./AgentSession.ts"
import { answerOf, refusalOf, unexpected } from "./answers.ts"
import { byteReader } from "./byteReader.ts"
import { CommandPermits } from "./CommandPermits.ts"
import { collectExecuted } from "./collectExecuted.ts"
import { roomIn, writeInput } from "./commandInput.ts"
import { heldTo } from "./heldToShape.ts"
import { faultOf, knownFault, type ProcessRefusal, startFault } from "./processFaults.ts"
import { FROM_THE_START, type Offsets } from "./processFrameOrder.ts"
import { processFrameReader } from "./processFrameReader.ts"

const decodeListed = heldTo(routes.list.answer.shape)
const decodeEvery = heldTo(routes.every.answer.shape)
const decodeNothing = heldTo(routes.start.answer.shape)

/** How long a call may take in a busy guest that still answers pings. */
const BUSY_MS = 60_000
/** Time beyond a command's own time-out, in which the guest ends the tree and reports it. */
const END_SLACK_MS = 10_000

const STARTS_MAX = 16
const EXECUTES_WAITING_MAX = 1_024
/** Measured from the request, because other services may run commands there too. It ends well before the guest would count as silent. */
const EXECUTE_LINE_MAX_MS = 45_000

const specBody = (key: string, spec: ProcessSpec) => ({
  key,
  argv: spec.argv,
  cwd: spec.cwd,
  env: spec.env,
  stdin: spec.stdin === null ? null : Buffer.from(spec.stdin).toString("base64"),
  timeoutMs: spec.timeoutMs,
  output: spec.output,
  ...(spec.turnsMax === undefined ? {} : { turnsMax: spec.turnsMax })
})

/** Calls of one key that are answered with nothing. */
const keyedCalls =
  (session: AgentSession) =>
  (
    route: (typeof routes)["start" | "acknowledge" | "kill" | "forget" | "endOne"],
    key: string,
    body: Readonly<Record<string, unknown>>,
    patienceMs = BUSY_MS
  ): Effect.Effect<void, ProcessRefusal> =>
    session
      .request({
        method: "POST",
        path: route.path,
        body: Buffer.from(JSON.stringify({ key, ...body })),
        patienceMs
      })
      .pipe(
        Effect.flatMap(({ status, stream }) => answerOf(route, status, stream, decodeNothing)),
        Effect.scoped,
        Effect.catchTag("RouteRefused", (refused) => Effect.fail(faultOf(refused, key))),
        Effect.asVoid,
        session.held
      )

const frameStreams =
  (session: AgentSession) =>
  (
    route: (typeof routes)["run" | "output"],
    key: string,
    from: Offsets,
    request: AgentRequest
  ): Stream.Stream<ProcessFrame, ProcessRefusal> =>
    Stream.scoped(
      Stream.fromPull(
        Effect.gen(function* () {
          const { status, stream } = yield* session.request({ ...request, patienceMs: BUSY_MS })
          if (status !== 200) return yield* Effect.fail(faultOf(yield* refusalOf(route, status, stream), key))
          return processFrameReader(yield* byteReader(stream), from)
        })
      )
    ).pipe(session.heldStream)

const executes = (session: AgentSession): GuestProcesses["execute"] => {
  /** Executes of one Sandbox: the agent lets no more run, those of other services counted, and a machine that starts hundreds at the same time answers none in time. */
  const running = new CommandPermits(EXECUTES_MAX, EXECUTES_WAITING_MAX)
  const starting = new CommandPermits(STARTS_MAX, EXECUTES_WAITING_MAX)
  return (key, spec) =>
    Effect.gen(function* () {
      const began = performance.now()
      yield* running.take
      const request = Effect.suspend(() => {
        const waitMs = Math.max(0, Math.ceil(EXECUTE_LINE_MAX_MS - (performance.now() - began)))
        return session.request({
          method: "POST",
          path: routes.execute.path,
          body: Buffer.from(JSON.stringify({ ...specBody(key, spec), waitMs })),
          patienceMs: BUSY_MS
        })
      })
      const { status, stream } = yield* starting.within(request)
      if (status === 200)
        return yield* collectExecuted(
          stream,
          spec.output.bytes,
          session.within(END_SLACK_MS) + (spec.timeoutMs ?? Number.POSITIVE_INFINITY)
        )
      return yield* Effect.fail(startFault(faultOf(yield* refusalOf(routes.execute, status, stream), key)))
    }).pipe(Effect.scoped, session.held)
}

const channels = (session: AgentSession): GuestProcesses["open"] =>
  Effect.fnUntraced(function* (spec) {
    const { stream, head } = yield* session.open({
      method: "POST",
      path: routes.channel.path,
      body: "open",
      patienceMs: BUSY_MS
    })
    const control = (message: Readonly<Record<string, unknown>>) =>
      Effect.sync(() => !stream.writable || stream.write(jsonFrame(FrameType.exited, message)))
    yield* control({ type: "start", key: "channel", ...spec })
    const { status } = yield* head
    if (status !== 200) {
      const refused = yield* session.held(refusalOf(routes.channel, status, stream))
      return yield* Effect.fail(startFault(faultOf(refused, "channel")))
    }
    const frames = processFrameReader(yield* byteReader(stream), FROM_THE_START)
    return {
      frames: session.heldStream(Stream.fromPull(Effect.succeed(frames))),
      write: (bytes) => writeInput(stream, bytes),
      end: Effect.asVoid(control({ type: "end" })),
      resize: ({ columns, rows }) =>
        Effect.flatMap(control({ type: "resize", columns, rows }), (hasRoom) => roomIn(stream, hasRoom)),
      signal: (signal) => Effect.asVoid(control({ type: "signal", signal }))
    }
  })

export const makeAgentProcesses = (session: AgentSession): GuestProcesses => {
  const call = keyedCalls(session)
  const frames = frameStreams(session)
  return {
    open: channels(session),
    execute: executes(session),
    start: (key, spec) => {
      // It may have to wait for days.
      const patienceMs = spec.turnsMax === undefined ? BUSY_MS : Number.POSITIVE_INFINITY
      return Effect.mapError(call(routes.start, key, specBody(key, spec), patienceMs), startFault)
    },
    run: (key, spec) =>
      frames(routes.run, key, FROM_THE_START, {
        method: "POST",
        path: routes.run.path,
        body: Buffer.from(JSON.stringify(specBody(key, spec)))
      }).pipe(Stream.mapError(startFault)),
    attach: (key, from) =>
      frames(routes.output, key, from, {
        method: "GET",
        path: `${routes.output.path}?key=${encodeURIComponent(key)}&stdout=${from.stdoutOffset}&stderr=${from.stderrOffset}`
      }).pipe(Stream.mapError(knownFault)),
    acknowledge: (key, upTo) => Effect.mapError(call(routes.acknowledge, key, { ...upTo }), knownFault),
    kill: (key, options) => Effect.mapError(call(routes.kill, key, options), knownFault),
    forget: (key) => Effect.mapError(call(routes.forget, key, {}), (fault) => startFault(knownFault(fault))),
    every: session.request({ method: "GET", path: routes.every.path, patienceMs: BUSY_MS }).pipe(
      Effect.flatMap(({ status, stream }) => answerOf(routes.every, status, stream, decodeEvery)),
      Effect.scoped,
      Effect.catchTag("RouteRefused", (refused) => Effect.fail(unexpected(refused))),
      session.held
    ),
    endOne: (process, options) =>
      Effect.mapError(call(routes.endOne, `${process.pid}`, { ...process, ...options }), knownFault),
    list: session.request({ method: "GET", path: routes.list.path, patienceMs: BUSY_MS }).pipe(
      Effect.flatMap(({ status, stream }) => answerOf(routes.list, status, stream, decodeListed)),
      Effect.scoped,
      Effect.catchTag("RouteRefused", (refused) => Effect.fail(unexpected(refused))),
      Effect.map(({ processes }) => processes),
      session.held
    )
  }
}
