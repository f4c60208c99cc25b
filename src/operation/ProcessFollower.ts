/**
 * Follows one process to its end and stores its output on the way.
 *
 * Frames wait in a bounded queue while the last ones are being written, so an endless writer is held back by the guest's own
 * flow control. What comes in is gathered for a moment: a writer of lines does not cost a row a line, nor a fast one a statement a read.
 */
import { Cause, Clock, Effect, Queue, Stream } from "effect"
import type { Guest, GuestUnavailable, OutputStream, ProcessFrame, ProcessUnknown } from "../runtime/Guest.ts"
import type { Output, OutputSource } from "../store/Output.ts"
import { OutputSplit } from "./OutputSplit.ts"

const framesMax = 64
/** How long to gather after a write of less than so many bytes. */
const gather = [
  { belowBytes: 64 * 1024, ms: 20 },
  { belowBytes: 512 * 1024, ms: 5 }
]
/** A part of the guest's window: each time costs a wait for the disk. */
const acknowledgeEveryBytes = 256 * 1024
const acknowledgeEveryMs = 1000
const trimEveryBytes = 4 * 1024 * 1024

export interface Followed {
  /** Null when the guest ended the stream before it said how the process ended. */
  readonly exited: Extract<ProcessFrame, { readonly type: "exited" }> | null
  readonly processTree: "running" | "gone" | "unconfirmed"
}

export interface FollowOptions {
  readonly guest: Guest
  readonly output: Output["Service"]
  /** The process's key in the guest; the owner of its output in the store. */
  readonly key: string
  readonly sandboxId: string
  readonly source: OutputSource
  /** How much of each stream stays readable. */
  readonly retainBytes: number
}

const streams: ReadonlyArray<OutputStream> = ["stdout", "stderr"]

const followOnce = Effect.fnUntraced(
  function* ({ guest, output, key, sandboxId, source, retainBytes }: FollowOptions) {
    const stored = yield* output.offsets(key)
    const splits = { stdout: new OutputSplit(stored.stdout), stderr: new OutputSplit(stored.stderr) }
    const trimmedAt = { stdout: stored.stdout, stderr: stored.stderr }
    const frames = yield* Queue.bounded<ProcessFrame, ProcessUnknown | GuestUnavailable | Cause.Done>(framesMax)
    yield* guest.processes
      .attach(key, { stdoutOffset: stored.stdout, stderrOffset: stored.stderr })
      .pipe(Stream.runIntoQueue(frames), Effect.forkScoped)

    // The guest may drop what is on disk, not what a crash of the database could still lose. Only the newest offsets matter, and nothing
    // waits for the guest to hear them: one that lost the process says so on the attached stream.
    const storedUpTo = yield* Queue.sliding<{ readonly stdoutOffset: number; readonly stderrOffset: number }>(1)
    let untold = 0
    // The splits run ahead of the store while it writes.
    let stands = { stdoutOffset: stored.stdout, stderrOffset: stored.stderr }
    const tellGuest = Effect.suspend(() => {
      if (untold === 0) return Effect.void
      untold = 0
      return Queue.offer(storedUpTo, stands)
    })
    // What a quiet command leaves untold counts against all the others of its guest.
    yield* tellGuest.pipe(Effect.delay(acknowledgeEveryMs), Effect.forever, Effect.forkScoped)
    yield* Queue.take(storedUpTo).pipe(
      Effect.tap(() => output.durable),
      Effect.flatMap((offsets) => guest.processes.acknowledge(key, offsets)),
      Effect.ignore,
      Effect.forever,
      Effect.forkScoped
    )

    let exited: Followed["exited"] = null
    let processTree: Followed["processTree"] = "unconfirmed"
    while (true) {
      const batch = yield* Queue.takeAll(frames).pipe(
        Effect.catchIf(Cause.isDone, () => Effect.succeed([] as ReadonlyArray<ProcessFrame>))
      )
      for (const frame of batch) {
        if (frame.type === "exited") exited = frame
        else if (frame.type === "settled") processTree = frame.processTree
      }
      const at = yield* Clock.currentTimeMillis
      const chunks = streams.flatMap((stream) =>
        splits[stream]
          .take(
            batch.flatMap((frame) => (frame.type === "output" && frame.stream === stream ? [frame] : [])),
            exited !== null || batch.length === 0
          )
          .map(({ offset, bytes }) => ({ ownerId: key, stream, sandboxId, source, offset, bytes, at }))
      )
      if (chunks.length > 0) {
        yield* output.append(chunks)
        for (const stream of streams) {
          const { offset } = splits[stream]
          if (offset - Math.max(trimmedAt[stream], retainBytes) >= trimEveryBytes) {
            trimmedAt[stream] = offset
            yield* output.trim(key, stream, retainBytes)
          }
        }
        stands = { stdoutOffset: splits.stdout.offset, stderrOffset: splits.stderr.offset }
        untold += chunks.reduce((sum, { bytes }) => sum + bytes.length, 0)
        if (exited === null && untold >= acknowledgeEveryBytes) yield* tellGuest
      }
      if (batch.length === 0 || batch.some((frame) => frame.type === "settled")) break
      const pause = gather.find(({ belowBytes }) => sizeOf(batch) < belowBytes)
      if (exited === null && pause !== undefined) yield* Effect.sleep(pause.ms)
    }
    for (const stream of streams) {
      if (splits[stream].offset > retainBytes) yield* output.trim(key, stream, retainBytes)
    }
    return { exited, processTree } satisfies Followed
  },
  (effect) => Effect.scoped(effect)
)

/** Returns once the process has ended, all its output is stored, and the guest has settled its tree. */
export const followProcess = (options: FollowOptions): Effect.Effect<Followed, ProcessUnknown | GuestUnavailable> =>
  // What a killed process had sent before arrived after it was asked for.
  Effect.catchTag(followOnce(options), "Overtaken", () => followProcess(options))

const sizeOf = (batch: ReadonlyArray<ProcessFrame>) =>
  batch.reduce((sum, frame) => sum + (frame.type === "output" ? frame.bytes.length : 0), 0)
