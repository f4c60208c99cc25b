/** Processes of a fleet reduced to their ends of connections, and their log. */
import { once } from "node:events"
import type { TLSSocket } from "node:tls"
import { Context, Effect, Layer, Logger } from "effect"
import { type PeerProtocol, PeerSockets } from "../../../src/peer/PeerSockets.ts"
import { PeerSocketsLive } from "../../../src/peer/PeerSocketsLive.ts"
import { testSettings } from "../TestSettings.ts"

export const loopback = "127.0.0.1"

export const logged: Array<string> = []

export const remember = Logger.layer([Logger.make(({ message }) => void logged.push([message].flat().join(" ")))])

/** With its credentials, for as long as the scope lasts. */
export const peer = (environment: Readonly<Record<string, string>>) =>
  Layer.build(
    Layer.fresh(PeerSocketsLive.layer).pipe(Layer.provide(testSettings(environment)), Layer.provide(remember))
  ).pipe(Effect.map((context) => Context.get(context, PeerSockets)))

type Peer = PeerSockets["Service"]

/** Sends each connection the name of its protocol, and then echoes its bytes. */
export const listening = (at: Peer, doors: ReadonlyArray<PeerProtocol>) => {
  const met: Array<TLSSocket> = []
  return Effect.map(
    at.listen(
      { host: loopback, port: 0 },
      Object.fromEntries(
        doors.map((protocol) => [
          protocol,
          (socket: TLSSocket) => {
            met.push(socket)
            socket.write(`${protocol}\n`)
            socket.pipe(socket)
          }
        ])
      )
    ),
    ({ port }) => ({ port, met })
  )
}

/** The next bytes, up to the end of a line. */
export const line = (socket: TLSSocket): Promise<string> =>
  (async () => {
    let text = ""
    while (!text.endsWith("\n")) {
      const chunk: Buffer | null = socket.read(1)
      if (chunk === null) await once(socket, "readable", { signal: AbortSignal.timeout(30_000) })
      else text += chunk.toString()
    }
    return text.trimEnd()
  })()

export const echo = (socket: TLSSocket, text: string): Promise<string> => {
  socket.write(`${text}\n`)
  return line(socket)
}

/** Opens a connection, sends a word and reads it back; null, or the reason of its refusal. */
export const refusal = (from: Peer, port: number, protocol: PeerProtocol, name: string | null = null) =>
  Effect.scoped(
    from.connect({ host: loopback, port, name }, protocol).pipe(
      Effect.flatMap((socket) =>
        Effect.promise(async () => {
          const door = await line(socket)
          const word = await echo(socket, "a word")
          return door === protocol && word === "a word" ? null : `${door}, ${word}`
        })
      ),
      Effect.catch(({ message }) => Effect.succeed(message))
    )
  )

/** Until it holds. */
export const until = (isSo: Effect.Effect<boolean>, what: string) =>
  Effect.gen(function* () {
    const end = Date.now() + 30_000
    while (!(yield* isSo)) {
      if (Date.now() > end) throw new Error(`Not so within 30 s: ${what}. Logged: ${logged.join("\n")}`)
      yield* Effect.sleep(50)
    }
  })
