/** The archive that a build has made, read out of its Sandbox. The file is the guest's: only its bytes are passed on, and the host that receives them bounds them. */
import { Effect, Option, Stream } from "effect"
import { fileContentMaxBytes } from "../../../schemas/Limits.ts"
import type { GuestFiles, Version } from "../../runtime/Guest.ts"

interface Position {
  readonly offset: number
  /** Null: the file has not been looked at. A file that changes meanwhile is refused. */
  readonly version: Version | null
}

const partFrom = (files: GuestFiles, path: string, { offset, version }: Position) =>
  Effect.gen(function* () {
    const part = yield* files.read(path, { offset, maxBytes: fileContentMaxBytes, version })
    const pieces: ReadonlyArray<Uint8Array> = yield* Effect.tryPromise(() => part.body.toArray())
    // A guest that tells of no progress and no end would be read for ever.
    const isOver = part.eof || part.nextOffset <= offset
    return [pieces, isOver ? Option.none() : Option.some({ offset: part.nextOffset, version: part.version })] as const
  }).pipe(Effect.scoped)

/** In parts of at most 8 MiB, each read whole before it is passed on. */
export const builtArchive = (files: GuestFiles, path: string): AsyncIterable<Uint8Array> =>
  Stream.toAsyncIterable(
    Stream.paginate<Position, Uint8Array, unknown>({ offset: 0, version: null }, (at) => partFrom(files, path, at))
  )
