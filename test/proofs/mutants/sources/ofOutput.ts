// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are of sources
/** Mistakes of the way of output: offsets, cuts, acknowledgements, budgets, backpressure, and the wake-ups of its readers. */
import type { TextMutant } from "./TextMutant.ts"

const statements = "src/store/OutputStatements.ts"
const room = "src/store/OutputRoom.ts"
const store = "src/store/Output.ts"
const follower = "src/operation/ProcessFollower.ts"
const output = "test/service/store/Output.test.ts"
const tail = "test/unit/store/OutputTail.test.ts"
const following = "test/service/operation/ProcessFollower.test.ts"
const reading = "test/service/api/http/outputStream.test.ts"
const logs = "test/service/observe/logs/Logs.test.ts"

export const ofOutput: ReadonlyArray<TextMutant> = [
  {
    id: "output is at its end while the process tree runs",
    file: "src/operation/operationOutput.ts",
    from: "const isOver = isSettled(status, context)",
    to: 'const isOver = isSettled(status, { ...context, processTree: "gone" })',
    suites: ["test/unit/operation/operationOutput.test.ts"]
  },
  {
    id: "output is at its end before its last byte was read",
    file: "src/operation/operationOutput.ts",
    from: "eof: isOver && page.nextOffset >= page.totalBytes",
    to: "eof: isOver",
    suites: ["test/unit/operation/operationOutput.test.ts"]
  },
  {
    id: "a writer behind or beyond the end of a stream stores",
    file: statements,
    from: "where outputs.next_offset = excluded.retained_offset",
    to: "where true",
    suites: [output]
  },
  {
    id: "a new stream begins anywhere",
    file: statements,
    from: "where o.owner_id is not null or s.follows = 0",
    to: "where true",
    suites: [output]
  },
  {
    id: "an overtaken writer hears that its bytes are stored",
    file: "src/store/outputWrites.ts",
    from: "if (missed === undefined) job.done",
    to: "if (job.chunks.length > 0) job.done",
    suites: [output]
  },
  {
    id: "a stream is moved twice in one statement",
    file: "src/store/outputWrites.ts",
    from: "if (streamsOf(next).some((stream) => streams.has(stream)))",
    to: "if (streamsOf(next).length === 0)",
    suites: [output]
  },
  {
    id: "chunks are cut from the wrong bytes of their batch",
    file: "src/store/outputWrites.ts",
    from: "int4Column(firsts(chunks))",
    to: "int4Column(chunks.map(() => 1))",
    suites: [output]
  },
  {
    id: "readers hear nothing of bytes that were stored",
    file: store,
    from: "listeners.tell(new Set([sandboxId, ...chunks.map((chunk) => chunk.ownerId)]))",
    to: "listeners.tell(new Set([sandboxId]))",
    suites: [output]
  },
  {
    id: "a log's readers hear nothing of bytes that were stored",
    file: store,
    from: "listeners.tell(new Set([sandboxId, ...chunks.map((chunk) => chunk.ownerId)]))",
    to: "listeners.tell(new Set(chunks.map((chunk) => chunk.ownerId)))",
    suites: [output]
  },
  {
    id: "the bytes of a writer that was wrong stay in memory",
    file: store,
    from: "Effect.tapError(({ ownerId }) => Effect.sync(() => tail.forget(ownerId)))",
    to: "Effect.tapError(() => Effect.void)",
    suites: [output]
  },
  {
    id: "trimmed bytes stay in memory",
    file: store,
    from: "Effect.tap(() => Effect.sync(() => tail.trim(ownerId, stream, keepBytes)))",
    to: "Effect.tap(() => Effect.void)",
    suites: [output]
  },
  {
    id: "bytes after a gap are shown at the place before it",
    file: "src/store/OutputTail.ts",
    from: "if (offset !== tail.end) this.#empty(tail, offset)",
    to: "",
    suites: [tail]
  },
  {
    id: "a page goes on over a gap",
    file: "src/store/readOutputPage.ts",
    from: "if (begin > next) break",
    to: "if (begin > next) next = begin",
    suites: [output]
  },
  {
    id: "a page begins with its chunk and not with its offset",
    file: "src/store/readOutputPage.ts",
    from: "const skip = next - begin",
    to: "const skip = Math.min(0, next - begin)",
    suites: [output]
  },
  {
    id: "a page that leaves bytes out does not say so",
    file: "src/store/readOutputPage.ts",
    from: "truncated: from > offset",
    to: "truncated: false",
    suites: [output]
  },
  {
    id: "a trim takes the chunk that the boundary cuts",
    file: room,
    from: "c.end_offset <= kept.retained_offset",
    to: "c.start_offset <= kept.retained_offset",
    suites: [output]
  },
  {
    id: "a trim does not move where the stream begins",
    file: room,
    from: "greatest(retained_offset, next_offset - $3::int8)",
    to: "greatest(retained_offset, 0)",
    suites: [output]
  },
  {
    id: "a Sandbox keeps more output than its share",
    file: store,
    from: "if (storedBytes <= logBytesPerSandbox ||",
    to: "if (storedBytes >= 0 ||",
    suites: [output, logs]
  },
  {
    id: "a cut deletes the newest chunks",
    file: room,
    from: "order by at, seq limit ${cutChunksMax}\n    ) as oldest",
    to: "order by at desc, seq desc limit 1\n    ) as oldest",
    suites: [output]
  },
  {
    id: "the bytes of a Sandbox are counted from its last append",
    file: statements,
    from: "set stored_bytes = t.stored_bytes + excluded.stored_bytes",
    to: "set stored_bytes = excluded.stored_bytes",
    suites: [output]
  },
  {
    id: "trimmed bytes count on",
    file: room,
    from: "set stored_bytes = t.stored_bytes - g.bytes",
    to: "set stored_bytes = t.stored_bytes",
    suites: [output]
  },
  {
    id: "a writer beyond its rate does not wait",
    file: store,
    from: "if (waits && waitMs > 0) yield* Effect.sleep(waitMs)",
    to: "",
    suites: [output]
  },
  {
    id: "a small chunk costs its bytes alone",
    file: store,
    from: "sum + bytes.length + chunkOverheadBytes",
    to: "sum + bytes.length",
    suites: [output]
  },
  {
    id: "a guest may discard bytes that are on no disk",
    file: follower,
    from: "const durable = yield* output.durable(key)",
    to: "const durable = before",
    suites: [following]
  },
  {
    id: "a guest may discard bytes that came during the flush",
    file: follower,
    from: "{ stdoutOffset: before.stdout, stderrOffset: before.stderr }",
    to: "{ stdoutOffset: stands.stdout, stderrOffset: stands.stderr }",
    suites: ["test/service/operation/duringFlush.test.ts"]
  },
  {
    id: "an end is reported before its last bytes are on disk",
    file: follower,
    from: "if (stands.stdout + stands.stderr > 0 && !isKept(",
    to: "if (stands.stdout < 0 && !isKept(",
    suites: [following]
  },
  {
    id: "little output of a silent command is never acknowledged",
    file: follower,
    from: "Effect.raceAllFirst([store, Effect.forever(acknowledge), tellNowAndThen])",
    to: "Effect.raceAllFirst([store, Effect.forever(acknowledge)])",
    suites: [following]
  },
  {
    id: "a guest may send without an end",
    file: follower,
    from: "Cause.Done>(framesMax)",
    to: "Cause.Done>(framesMax * 1000)",
    suites: [following]
  },
  {
    id: "a follower that was overtaken believes again that nothing is stored",
    file: follower,
    from: "followProcess({ ...options, isNew: false })",
    to: "followProcess(options)",
    suites: [following]
  },
  {
    id: "a stream ends where the last byte came, and not where it ended",
    file: follower,
    from: "...(end === null ? [] : split.endAt(end[`${stream}Bytes`]))",
    to: "",
    suites: [following]
  },
  {
    id: "an impossible offset of a guest is believed",
    file: follower,
    from: 'if (frame.type === "output" && !Number.isSafeInteger(frame.offset + frame.bytes.length)) return untellable',
    to: "",
    suites: [following]
  },
  {
    id: "a cut that retention would delete is stored",
    file: "src/operation/OutputSplit.ts",
    from: "offset + bytes.length > end - keepBytes",
    to: "offset + bytes.length >= end - keepBytes",
    suites: ["test/unit/operation/OutputSplit.test.ts"]
  },
  {
    id: "bytes that came twice are stored twice",
    file: "src/operation/OutputSplit.ts",
    from: "this.#push(bytes.subarray(expected - offset))",
    to: "this.#push(bytes)",
    suites: [logs, following]
  },
  {
    id: "a character is cut in two",
    file: "src/operation/OutputSplit.ts",
    from: "isEnd && from + piece.length === whole.length ? 0 : openCharacter(piece)",
    to: "isEnd ? 0 : openCharacter(piece)",
    suites: ["test/unit/operation/OutputSplit.test.ts"]
  },
  {
    id: "a flush flushes nothing",
    file: statements,
    from: "pg_logical_emit_message(true,",
    to: "pg_logical_emit_message(false,",
    suites: [output]
  },
  {
    id: "an operation is reported as over before its output was read",
    file: "src/operation/OutputReading.ts",
    from: "isRead &&= page.nextOffset >= page.totalBytes",
    to: "isRead = isRead || page.totalBytes < 0",
    suites: ["test/unit/operation/outputBeats.test.ts", reading]
  },
  {
    id: "a reader of output is not woken by its bytes",
    file: "src/operation/OutputReading.ts",
    from: "output.onAppend(operationId, told)",
    to: 'output.onAppend("", told)',
    suites: ["test/unit/operation/outputBeats.test.ts"]
  },
  {
    id: "a silent Sandbox saves up more than its burst",
    file: "src/store/OutputRate.ts",
    from: "return Math.min(this.#burst, bucket.left + Math.max(0, now - bucket.at) * this.#perMs)",
    to: "return bucket.left + Math.max(0, now - bucket.at) * this.#perMs",
    suites: ["test/unit/store/OutputRate.test.ts"]
  }
]
