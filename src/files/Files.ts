/**
 * Files of running Sandboxes: finds the Sandbox, seals and opens cursors, and lets the guest do the work. File content only passes through.
 *
 * @source contract.md "Files", contract-details.md "Fine print"
 */
import type { Readable } from "node:stream"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import {
  type AlreadyExists,
  type ArchiveIncomplete,
  type CreditExhausted,
  type CursorStale,
  type DestinationExists,
  type DirectoryNotEmpty,
  InvalidPath,
  InvalidRequest,
  type IsADirectory,
  type NotADirectory,
  type NotFound,
  type PayloadTooLarge,
  type PreconditionFailed,
  RuntimeUnavailable,
  type SandboxUnavailable,
  type ServiceUnavailable,
  type StorageFull,
  type TextAmbiguous,
  type TextNotFound
} from "../../schemas/Errors.ts"
import type {
  EditFileRequest,
  EditFileResponse,
  FileList,
  FileStat,
  FileStatResponse,
  UnpackedArchive
} from "../../schemas/Files.ts"
import { WorkspacePath } from "../../schemas/WorkspacePath.ts"
import { requireCredit } from "../account/Credit.ts"
import type { Settings } from "../Config.ts"
import type { ActorHost } from "../engine/ActorHost.ts"
import type * as Guest from "../runtime/Guest.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { guestChange, unanswered } from "../sandbox/GuestChange.ts"
import { runningSandbox } from "../sandbox/RunningSandbox.ts"
import { SandboxUse } from "../sandbox/SandboxUse.ts"
import type { Actors } from "../store/Actors.ts"
import type { Journal } from "../store/Journal.ts"
import { serverKey } from "../store/ServerKeys.ts"
import { type CursorBinding, ListCursor, ReadCursor } from "./FileCursor.ts"
import { inContract } from "./FileErrors.ts"

/** One path in one Sandbox, requested by its account. */
export interface FileAddress {
  readonly accountId: string
  /** When the account's credit ends (epoch milliseconds) and writes are refused; null: no end is planned. */
  readonly exhaustedAt: number | null
  readonly sandboxId: string
  /** Unchecked, as the client sent it. */
  readonly path: string
}

export interface FileRange {
  readonly offset: number
  readonly nextOffset: number
  readonly sizeBytes: number
  readonly eof: boolean
  readonly nextCursor: string
  /** Exactly `nextOffset - offset` bytes, or an error. */
  readonly body: Readable
}

/** Errors of every call. */
type Common = InvalidPath | NotFound | NotADirectory | SandboxUnavailable | RuntimeUnavailable | ServiceUnavailable

/** Errors of every call that writes, except removals. */
type Write = Common | CreditExhausted

export class Files extends Context.Service<
  Files,
  {
    readonly stat: (at: FileAddress) => Effect.Effect<FileStatResponse, Common>
    /** `offset` null: the cursor's position, else 0. */
    readonly read: (
      at: FileAddress,
      range: { readonly offset: number | null; readonly maxBytes: number; readonly cursor: string | null }
    ) => Effect.Effect<FileRange, Common | InvalidRequest | CursorStale | IsADirectory, Scope.Scope>
    readonly write: <E>(
      at: FileAddress,
      body: Guest.FileUpload<E>
    ) => Effect.Effect<void, E | Write | IsADirectory | PayloadTooLarge | StorageFull>
    readonly edit: (
      at: FileAddress,
      edit: EditFileRequest
    ) => Effect.Effect<
      EditFileResponse,
      | Write
      | InvalidRequest
      | IsADirectory
      | PayloadTooLarge
      | PreconditionFailed
      | StorageFull
      | TextAmbiguous
      | TextNotFound
    >
    readonly list: (
      at: FileAddress,
      page: { readonly pageSize: number; readonly cursor: string | null }
    ) => Effect.Effect<FileList, Common | InvalidRequest | CursorStale | PayloadTooLarge>
    readonly createDirectory: (
      at: FileAddress,
      options: { readonly recursive: boolean }
    ) => Effect.Effect<void, Write | AlreadyExists | StorageFull>
    readonly rename: (
      at: FileAddress,
      to: { readonly destination: string; readonly overwrite: boolean }
    ) => Effect.Effect<void, Write | DestinationExists | DirectoryNotEmpty | IsADirectory | StorageFull>
    readonly remove: (
      at: FileAddress,
      options: { readonly recursive: boolean }
    ) => Effect.Effect<void, Common | DirectoryNotEmpty>
    readonly unpack: <E>(
      at: FileAddress,
      archive: Guest.FileUpload<E>,
      encoding: Guest.ArchiveEncoding
    ) => Effect.Effect<UnpackedArchive, E | Write | ArchiveIncomplete | StorageFull>
    /** The stream fails if the Sandbox breaks it off. */
    readonly pack: (
      at: FileAddress,
      encoding: Guest.ArchiveEncoding
    ) => Effect.Effect<Readable, Common | PayloadTooLarge, Scope.Scope>
  }
>()("atoll/files/Files") {
  static readonly layer = Layer.effect(
    Files,
    Effect.suspend(() => make)
  )
}

const isPath = Schema.is(WorkspacePath)

const checked = (path: string): Effect.Effect<void, InvalidPath> =>
  isPath(path)
    ? Effect.void
    : Effect.fail(
        new InvalidPath({
          message:
            "The path must be /workspace or below, without empty, . or .. segments, and of at most 4096 characters."
        })
      )

const shown = (stat: Guest.FileStat): FileStat => ({ ...stat, modifiedAt: new Date(stat.modifiedAt).toISOString() })

const disagrees = () =>
  new InvalidRequest({
    details: {
      issues: [{ path: ["offset"], message: "Disagrees with the cursor. Leave it out, or leave out the cursor" }]
    }
  })

const make = Effect.gen(function* () {
  const runtime = yield* Runtime
  const uses = yield* SandboxUse
  const key = yield* serverKey("file-cursor")
  const running = yield* Effect.context<ActorHost | Actors | Journal | Settings>()

  /** The files of the Sandbox for writing, after the checks of the account, its credit, and that the Sandbox runs. */
  const writableAt = Effect.fnUntraced(
    function* ({ accountId, exhaustedAt, sandboxId, path }: FileAddress) {
      yield* checked(path)
      const { generation } = yield* runningSandbox(accountId, sandboxId, requireCredit(exhaustedAt))
      return (yield* runtime.guest(sandboxId, generation)).files
    },
    Effect.provideContext(running),
    Effect.catchTags({
      NotRunning: () => Effect.fail(new RuntimeUnavailable()),
      GuestUnavailable: () => Effect.fail(unanswered())
    })
  )

  /** The same for reading or removing, which need no credit. */
  const filesAt = (at: FileAddress) =>
    Effect.catchTag(writableAt({ ...at, exhaustedAt: null }), "CREDIT_EXHAUSTED", Effect.die)

  const inUse = <A, E, R>(effect: Effect.Effect<A, E, R>, { sandboxId }: FileAddress) => uses.during(sandboxId)(effect)

  const bindingOf = (kind: CursorBinding["kind"], { accountId, sandboxId, path }: FileAddress): CursorBinding => ({
    kind,
    accountId,
    sandboxId,
    path
  })

  return Files.of({
    stat: Effect.fn("Files.stat")(function* (at) {
      const files = yield* filesAt(at)
      const stat = yield* files.stat(at.path).pipe(inContract())
      return { path: at.path, ...shown(stat) }
    }, inUse),

    read: Effect.fn("Files.read")(function* (at, { offset, maxBytes, cursor }) {
      yield* checked(at.path)
      yield* uses.scoped(at.sandboxId)
      const binding = bindingOf("read", at)
      const from = cursor === null ? null : yield* ReadCursor.open(key, binding, cursor)
      if (from !== null && offset !== null && offset !== from.offset) return yield* disagrees()
      const files = yield* filesAt(at)
      const { version, ...range } = yield* files
        .read(at.path, { offset: from?.offset ?? offset ?? 0, maxBytes, version: from?.version ?? null })
        .pipe(inContract("CURSOR_STALE", "IS_A_DIRECTORY"))
      return { ...range, nextCursor: ReadCursor.seal(key, binding, { offset: range.nextOffset, version }) }
    }),

    write: Effect.fn("Files.write")(function* (at, body) {
      const files = yield* writableAt(at)
      yield* files
        .write(at.path, body)
        .pipe(guestChange, inContract("IS_A_DIRECTORY", "PAYLOAD_TOO_LARGE", "STORAGE_FULL"))
    }, inUse),

    edit: Effect.fn("Files.edit")(function* (at, edit) {
      const files = yield* writableAt(at)
      const edited = yield* files
        .edit(at.path, edit)
        .pipe(
          guestChange,
          inContract(
            "INVALID_REQUEST",
            "IS_A_DIRECTORY",
            "PAYLOAD_TOO_LARGE",
            "PRECONDITION_FAILED",
            "STORAGE_FULL",
            "TEXT_AMBIGUOUS",
            "TEXT_NOT_FOUND"
          )
        )
      return { path: at.path, ...edited }
    }, inUse),

    list: Effect.fn("Files.list")(function* (at, { pageSize, cursor }) {
      yield* checked(at.path)
      const binding = bindingOf("list", at)
      const after = cursor === null ? null : yield* ListCursor.open(key, binding, cursor)
      const files = yield* filesAt(at)
      const { entries, next } = yield* files
        .list(at.path, { pageSize, after })
        .pipe(inContract("CURSOR_STALE", "PAYLOAD_TOO_LARGE"))
      return {
        path: at.path,
        entries: entries.map(shown),
        nextCursor: next === null ? null : ListCursor.seal(key, binding, next)
      }
    }, inUse),

    createDirectory: Effect.fn("Files.createDirectory")(function* (at, options) {
      const files = yield* writableAt(at)
      yield* files.createDirectory(at.path, options).pipe(guestChange, inContract("ALREADY_EXISTS", "STORAGE_FULL"))
    }, inUse),

    rename: Effect.fn("Files.rename")(function* (at, { destination, overwrite }) {
      yield* checked(destination)
      const files = yield* writableAt(at)
      yield* files
        .rename(at.path, destination, { overwrite })
        .pipe(guestChange, inContract("DESTINATION_EXISTS", "DIRECTORY_NOT_EMPTY", "IS_A_DIRECTORY", "STORAGE_FULL"))
    }, inUse),

    remove: Effect.fn("Files.remove")(function* (at, options) {
      const files = yield* filesAt(at)
      yield* files.remove(at.path, options).pipe(guestChange, inContract("DIRECTORY_NOT_EMPTY"))
    }, inUse),

    unpack: Effect.fn("Files.unpack")(function* (at, archive, encoding) {
      const files = yield* writableAt(at)
      const unpacked = yield* files
        .unpack(at.path, archive, encoding)
        .pipe(guestChange, inContract("ARCHIVE_INCOMPLETE", "STORAGE_FULL"))
      return { path: at.path, ...unpacked }
    }, inUse),

    pack: Effect.fn("Files.pack")(function* (at, encoding) {
      yield* uses.scoped(at.sandboxId)
      const files = yield* filesAt(at)
      return yield* files.pack(at.path, encoding).pipe(inContract("PAYLOAD_TOO_LARGE"))
    })
  })
})
