/** Carries the content of this host's snapshots and images to its services, and theirs to it. A connection is for one of them (`snapshotWire.ts`). */
import { pipeline } from "node:stream/promises"
import type { TLSSocket } from "node:tls"
import { Effect, FiberSet, type Scope } from "effect"
import { ByteQueue } from "../../runtime/ByteQueue.ts"
import { byteFrames, framedBytes } from "../../runtime/byteFrames.ts"
import { type AskedContent, readAsked, toldFrame, within } from "../../runtime/distant/snapshotWire.ts"
import { framedPieces, imageFrames } from "../../runtime/imageFrames.ts"
import { type Runtime, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { unstalled } from "../../runtime/unstalled.ts"

/** Each takes a few mebibytes, and time of the disk. */
const OPEN_MAX = 64
const ASKED_MS = 5_000
/** Longer than a client may be silent, and less than what was received is kept without its snapshot. */
const SILENT_MS = 5 * 60_000
const FLUSH_MS = 10_000

const busy = new RuntimeUnavailable({
  message: `More than ${OPEN_MAX} snapshots and images are carried at the same time.`
})
const anotherHost = new RuntimeUnavailable({ message: "Another host is there by now." })

/** Completes when the bytes were sent, or the connection broke. */
const last = (socket: TLSSocket, bytes: Buffer) =>
  Effect.callback<void>((resume) => {
    socket.once("close", () => resume(Effect.void))
    socket.end(bytes, () => resume(Effect.void))
  }).pipe(Effect.timeoutOption(FLUSH_MS))

/** Begins when the driver reads the first piece. */
async function* arriving<A>(socket: TLSSocket, content: AsyncGenerator<A>): AsyncGenerator<A> {
  socket.write(toldFrame({ _tag: "go" }))
  while (true) {
    const { done, value } = await within(socket, SILENT_MS, content.next())
    if (done === true) return
    yield value
  }
}

export const snapshotIngress = (
  { snapshots, images, kind }: Runtime["Service"],
  hostId: string
): Effect.Effect<(socket: TLSSocket) => void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime()
    let open = 0

    const give = Effect.fnUntraced(function* (socket: TLSSocket, snapshotId: string) {
      const { sizeBytes, pieces } = yield* snapshots.read(snapshotId, null)
      socket.write(toldFrame({ _tag: "go" }))
      // A break is the service's to notice: it misses the digest.
      const content = unstalled(imageFrames(sizeBytes, pieces), SILENT_MS, () => socket.destroy())
      yield* Effect.promise(() => pipeline(content, socket).catch(() => {}))
    })

    const giveBytes = Effect.fnUntraced(function* (socket: TLSSocket, digest: string) {
      const pieces = yield* images.read(digest)
      socket.write(toldFrame({ _tag: "go" }))
      const content = unstalled(byteFrames(pieces), SILENT_MS, () => socket.destroy())
      yield* Effect.promise(() => pipeline(content, socket).catch(() => {}))
    })

    const takeBytes = Effect.fnUntraced(function* (
      socket: TLSSocket,
      input: ByteQueue,
      asked: Exclude<AskedContent, { readonly snapshotId: string }>
    ) {
      const pieces = arriving(socket, framedBytes(input))
      yield* "imageId" in asked ? images.receive(asked.imageId, pieces) : images.store(asked.digest, pieces)
      yield* last(socket, toldFrame({ _tag: "done" }))
    })

    const take = Effect.fnUntraced(function* (
      socket: TLSSocket,
      input: ByteQueue,
      { snapshotId, sizeBytes, owner }: Extract<AskedContent, { readonly act: "receive" }>
    ) {
      // The driver admits its size before it reads.
      const pieces = arriving(socket, framedPieces(input, sizeBytes))
      yield* snapshots.receive(snapshotId, { sizeBytes, owner, pieces }, kind)
      yield* last(socket, toldFrame({ _tag: "done" }))
    })

    const serve = (socket: TLSSocket) =>
      Effect.gen(function* () {
        const input = new ByteQueue(socket.iterator({ destroyOnReturn: false }))
        const asked = yield* Effect.promise(() => within(socket, ASKED_MS, readAsked(input)).catch(() => null))
        if (asked === null) return
        if (asked.hostId !== hostId) return yield* anotherHost
        if (open > OPEN_MAX) return yield* busy
        switch (asked.act) {
          case "read":
            return yield* give(socket, asked.snapshotId)
          case "receive":
            return yield* take(socket, input, asked)
          case "readImage":
            return yield* giveBytes(socket, asked.digest)
          default:
            return yield* takeBytes(socket, input, asked)
        }
      }).pipe(
        Effect.catch((error) => last(socket, toldFrame(error))),
        Effect.ensuring(Effect.sync(() => socket.destroy()))
      )

    return (socket) => {
      socket.on("error", () => {})
      open++
      socket.once("close", () => open--)
      fork(serve(socket))
    }
  })
