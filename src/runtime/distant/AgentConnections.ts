/**
 * A service's connections to the agents of one host. Some are opened in advance and name no Sandbox yet, so that its first command waits for no
 * handshake. Each one that is taken is replaced soon after. If none is taken for a while, none is kept.
 */
import type { Duplex } from "node:stream"
import type { TLSSocket } from "node:tls"
import { Effect, Exit, Scope } from "effect"
import { type PeerPlace, PeerSockets } from "../../peer/PeerSockets.ts"
import { type AgentName, nameFrame, readAnswer } from "./agentNaming.ts"

const AHEAD = 2
/** The taker of a connection sends a request just now, which the next handshake must not delay. */
const REPLACED_AFTER_MS = 50
/** Less than a host waits for a name. */
const AHEAD_MAX_MS = 4 * 60_000
/** Less than a session waits for its connection. */
const ANSWER_MS = 8_000
const SILENCE = "The host of the Sandbox does not answer."
/** A connection that was opened in advance answers immediately, or is broken. */
const AHEAD_ANSWER_MS = 2_000

export interface AgentConnections {
  /** Rejects with a sentence when that generation does not run there, or the host does not answer. */
  readonly open: (sandboxId: string, generation: number) => Promise<Duplex>
  /** A connection will be wanted soon. */
  readonly prepare: () => void
  /** Closes the connections opened in advance, because they may be broken. */
  readonly discard: () => void
}

interface Ahead {
  readonly socket: TLSSocket
  readonly timer: NodeJS.Timeout
}

export const agentConnections = (
  hostId: string,
  to: PeerPlace
): Effect.Effect<AgentConnections, never, Scope.Scope | PeerSockets> =>
  Effect.gen(function* () {
    const sockets = yield* PeerSockets
    const all = yield* Effect.scope
    const run = Effect.runPromiseWith(yield* Effect.context<never>())
    const ahead: Array<Ahead> = []
    let dialling = 0
    let replacing: NodeJS.Timeout | null = null
    let isOver = false

    /** Connects in a separate scope, which closes with the connection. */
    const dial = (): Promise<TLSSocket> =>
      run(
        Effect.gen(function* () {
          const own = yield* Scope.fork(all)
          const socket = yield* sockets.connect(to, "atoll-agent/1").pipe(
            // The host's address must not be shown to the user of the Sandbox.
            Effect.tapError(({ message }) => Effect.logDebug(message)),
            Effect.mapError(() => new Error(SILENCE)),
            Scope.provide(own),
            Effect.onError(() => Scope.close(own, Exit.void))
          )
          socket.on("error", () => {}).once("close", () => void run(Scope.close(own, Exit.void)))
          return socket
        })
      )

    const keep = (socket: TLSSocket) => {
      const timer = setTimeout(() => socket.destroy(), AHEAD_MAX_MS).unref()
      const kept = { socket, timer }
      socket.once("close", () => {
        clearTimeout(timer)
        const at = ahead.indexOf(kept)
        if (at >= 0) ahead.splice(at, 1)
      })
      ahead.push(kept)
    }

    const prepare = () => {
      for (let missing = AHEAD - ahead.length - dialling; missing > 0 && !isOver; missing--) {
        dialling++
        dial()
          .then((socket) => (isOver || socket.destroyed ? socket.destroy() : keep(socket)))
          // A caller that needs a connection dials itself and gets the error.
          .catch(() => {})
          .finally(() => dialling--)
      }
    }

    const replaceSoon = () => {
      replacing ??= setTimeout(() => {
        replacing = null
        prepare()
      }, REPLACED_AFTER_MS).unref()
    }

    const discard = () => {
      for (const { socket } of [...ahead]) socket.destroy()
    }

    const take = (): TLSSocket | null => {
      const kept = ahead.pop()
      if (kept === undefined) return null
      clearTimeout(kept.timer)
      return kept.socket
    }

    const named = async (socket: TLSSocket, name: AgentName, withinMs = ANSWER_MS): Promise<Duplex | undefined> => {
      socket.write(nameFrame(name))
      const refusal = await readAnswer(socket, withinMs)
      if (refusal === null) return socket
      socket.destroy()
      if (refusal !== undefined) throw new Error(refusal)
      return undefined
    }

    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isOver = true
        if (replacing !== null) clearTimeout(replacing)
        discard()
      })
    )

    return {
      prepare,
      discard,
      open: async (sandboxId, generation) => {
        const name = { hostId, sandboxId, generation }
        const kept = take()
        replaceSoon()
        if (kept !== null) {
          const opened = await named(kept, name, AHEAD_ANSWER_MS)
          if (opened !== undefined) return opened
          // The connection was broken, and so are those opened with it. The host did not accept the name, so nothing was done.
          discard()
        }
        const opened = await named(await dial(), name)
        if (opened === undefined) throw new Error(SILENCE)
        return opened
      }
    }
  })
