/** `Guest` over one AgentSession: what every driver with a real agent hands out. */
import type { Duplex } from "node:stream"
import { Effect, Option, Schema, type Scope } from "effect"
import { PROTOCOL } from "../../agent/health.ts"
import { type Guest, GuestUnavailable, PortClosed } from "../Guest.ts"
import { makeAgentFiles } from "./AgentFiles.ts"
import { makeAgentProcesses } from "./AgentProcesses.ts"
import { type AgentAnswer, type AgentSession, readAnswer } from "./AgentSession.ts"
import { withoutEmptyWrites } from "./emptyWrites.ts"

const HEALTH_TIMEOUT_MS = 10_000

const Health = Schema.Struct({
  protocol: Schema.Int,
  generation: Schema.NullOr(Schema.Int),
  bootId: Schema.String,
  pid: Schema.Int,
  processTrees: Schema.Literals(["cgroup", "mark"])
})
export type AgentHealth = typeof Health.Type

const decodeHealth = Schema.decodeUnknownOption(Health)
const decodeFailure = Schema.decodeUnknownOption(Schema.Struct({ code: Schema.String }))

/** Who answers there. Fails when nobody does within the time, or when its protocol is not ours. */
export const agentHealth = (
  session: AgentSession,
  timeoutMs = HEALTH_TIMEOUT_MS
): Effect.Effect<AgentHealth, GuestUnavailable> =>
  Effect.flatMap(getHealth(session, timeoutMs), ({ status, body }) => {
    const health = status === 200 ? Option.getOrNull(decodeHealth(body)) : null
    if (health === null) return Effect.fail(new GuestUnavailable({ message: "The Sandbox's agent broke its protocol" }))
    if (health.protocol === PROTOCOL) return Effect.succeed(health)
    return Effect.fail(
      new GuestUnavailable({
        message: `The Sandbox's agent speaks protocol ${health.protocol} and not ${PROTOCOL}: stop and start the Sandbox`
      })
    )
  })

const getHealth = (session: AgentSession, timeoutMs: number): Effect.Effect<AgentAnswer, GuestUnavailable> =>
  session.request({ method: "GET", path: "/v1/health", headTimeoutMs: timeoutMs }).pipe(
    Effect.flatMap(({ status, stream }) => Effect.map(readAnswer(stream), (body) => ({ status, body }))),
    Effect.scoped
  )

/** One TCP connection to the Sandbox's loopback. */
const dial = (session: AgentSession, port: number): Effect.Effect<Duplex, PortClosed | GuestUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const { status, stream } = yield* session.request({
      method: "CONNECT",
      path: null,
      headers: { ":authority": `localhost:${port}` },
      body: "open"
    })
    if (status === 200) return withoutEmptyWrites(stream)
    const failure = Option.getOrNull(decodeFailure(yield* readAnswer(stream)))
    if (failure?.code === "PORT_CLOSED") return yield* new PortClosed({ port })
    return yield* new GuestUnavailable({ message: `The Sandbox's agent answered ${status} to a connection` })
  })

export const makeAgentGuest = (session: AgentSession): Guest => ({
  processes: makeAgentProcesses(session),
  files: makeAgentFiles(session),
  dial: (port) => dial(session, port)
})
