/**
 * Follows one process to its end and stores its output meanwhile.
 *
 * Frames wait in a bounded queue during a write, or for the Sandbox's rate, so the guest's flow control slows an endless writer
 * (backpressure). Input is collected for a moment: a row does not hold only a line, nor a statement only one read.
 */
import { Cause, Clock, Effect, Queue, Stream } from "effect"
import {
  type Guest,
  GuestUnavailable,
  type OutputStream,
  type ProcessFrame,
  type ProcessUnknown
} from "../runtime/Guest.ts"
import type { Output } from "../store/Output.ts"
import { type OutputSource, Overtaken, type StoredOffsets } from "../store/OutputChunk.ts"
import { lastOf, OutputSplit } from "./OutputSplit.ts"

const framesMax = 64
/** How long to collect after a write of less than so many bytes. */
const gather = [
  { belowBytes: 64 * 1024, ms: 20 },
  { belowBytes: 512 * 1024, ms: 5 }
]
/** A part of the guest's window: each acknowledgement waits for the disk. */
const acknowledgeEveryBytes = 256 * 1024
const acknowledgeEveryMs = 1000
const trimEveryBytes = 4 * 1024 * 1024

export interface Followed {
  /** Null if the guest ended the stream without an exit, or reported an impossible one. */
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
  /** How much of each stream is kept. */
  readonly retainBytes: number
  /** Probably nothing is stored yet: the store is not asked. It refuses the first chunk where that is wrong, and then it is asked. */
  readonly isNew?: boolean
}

const streams: ReadonlyArray<OutputStream> = ["stdout", "stderr"]

const nothing: StoredOffsets = { stdout: 0, stderr: 0 }

/** No process writes so much: nothing more from its guest is trusted. */
const untellable: Followed = { exited: null, processTree: "unconfirmed" }

/** A defect here says nothing about the process: it counts as if its guest had not answered. */
const attached = (guest: Guest, key: string, { stdout, stderr }: StoredOffsets) =>
  Stream.suspend(() => guest.processes.attach(key, { stdoutOffset: stdout, stderrOffset: stderr })).pipe(
    Stream.catchCause((cause) => {
      if (!Cause.hasDies(cause)) return Stream.failCause(cause)
      const fault = new GuestUnavailable({ message: "The output could not be followed.", fault: "lost" })
      return Stream.fromEffect(Effect.andThen(Effect.logError(`Following ${key} met a defect`, cause), fault))
    })
  )

const isKept = (durable: StoredOffsets, before: StoredOffsets) =>
  durable.stdout >= before.stdout && durable.stderr >= before.stderr

/** What to store of one stream; at the end of the process, or of the batches, everything. */
const cutsOf = (
  split: OutputSplit,
  batch: ReadonlyArray<ProcessFrame>,
  stream: OutputStream,
  end: Followed["exited"]
) => [
  ...split.take(
    batch.flatMap((frame) => (frame.type === "output" && frame.stream === stream ? [frame] : [])),
    end !== null || batch.length === 0
  ),
  ...(end === null ? [] : split.endAt(end[`${stream}Bytes`]))
]

const followOnce = Effect.fnUntraced(
  function* ({ guest, output, key, sandboxId, source, retainBytes, isNew = false }: FollowOptions) {
    const stored = isNew ? nothing : yield* output.offsets(key)
    const splits = { stdout: new OutputSplit(stored.stdout), stderr: new OutputSplit(stored.stderr) }
    const trimmedAt = { stdout: stored.stdout, stderr: stored.stderr }
    const frames = yield* Queue.bounded<ProcessFrame, ProcessUnknown | GuestUnavailable | Cause.Done>(framesMax)
    yield* attached(guest, key, stored).pipe(Stream.runIntoQueue(frames), Effect.forkScoped)

    /** Stored offsets, which a crash of the database may still reduce. The splits are ahead of them. */
    let stands = stored
    let untold = 0
    // Only the newest offsets count, so one signal is enough.
    const toTell = yield* Queue.sliding<void>(1)
    const tellGuest = Effect.suspend(() => {
      if (untold === 0) return Effect.void
      untold = 0
      return Queue.offer(toTell, undefined)
    })
    // The unacknowledged bytes of a quiet command reduce the window of its guest's other commands.
    const tellNowAndThen = tellGuest.pipe(Effect.delay(acknowledgeEveryMs), Effect.forever)
    // The guest may discard only bytes on disk, because a crash of the database could lose the others. The acknowledgement needs no answer: a guest
    // that lost the process reports it on the attached stream.
    const acknowledge = Effect.gen(function* () {
      yield* Queue.take(toTell)
      const before = stands
      const durable = yield* output.durable(key)
      if (!isKept(durable, before)) return yield* new Overtaken({ ownerId: key })
      yield* guest.processes
        .acknowledge(key, { stdoutOffset: before.stdout, stderrOffset: before.stderr })
        .pipe(Effect.ignore)
    })

    const store = Effect.gen(function* () {
      let exited: Followed["exited"] = null
      let processTree: Followed["processTree"] = "unconfirmed"
      while (true) {
        const batch = yield* Queue.takeAll(frames).pipe(
          Effect.catchIf(Cause.isDone, () => Effect.succeed([] as ReadonlyArray<ProcessFrame>))
        )
        for (const frame of batch) {
          if (frame.type === "output" && !Number.isSafeInteger(frame.offset + frame.bytes.length)) return untellable
          if (frame.type === "exited") exited = frame
          else if (frame.type === "settled") processTree = frame.processTree
        }
        const at = yield* Clock.currentTimeMillis
        const end = exited
        const chunks = streams.flatMap((stream) =>
          lastOf(retainBytes, cutsOf(splits[stream], batch, stream, end)).map((cut) => ({
            ...{ ownerId: key, stream, sandboxId, source, at },
            ...cut
          }))
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
          stands = { stdout: splits.stdout.offset, stderr: splits.stderr.offset }
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
      // After the end is reported the guest drops the bytes, and that commit may follow a crash that lost the last of them.
      if (stands.stdout + stands.stderr > 0 && !isKept(yield* output.durable(key), stands)) {
        return yield* new Overtaken({ ownerId: key })
      }
      return { exited, processTree } satisfies Followed
    })
    // None of them ends or fails before the follow does.
    return yield* Effect.raceAllFirst([store, Effect.forever(acknowledge), tellNowAndThen])
  },
  (effect) => Effect.scoped(effect)
)

/** Returns once the process has ended, all its output is on disk, and the guest has settled its tree. */
export const followProcess = (options: FollowOptions): Effect.Effect<Followed, ProcessUnknown | GuestUnavailable> =>
  // A killed process's last write arrived after its offsets were read, or the database crashed and lost some: continue from the present offsets.
  Effect.catchTag(followOnce(options), "Overtaken", () => followProcess({ ...options, isNew: false }))

const sizeOf = (batch: ReadonlyArray<ProcessFrame>) =>
  batch.reduce((sum, frame) => sum + (frame.type === "output" ? frame.bytes.length : 0), 0)
