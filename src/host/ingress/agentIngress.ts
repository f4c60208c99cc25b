/** Connects services to the agents of this host's Sandboxes. A connection names one agent (agentNaming.ts) and then belongs to it. */
import type { TLSSocket } from "node:tls"
import { Effect, FiberSet, Result, type Scope } from "effect"
import { readName, refusalFrame, taken } from "../../runtime/distant/agentNaming.ts"
import type { Runtime } from "../../runtime/Runtime.ts"
import { splice } from "./splice.ts"

/**
 * Each connection takes two descriptors, and up to a quarter of a megabyte while its slower end holds it back. Many services, each with a session to
 * every Sandbox that a host can carry and with its spare connections, stay far below this.
 */
const OPEN_MAX = 8192
/** A service keeps some connections open in advance, so that the first command of a Sandbox does not wait for a handshake. */
const SILENT_MS = 5 * 60_000
const WHOLE_MS = 5_000

export const agentIngress = (
  runtime: Runtime["Service"],
  hostId: string
): Effect.Effect<(socket: TLSSocket) => void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime()
    let open = 0

    const serve = (socket: TLSSocket) =>
      Effect.gen(function* () {
        const name = yield* Effect.promise(() => readName(socket, { silentMs: SILENT_MS, wholeMs: WHOLE_MS }))
        if (name === null) return
        const agent =
          name.hostId === hostId
            ? yield* Effect.result(runtime.connect(name.sandboxId, name.generation))
            : Result.fail({ message: "Another host is there by now." })
        if (Result.isFailure(agent)) {
          yield* refuse(socket, agent.failure.message)
          return
        }
        socket.write(taken)
        yield* splice(socket, agent.success)
      }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => socket.destroy())))

    return (socket) => {
      socket.on("error", () => {})
      if (open >= OPEN_MAX) return void socket.destroy()
      open++
      socket.once("close", () => open--)
      fork(serve(socket))
    }
  })

/** Completes when the sentence was sent or the connection broke. */
const refuse = (socket: TLSSocket, sentence: string) =>
  Effect.callback<void>((resume) => {
    socket.once("close", () => resume(Effect.void))
    socket.end(refusalFrame(sentence), () => resume(Effect.void))
  }).pipe(Effect.timeoutOption(WHOLE_MS))
