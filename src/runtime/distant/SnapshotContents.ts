/** The service's end of the connections that carry the content of a host's snapshots and images. */
import { pipeline } from "node:stream/promises"
import type { TLSSocket } from "node:tls"
import { Effect, Exit, Scope } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { type PeerPlace, PeerSockets } from "../../peer/PeerSockets.ts"
import { ByteQueue } from "../ByteQueue.ts"
import { byteFrames, framedBytes } from "../byteFrames.ts"
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

const brokenSnapshot = RuntimeUnavailable.known(
  publicText`The connection to the host of the snapshot broke. Nothing was stored.`
)
const brokenImage = RuntimeUnavailable.known(
  publicText`The connection to the host of the image broke. Nothing was stored.`
)

const brokenOf = (asked: AskedContent) => ("snapshotId" in asked ? brokenSnapshot : brokenImage)

const isHostError = (cause: unknown): cause is HostError =>
  cause instanceof RuntimeRefused || cause instanceof RuntimeUnavailable || cause instanceof RuntimeUnsupported

type AskedBytes =
  | { readonly act: "receiveArchive"; readonly imageId: string }
  | { readonly act: "storeImage"; readonly digest: string }

export interface SnapshotContents {
  /** Connects when the first piece is wanted. Throws where the connection breaks or the content is not whole. */
  readonly pieces: (snapshotId: string, sizeBytes: number) => AsyncIterable<ImagePiece>
  /** Where `pieces` throws, the connection breaks, and the host keeps nothing. */
  readonly send: (snapshotId: string, image: SnapshotImage) => Effect.Effect<void, HostError>
  /** As `pieces`, of an image. */
  readonly bytes: (digest: string) => AsyncIterable<Uint8Array>
  /** As `send`, of an image or of its archive. */
  readonly sendBytes: (asked: AskedBytes, pieces: AsyncIterable<Uint8Array>) => Effect.Effect<void, HostError>
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
      if (said === null) throw brokenOf(asked)
      if (isHostError(said)) throw held(said)
      return said
    }
    socket.write(askedFrame(asked))
    return { socket, input, told }
  }

  async function* read<A>(asked: AskedContent, contentOf: (input: ByteQueue) => AsyncGenerator<A>): AsyncGenerator<A> {
    const { socket, input, told } = await opened(asked)
    try {
      await within(socket, ANSWER_MS, told())
      const content = contentOf(input)
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

  const send = async (asked: AskedContent, frames: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> => {
    const { socket, told } = await opened(asked)
    signal.addEventListener("abort", () => socket.destroy(), { once: true })
    try {
      if ((await within(socket, ANSWER_MS, told()))._tag === "done") return
      // The host may refuse the content, such as for a full disk, before it has read all of it.
      const answer = told().then(
        () => null,
        (cause: HostError) => cause
      )
      const content = unstalled(frames, SILENT_MS, () => socket.destroy())
      const isSent = await pipeline(content, socket, { end: false }).then(
        () => true,
        () => false
      )
      if (!isSent) socket.destroy()
      const refusal = await within(socket, ANSWER_MS, answer)
      if (refusal !== null) throw refusal
      if (!isSent) throw brokenOf(asked)
    } finally {
      socket.destroy()
    }
  }

  const sending = (asked: AskedContent, frames: AsyncIterable<Uint8Array>) =>
    Effect.tryPromise({
      try: (signal) => send(asked, frames, signal),
      catch: (cause): HostError => (isHostError(cause) ? cause : brokenOf(asked))
    })

  return {
    discard: () => sockets.forEach((socket) => void socket.destroy()),
    pieces: (snapshotId, sizeBytes) => ({
      [Symbol.asyncIterator]: () => read({ act: "read", hostId, snapshotId }, (input) => framedPieces(input, sizeBytes))
    }),
    send: (snapshotId, { sizeBytes, owner, pieces }) =>
      sending({ act: "receive", hostId, snapshotId, sizeBytes, owner }, imageFrames(sizeBytes, pieces)),
    bytes: (digest) => ({ [Symbol.asyncIterator]: () => read({ act: "readImage", hostId, digest }, framedBytes) }),
    sendBytes: (asked, pieces) => sending({ ...asked, hostId }, byteFrames(pieces))
  } satisfies SnapshotContents
})
