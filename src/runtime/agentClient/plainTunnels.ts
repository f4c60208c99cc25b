/** Dials a Sandbox's loopback by plain tunnels: each connection has its own socket to the agent (src/agent/plainFrames.ts). */
import type { OnReadOpts, Socket } from "node:net"
import { Effect, type Scope } from "effect"
import { answerLines, requestLine } from "../../agent/plainFrames.ts"
import { type GuestUnavailable, PortClosed } from "../Guest.ts"
import { PlainTunnel } from "./PlainTunnel.ts"
import { unavailable } from "./unavailable.ts"

const CONNECT_TIMEOUT_MS = 10_000

/** Opens a socket to the agent, whose reads go to `onread`. */
export type ConnectPlain = (onread: OnReadOpts) => Promise<Socket>

export interface PlainTunnels {
  /** Null: this agent knows only HTTP/2. */
  readonly dial: (port: number) => Effect.Effect<PlainTunnel | null, PortClosed | GuestUnavailable, Scope.Scope>
  /** Breaks all open connections. */
  readonly close: () => void
}

export const plainTunnels = (connect: ConnectPlain, within: (ms: number) => number): PlainTunnels => {
  const open = new Set<PlainTunnel>()
  /** An earlier version's agent answers with the beginning of HTTP/2. */
  let isUnknown = false

  const ask = async (tunnel: PlainTunnel, port: number): Promise<string | null> => {
    const timer = setTimeout(() => tunnel.destroy(new Error("it did not answer")), within(CONNECT_TIMEOUT_MS))
    try {
      const socket = await connect(tunnel.onread)
      if (tunnel.destroyed) socket.destroy()
      return tunnel.destroyed ? null : await tunnel.ask(socket, requestLine(port))
    } finally {
      clearTimeout(timer)
    }
  }

  const begin = Effect.sync(() => {
    const tunnel = new PlainTunnel()
    open.add(tunnel)
    return tunnel.once("close", () => open.delete(tunnel))
  })

  const dial = Effect.fnUntraced(function* (port: number) {
    if (isUnknown) return null
    const tunnel = yield* Effect.acquireRelease(begin, (made) => Effect.sync(() => void made.destroy()))
    const line = yield* Effect.tryPromise({
      try: () => ask(tunnel, port),
      catch: (cause) => unavailable(`The Sandbox's agent cannot be reached: ${(cause as Error).message}`, "unreached")
    })
    if (line === answerLines.open) return tunnel
    const { destroyed: isBroken, errored } = tunnel
    tunnel.destroy()
    if (line === answerLines.portClosed) return yield* new PortClosed({ port })
    if (line === answerLines.refused)
      return yield* Effect.fail(unavailable("The Sandbox's agent refused a connection", "unreached"))
    if (isBroken) return yield* Effect.fail(unavailable(`The Sandbox's agent: ${errored?.message}`, "lost"))
    isUnknown = true
    return null
  })

  return {
    dial,
    close: () => {
      for (const tunnel of [...open]) tunnel.destroy(new Error("the Sandbox's agent is no longer served"))
    }
  }
}
