/** The service's end of the connections that carry the content of a host's snapshots. */
import { pipeline } from "node:stream/promises"
import type { TLSSocket } from "node:tls"
import { Effect, Exit, Scope } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { type PeerPlace, PeerSockets } from "../../peer/PeerSockets.ts"
import { ByteQueue } from "../ByteQueue.ts"
import { framedPieces, imageFrames } from "../imageFrames.ts"
import {
  type ImagePiece,
  RuntimeRefused,
  RuntimeUnavailable,
  RuntimeUnsupported,
  type SnapshotImage
} from "../Runtime.ts"
import { unstalled } from "../unstalled.ts"
import { held, silence } from "./hostFaults.ts"
import { type AskedContent, askedFrame, readTold, type Told, within } from "./snapshotWire.ts"

/** A host may wait for another image of the snapshot, or flush gigabytes, before it answers. */
const ANSWER_MS = 5 * 60_000
const SILENT_MS = 60_000

type HostError = RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported

const broken = RuntimeUnavailable.known(
  publicText`The connection to the host of the snapshot broke. Nothing was stored.`
)

const isHostError = (cause: unknown): cause is HostError =>
  cause instanceof RuntimeRefused || cause instanceof RuntimeUnavailable || cause instanceof RuntimeUnsupported

export interface SnapshotContents {
  /** Connects when the first piece is wanted. Throws where the connection breaks or the content is not whole. */
  readonly pieces: (snapshotId: string, sizeBytes: number) => AsyncIterable<ImagePiece>
  /** Where `pieces` throws, the connection breaks, and the host keeps nothing. */
  readonly send: (snapshotId: string, image: SnapshotImage) => Effect.Effect<void, HostError>
  /** Breaks all connections, because the host does not answer. */
  readonly discard: () => void
}

/** Connects in a separate scope, which closes with the connection. */
const dialling = Effect.fnUntraced(function* (to: PeerPlace) {
  const sockets = yield* PeerSockets
  const all = yield* Effect.scope
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  return (): Promise<TLSSocket> =>
    run(
      Effect.gen(function* () {
        const own = yield* Scope.fork(all)
        const socket = yield* sockets.connect(to, "atoll-snapshot/1").pipe(
          Effect.tapError(({ message }) => Effect.logDebug(message)),
          Effect.mapError(() => silence),
          Scope.provide(own),
          Effect.onError(() => Scope.close(own, Exit.void))
        )
        socket.on("error", () => {}).once("close", () => void run(Scope.close(own, Exit.void)))
        return socket
      })
    )
})

export const snapshotContents = Effect.fnUntraced(function* (hostId: string, to: PeerPlace) {
  const dial = yield* dialling(to)
  const sockets = new Set<TLSSocket>()

  const opened = async (asked: AskedContent) => {
    const socket = await dial()
    sockets.add(socket.once("close", () => sockets.delete(socket)))
    const input = new ByteQueue(socket.iterator({ destroyOnReturn: false }))
    const told = async (): Promise<Told> => {
      const said = await readTold(input).catch(() => null)
      if (said === null) throw broken
      if (isHostError(said)) throw held(said)
      return said
    }
    socket.write(askedFrame(asked))
    return { socket, input, told }
  }

  async function* pieces(snapshotId: string, sizeBytes: number): AsyncGenerator<ImagePiece> {
    const { socket, input, told } = await opened({ act: "read", hostId, snapshotId })
    try {
      await within(socket, ANSWER_MS, told())
      const content = framedPieces(input, sizeBytes)
      while (true) {
        // The consumer may take its time, but not the host.
        const { done, value } = await within(socket, SILENT_MS, content.next())
        if (done === true) return
        yield value
      }
    } finally {
      socket.destroy()
    }
  }

  const send = async (
    snapshotId: string,
    { sizeBytes, owner, pieces }: SnapshotImage,
    signal: AbortSignal
  ): Promise<void> => {
    const { socket, told } = await opened({ act: "receive", hostId, snapshotId, sizeBytes, owner })
    signal.addEventListener("abort", () => socket.destroy(), { once: true })
    try {
      if ((await within(socket, ANSWER_MS, told()))._tag === "done") return
      // The host may refuse the content, such as for a full disk, before it has read all of it.
      const answer = told().then(
        () => null,
        (cause: HostError) => cause
      )
      const content = unstalled(imageFrames(sizeBytes, pieces), SILENT_MS, () => socket.destroy())
      const isSent = await pipeline(content, socket, { end: false }).then(
        () => true,
        () => false
      )
      if (!isSent) socket.destroy()
      const refusal = await within(socket, ANSWER_MS, answer)
      if (refusal !== null) throw refusal
      if (!isSent) throw broken
    } finally {
      socket.destroy()
    }
  }

  return {
    discard: () => sockets.forEach((socket) => void socket.destroy()),
    pieces: (snapshotId, sizeBytes) => ({ [Symbol.asyncIterator]: () => pieces(snapshotId, sizeBytes) }),
    send: (snapshotId, image) =>
      Effect.tryPromise({
        try: (signal) => send(snapshotId, image, signal),
        catch: (cause): HostError => (isHostError(cause) ? cause : broken)
      })
  } satisfies SnapshotContents
})
