/**
 * Files of one Sandbox, through its agent. Every answer is decoded, sized and timed: the agent is untrusted.
 *
 * @source src/agent/files/fileRoutes.ts, contract.md "Files"
 */
import type { ClientHttp2Stream } from "node:http2"
import { Effect, Option, Schema, type Scope } from "effect"
import { type FileRead, FileRefused, type FileUpload, type GuestFiles, GuestUnavailable } from "../Guest.ts"
import { type AgentHead, type AgentSession, readAnswer } from "./AgentSession.ts"
import { ExactBytes } from "./ExactBytes.ts"

/** Calls that touch one file or one page. */
const CALL_TIMEOUT_MS = 30_000
/** Removing a tree of a million entries takes a minute. */
const REMOVE_TIMEOUT_MS = 600_000
const MESSAGE_MAX_CHARACTERS = 500
const VERSION_MAX_CHARACTERS = 256

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))
const Sha256 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
const Opaque = Schema.String.check(Schema.isMaxLength(VERSION_MAX_CHARACTERS))

const FileStat = Schema.Struct({
  // 255 bytes, each of which may be shown as one character of two UTF-16 units.
  name: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(510)),
  type: Schema.Literals(["file", "directory", "symlink", "other"]),
  sizeBytes: Count,
  mode: Schema.String.check(Schema.isPattern(/^[0-7]{4}$/)),
  modifiedAt: Schema.Int.check(Schema.isBetween({ minimum: -8.64e15, maximum: 8.64e15 }))
})

const Edited = Schema.Struct({ sizeBytes: Count, sha256: Sha256, replacements: Count })

const Page = Schema.Struct({
  entries: Schema.Array(FileStat),
  next: Schema.NullOr(Schema.Struct({ version: Opaque, position: Opaque }))
})

const ReadHead = Schema.Struct({
  "atoll-next-offset": Schema.NumberFromString.check(Schema.isInt()),
  "atoll-size": Schema.NumberFromString.check(Schema.isInt()),
  "atoll-version": Opaque
})

const RefusalBody = Schema.Struct({
  code: FileRefused.fields.code,
  message: Schema.String,
  details: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))
})

const broken = () => new GuestUnavailable({ message: "The Sandbox's agent sent an answer that breaks its protocol" })

const decode = <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S) => {
  const decoder = Schema.decodeUnknownOption(schema)
  return (value: unknown): Effect.Effect<S["Type"], GuestUnavailable> =>
    Option.match(decoder(value), { onNone: () => Effect.fail(broken()), onSome: (decoded) => Effect.succeed(decoded) })
}

const decodeStat = decode(FileStat)
const decodeEdited = decode(Edited)
const decodePage = decode(Page)
const decodeReadHead = decode(ReadHead)
const decodeRefusal = decode(RefusalBody)

const refusal = (stream: ClientHttp2Stream): Effect.Effect<never, FileRefused | GuestUnavailable> =>
  Effect.flatMap(Effect.flatMap(readAnswer(stream), decodeRefusal), ({ code, message, details }) =>
    Effect.fail(new FileRefused({ code, message: message.slice(0, MESSAGE_MAX_CHARACTERS), details }))
  )

/** 200 goes on; 4xx is a refusal; all else is the agent's failure. */
const accepted = (
  { status }: AgentHead,
  stream: ClientHttp2Stream
): Effect.Effect<void, FileRefused | GuestUnavailable> => {
  if (status === 200) return Effect.void
  if (status >= 400 && status < 500) return refusal(stream)
  return Effect.fail(new GuestUnavailable({ message: `The Sandbox's agent failed with status ${status}` }))
}

export const makeAgentFiles = (session: AgentSession): GuestFiles => {
  const call = (path: string, body: object, timeoutMs = CALL_TIMEOUT_MS) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { stream, ...head } = yield* session.request({
          method: "POST",
          path: `/v1/files/${path}`,
          body: Buffer.from(JSON.stringify(body)),
          headTimeoutMs: timeoutMs
        })
        yield* accepted(head, stream)
        return yield* readAnswer(stream)
      })
    )

  const read = Effect.fnUntraced(function* (
    path: string,
    options: { readonly offset: number; readonly maxBytes: number; readonly version: string | null }
  ): Effect.fn.Return<FileRead, FileRefused | GuestUnavailable, Scope.Scope> {
    const { stream, ...head } = yield* session.request({
      method: "POST",
      path: "/v1/files/read",
      body: Buffer.from(JSON.stringify({ path, ...options })),
      headTimeoutMs: CALL_TIMEOUT_MS
    })
    yield* accepted(head, stream)
    const headers = yield* decodeReadHead(head.headers)
    const { offset } = options
    const nextOffset = headers["atoll-next-offset"]
    const sizeBytes = headers["atoll-size"]
    const inBounds = nextOffset === offset || (nextOffset > offset && nextOffset <= sizeBytes)
    if (!inBounds || nextOffset - offset > options.maxBytes || sizeBytes < 0) return yield* broken()
    return {
      offset,
      nextOffset,
      sizeBytes,
      eof: nextOffset >= sizeBytes,
      version: headers["atoll-version"],
      body: new ExactBytes(stream, nextOffset - offset)
    }
  })

  const write = <E>(path: string, body: FileUpload<E>): Effect.Effect<void, E | FileRefused | GuestUnavailable> =>
    Effect.scoped(
      Effect.gen(function* () {
        const { stream, head } = yield* session.open({
          method: "POST",
          path: "/v1/files/write",
          headers: { "atoll-path": Buffer.from(path).toString("base64url") },
          body: "open",
          headTimeoutMs: null
        })
        // The agent may refuse before it has read everything; without an answer it has a limited time once it has.
        const late = Effect.andThen(
          Effect.sleep(CALL_TIMEOUT_MS),
          Effect.fail(new GuestUnavailable({ message: "The Sandbox's agent did not confirm a write in time" }))
        )
        const answer = yield* Effect.raceFirst(head, Effect.andThen(upload(stream, body), late))
        yield* accepted(answer, stream)
        yield* readAnswer(stream)
      })
    )

  return {
    read,
    write,
    stat: (path) => Effect.flatMap(call("stat", { path }), decodeStat),
    edit: (path, edit) => Effect.flatMap(call("edit", { path, ...edit }), decodeEdited),
    list: (path, { pageSize, after }) =>
      Effect.flatMap(Effect.flatMap(call("list", { path, pageSize, after }), decodePage), (page) =>
        page.entries.length <= pageSize ? Effect.succeed(page) : Effect.fail(broken())
      ),
    createDirectory: (path, { recursive }) => Effect.asVoid(call("directory", { path, recursive })),
    rename: (path, destination, { overwrite }) => Effect.asVoid(call("rename", { path, destination, overwrite })),
    remove: (path, { recursive }) => Effect.asVoid(call("remove", { path, recursive }, REMOVE_TIMEOUT_MS))
  }
}

/** 4 bytes of length before each piece; length 0 ends the content. */
const frameHeader = (bytes: number): Uint8Array => {
  const header = Buffer.allocUnsafe(4)
  header.writeUInt32BE(bytes)
  return header
}

/** Bytes of an upload on their way to the agent before the body is read on. */
const UPLOAD_AHEAD_BYTES = 512 * 1024

/** Sends the body at the agent's pace. When the agent hangs up meanwhile its answer decides, so this then waits. */
const upload = <E>(stream: ClientHttp2Stream, { bytes, broken }: FileUpload<E>): Effect.Effect<void, E> =>
  Effect.callback<void, E>((resume) => {
    const stop = () => {
      bytes.off("data", send).off("end", end).off("close", breakOff).off("error", breakOff)
      bytes.pause()
    }
    const send = (chunk: Uint8Array) => {
      if (chunk.byteLength === 0 || stream.destroyed || stream.writableEnded) return
      stream.cork()
      stream.write(frameHeader(chunk.byteLength))
      stream.write(chunk, sent)
      stream.uncork()
      if (stream.writableLength >= UPLOAD_AHEAD_BYTES) bytes.pause()
    }
    const sent = (failure?: Error | null) => {
      if (!failure && bytes.isPaused() && stream.writableLength < UPLOAD_AHEAD_BYTES) bytes.resume()
    }
    const end = () => {
      stop()
      if (stream.destroyed || stream.writableEnded) return
      stream.end(frameHeader(0))
      resume(Effect.void)
    }
    const breakOff = () => {
      stop()
      resume(Effect.fail(broken()))
    }
    if (bytes.destroyed && !bytes.readableEnded) return breakOff()
    bytes.on("end", end).on("close", breakOff).on("error", breakOff).on("data", send)
    return Effect.sync(stop)
  })
