/**
 * Files of one Sandbox, through its agent. Every answer is decoded, sized and timed: the agent is untrusted.
 *
 * @source src/agent/files/fileRoutes.ts, contract.md "Files"
 */
import type { ClientHttp2Stream } from "node:http2"
import { Effect, Schema, type Scope } from "effect"
import { PAGE_ENTRY_MAX_BYTES, routes, SMALL_ANSWER_MAX_BYTES } from "../../agent/wire.ts"
import {
  type ArchiveEncoding,
  type FileRead,
  FileRefused,
  type FileUpload,
  type GuestFiles,
  GuestUnavailable,
  type Unpacked
} from "../Guest.ts"
import type { AgentSession } from "./AgentSession.ts"
import { answerOf, held, protocolFault, type RouteRefused, refusalOf, unexpected } from "./answers.ts"
import { ExactBytes } from "./ExactBytes.ts"
import { FramedBytes } from "./FramedBytes.ts"
import { heldTo, ProtocolBreach } from "./heldToShape.ts"
import { isAnswering } from "./isAnswering.ts"
import { uploadBody } from "./uploadBody.ts"

/** Time-out of calls that touch one file or one page. */
const CALL_TIMEOUT_MS = 30_000
/** Removing a tree of a million entries takes a minute; the agent answers pings meanwhile. */
const REMOVE_PATIENCE_MS = 600_000
/** How long an archive may wait for its start, and for the disk after its last byte. */
const ARCHIVE_PATIENCE_MS = 600_000

const decodeStat = heldTo(routes.fileStat.answer.shape)
const decodeEdited = heldTo(routes.fileEdit.answer.shape)
const decodePage = heldTo(routes.fileList.answer.shape)
const decodeReadHead = heldTo(routes.fileRead.answer.headers)
const decodeUnpacked = heldTo(routes.unpackArchive.answer.shape)
const decodeNothing = heldTo(routes.fileWrite.answer.shape)

type JsonFileRoute = (typeof routes)[
  | "fileStat"
  | "fileEdit"
  | "fileList"
  | "createDirectory"
  | "renameFile"
  | "removeFile"]

const isFileCode = Schema.is(FileRefused.fields.code)

const refused = (it: RouteRefused): FileRefused | GuestUnavailable =>
  isFileCode(it.code) ? new FileRefused({ code: it.code, message: it.message, details: it.details }) : unexpected(it)

const broken = (rule: string) => protocolFault(new ProtocolBreach(rule))

const jsonCalls =
  (session: AgentSession) =>
  <A>(
    route: JsonFileRoute,
    body: object,
    decode: (answer: unknown) => A,
    options: { readonly patienceMs?: number; readonly answerMaxBytes?: number } = {}
  ): Effect.Effect<A, FileRefused | GuestUnavailable> =>
    session
      .request({
        method: "POST",
        path: route.path,
        body: Buffer.from(JSON.stringify(body)),
        headTimeoutMs: CALL_TIMEOUT_MS,
        ...(options.patienceMs === undefined ? {} : { patienceMs: options.patienceMs })
      })
      .pipe(
        Effect.flatMap(({ status, stream }) => answerOf(route, status, stream, decode, options.answerMaxBytes)),
        Effect.scoped,
        Effect.catchTag("RouteRefused", (it) => Effect.fail(refused(it))),
        session.held
      )

const reads = (session: AgentSession): GuestFiles["read"] =>
  Effect.fnUntraced(function* (
    path: string,
    options: { readonly offset: number; readonly maxBytes: number; readonly version: string | null }
  ): Effect.fn.Return<FileRead, FileRefused | GuestUnavailable, Scope.Scope> {
    const { status, headers, stream } = yield* session.request({
      method: "POST",
      path: routes.fileRead.path,
      body: Buffer.from(JSON.stringify({ path, ...options })),
      headTimeoutMs: CALL_TIMEOUT_MS
    })
    if (status !== 200) return yield* Effect.fail(refused(yield* refusalOf(routes.fileRead, status, stream)))
    const announced = yield* held(() => decodeReadHead(headers))
    const { offset } = options
    const nextOffset = announced["atoll-next-offset"]
    const sizeBytes = announced["atoll-size"]
    const inBounds = nextOffset === offset || (nextOffset > offset && nextOffset <= sizeBytes)
    if (!inBounds || nextOffset - offset > options.maxBytes) {
      return yield* broken("atoll-next-offset must be within what was asked for")
    }
    return {
      offset,
      nextOffset,
      sizeBytes,
      eof: nextOffset >= sizeBytes,
      version: announced["atoll-version"],
      body: new ExactBytes(stream, nextOffset - offset)
    }
  }, session.held)

const writes =
  (session: AgentSession) =>
  <E>(path: string, body: FileUpload<E>): Effect.Effect<void, E | FileRefused | GuestUnavailable> =>
    Effect.scoped(
      Effect.gen(function* () {
        const { stream, head } = yield* session.open({
          method: "POST",
          path: routes.fileWrite.path,
          headers: { "atoll-path": Buffer.from(path).toString("base64url") },
          body: "open",
          headTimeoutMs: null
        })
        // The agent may refuse before it has read everything. If it has not answered by then, it has a limited time after the last byte.
        const late = Effect.andThen(
          Effect.sleep(session.within(CALL_TIMEOUT_MS)),
          Effect.fail(
            new GuestUnavailable({ message: "The Sandbox's agent did not confirm a write in time", fault: "lost" })
          )
        )
        const { status } = yield* Effect.raceFirst(head, Effect.andThen(uploadBody(stream, body), late))
        yield* Effect.catchTag(answerOf(routes.fileWrite, status, stream, decodeNothing), "RouteRefused", (it) =>
          Effect.fail(refused(it))
        )
      })
    ).pipe(session.held)

/** The agent did not answer within the time and then missed a ping, or did not answer within its whole patience. */
const silentUnpacking = (session: AgentSession, stream: ClientHttp2Stream): Effect.Effect<never, GuestUnavailable> =>
  Effect.gen(function* () {
    const waitMs = session.within(CALL_TIMEOUT_MS)
    const until = performance.now() + session.within(ARCHIVE_PATIENCE_MS)
    for (let answers = true; answers && performance.now() < until; ) {
      yield* Effect.sleep(waitMs)
      const { session: carrier } = stream
      answers = carrier !== undefined && (yield* Effect.promise(() => isAnswering(carrier, waitMs)))
    }
    return yield* new GuestUnavailable({
      message: "The Sandbox's agent did not say in time how an archive was unpacked",
      fault: "lost"
    })
  })

const unpacks =
  (session: AgentSession) =>
  <E>(
    path: string,
    archive: FileUpload<E>,
    encoding: ArchiveEncoding
  ): Effect.Effect<Unpacked, E | FileRefused | GuestUnavailable> =>
    Effect.scoped(
      Effect.gen(function* () {
        const { stream, head } = yield* session.open({
          method: "POST",
          path: routes.unpackArchive.path,
          headers: { "atoll-path": Buffer.from(path).toString("base64url"), "atoll-encoding": encoding },
          body: "open",
          headTimeoutMs: null
        })
        const { status } = yield* Effect.raceFirst(
          head,
          Effect.andThen(uploadBody(stream, archive), silentUnpacking(session, stream))
        )
        return yield* Effect.catchTag(
          answerOf(routes.unpackArchive, status, stream, decodeUnpacked),
          "RouteRefused",
          (it) => Effect.fail(refused(it))
        )
      })
    ).pipe(session.held)

const packs = (session: AgentSession): GuestFiles["pack"] =>
  Effect.fnUntraced(function* (path: string, encoding: ArchiveEncoding) {
    const { status, stream } = yield* session.request({
      method: "POST",
      path: routes.packDirectory.path,
      body: Buffer.from(JSON.stringify({ path, encoding })),
      headTimeoutMs: CALL_TIMEOUT_MS,
      patienceMs: ARCHIVE_PATIENCE_MS
    })
    if (status !== 200) return yield* Effect.fail(refused(yield* refusalOf(routes.packDirectory, status, stream)))
    return new FramedBytes(stream, broken)
  }, session.held)

export const makeAgentFiles = (session: AgentSession): GuestFiles => {
  const call = jsonCalls(session)
  return {
    read: reads(session),
    write: writes(session),
    unpack: unpacks(session),
    pack: packs(session),
    stat: (path) => call(routes.fileStat, { path }, decodeStat),
    edit: (path, edit) => call(routes.fileEdit, { path, ...edit }, decodeEdited),
    list: (path, { pageSize, after }) =>
      Effect.filterOrFail(
        call(routes.fileList, { path, pageSize, after }, decodePage, {
          answerMaxBytes: SMALL_ANSWER_MAX_BYTES + pageSize * PAGE_ENTRY_MAX_BYTES
        }),
        (page) => page.entries.length <= pageSize,
        () => broken("a page must have no more entries than were asked for")
      ).pipe(session.held),
    createDirectory: (path, { recursive }) =>
      Effect.asVoid(call(routes.createDirectory, { path, recursive }, decodeNothing)),
    rename: (path, destination, { overwrite }) =>
      Effect.asVoid(call(routes.renameFile, { path, destination, overwrite }, decodeNothing)),
    remove: (path, { recursive }) =>
      Effect.asVoid(call(routes.removeFile, { path, recursive }, decodeNothing, { patienceMs: REMOVE_PATIENCE_MS }))
  }
}
