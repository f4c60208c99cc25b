/** `Guest` over one AgentSession, for every driver with a real agent. */
import type { Duplex } from "node:stream"
import { Effect, type Scope } from "effect"
import { PROTOCOL } from "../../agent/health.ts"
import { routes, type Said } from "../../agent/wire.ts"
import { type Guest, GuestUnavailable, PortClosed } from "../Guest.ts"
import { makeAgentFiles } from "./AgentFiles.ts"
import { makeAgentProcesses } from "./AgentProcesses.ts"
import type { AgentSession } from "./AgentSession.ts"
import { answerOf, refusalOf, unexpected } from "./answers.ts"
import { withoutEmptyWrites } from "./emptyWrites.ts"
import { heldTo } from "./heldToShape.ts"

const HEALTH_TIMEOUT_MS = 10_000

const decodeHealth = heldTo(routes.health.answer.shape)
export type AgentHealth = Said<typeof routes.health.answer.shape>

/** Reads the agent's health. Fails when no agent answers within the time, or when its protocol version differs. */
export const agentHealth = (
  session: AgentSession,
  timeoutMs = HEALTH_TIMEOUT_MS
): Effect.Effect<AgentHealth, GuestUnavailable> =>
  session.request({ method: "GET", path: routes.health.path, headTimeoutMs: timeoutMs }).pipe(
    Effect.flatMap(({ status, stream }) => answerOf(routes.health, status, stream, decodeHealth)),
    Effect.scoped,
    Effect.catchTag("RouteRefused", (refused) => Effect.fail(unexpected(refused))),
    Effect.flatMap((health) => {
      if (health.protocol === PROTOCOL) return Effect.succeed(health)
      return Effect.fail(
        new GuestUnavailable({
          message: `The Sandbox's agent speaks protocol ${health.protocol} and not ${PROTOCOL}: stop and start the Sandbox`
        })
      )
    }),
    session.held
  )

/** One TCP connection to the Sandbox's loopback. */
const dial = (
  session: AgentSession,
  port: number
): Effect.Effect<Duplex, PortClosed | GuestUnavailable, Scope.Scope> => {
  const { tunnels } = session
  return tunnels === null
    ? dialInSession(session, port)
    : Effect.flatMap(tunnels.dial(port), (tunnel) =>
        tunnel === null ? dialInSession(session, port) : Effect.succeed(tunnel)
      )
}

const dialInSession = (
  session: AgentSession,
  port: number
): Effect.Effect<Duplex, PortClosed | GuestUnavailable, Scope.Scope> =>
  Effect.gen(function* () {
    const { status, stream } = yield* session.request({
      method: "CONNECT",
      path: null,
      headers: { ":authority": `localhost:${port}` },
      body: "open"
    })
    if (status === 200) return withoutEmptyWrites(stream)
    const refused = yield* refusalOf(routes.dial, status, stream)
    return yield* refused.code === "PORT_CLOSED" ? new PortClosed({ port }) : unexpected(refused)
  }).pipe(session.held)

export const makeAgentGuest = (session: AgentSession): Guest => ({
  processes: makeAgentProcesses(session),
  files: makeAgentFiles(session),
  dial: (port) => dial(session, port)
})
