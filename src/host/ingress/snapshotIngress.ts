/** Carries the content of this host's snapshots to its services, and theirs to it. A connection is for one snapshot (`snapshotWire.ts`). */
import { pipeline } from "node:stream/promises"
import type { TLSSocket } from "node:tls"
import { Effect, FiberSet, type Scope } from "effect"
import { ByteQueue } from "../../runtime/ByteQueue.ts"
import { type AskedContent, readAsked, toldFrame, within } from "../../runtime/distant/snapshotWire.ts"
import { framedPieces, imageFrames } from "../../runtime/imageFrames.ts"
import { type ImagePiece, type Runtime, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { unstalled } from "../../runtime/unstalled.ts"

/** Each takes a few mebibytes, and time of the disk. */
const OPEN_MAX = 64
const ASKED_MS = 5_000
/** Longer than a client may be silent, and less than what was received is kept without its snapshot. */
const SILENT_MS = 5 * 60_000
const FLUSH_MS = 10_000

const busy = new RuntimeUnavailable({ message: `More than ${OPEN_MAX} snapshots are carried at the same time.` })
const anotherHost = new RuntimeUnavailable({ message: "Another host is there by now." })

/** Completes when the bytes were sent, or the connection broke. */
const last = (socket: TLSSocket, bytes: Buffer) =>
  Effect.callback<void>((resume) => {
    socket.once("close", () => resume(Effect.void))
    socket.end(bytes, () => resume(Effect.void))
  }).pipe(Effect.timeoutOption(FLUSH_MS))

export const snapshotIngress = (
  { snapshots, kind }: Runtime["Service"],
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

    const take = Effect.fnUntraced(function* (
      socket: TLSSocket,
      input: ByteQueue,
      { snapshotId, sizeBytes, owner }: Extract<AskedContent, { readonly act: "receive" }>
    ) {
      async function* pieces(): AsyncGenerator<ImagePiece> {
        // The driver has admitted its size.
        socket.write(toldFrame({ _tag: "go" }))
        const content = framedPieces(input, sizeBytes)
        while (true) {
          const { done, value } = await within(socket, SILENT_MS, content.next())
          if (done === true) return
          yield value
        }
      }
      yield* snapshots.receive(snapshotId, { sizeBytes, owner, pieces: pieces() }, kind)
      yield* last(socket, toldFrame({ _tag: "done" }))
    })

    const serve = (socket: TLSSocket) =>
      Effect.gen(function* () {
        const input = new ByteQueue(socket.iterator({ destroyOnReturn: false }))
        const asked = yield* Effect.promise(() => within(socket, ASKED_MS, readAsked(input)).catch(() => null))
        if (asked === null) return
        if (asked.hostId !== hostId) return yield* anotherHost
        if (open > OPEN_MAX) return yield* busy
        yield* asked.act === "read" ? give(socket, asked.snapshotId) : take(socket, input, asked)
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
