/**
 * The service's interface to the inside of one running Sandbox: processes, files, connections.
 *
 * `agentClient/` implements it over HTTP/2 for every real runtime; `simulated/` implements it in memory. The other side is untrusted: an
 * implementation validates, sizes and times every answer before it returns it.
 *
 * @source design.md "The runtime", contract-details.md "Shapes" and "Fine print"
 */
import type { Duplex, Readable } from "node:stream"
import { Effect, Schema, type Scope, type Stream } from "effect"
import { PublicText } from "../../schemas/PublicText.ts"

export type OutputStream = "stdout" | "stderr"

/**
 * The Sandbox does not answer: it is gone, restarting, or broke the agent protocol. Contract 502/503.
 *
 * `fault` tells what that means for the call. `unreached`: the request was not delivered, so nothing was done. `lost`: the request was sent and no
 * answer came; whether it was carried out is unknown. `protocol`: the answer violates the protocol and must not be trusted. `message` is for the
 * operator's log; `shown` is the part that a customer may read, where the cause is a known one.
 */
export class GuestUnavailable extends Schema.TaggedError<GuestUnavailable>()("GuestUnavailable", {
  message: Schema.String,
  shown: Schema.optionalKey(PublicText),
  fault: Schema.Literals(["unreached", "lost", "protocol"]).pipe(
    Schema.withConstructorDefault(Effect.succeed("unreached" as const))
  )
}) {}

/** The command could not be started for a reason that the caller can fix. */
export class SpawnRefused extends Schema.TaggedError<SpawnRefused>()("SpawnRefused", {
  code: Schema.Literals([
    "CWD_NOT_FOUND",
    "CWD_NOT_A_DIRECTORY",
    "TOO_MANY_PROCESSES",
    "ARGUMENTS_TOO_LONG",
    "SHELL_MISSING"
  ]),
  message: Schema.String
}) {}

/** The guest does not know this process key: it was forgotten, or the Sandbox was booted again. */
export class ProcessUnknown extends Schema.TaggedError<ProcessUnknown>()("ProcessUnknown", { key: Schema.String }) {}

/** No program inside the Sandbox listens on that port. */
export class PortClosed extends Schema.TaggedError<PortClosed>()("PortClosed", { port: Schema.Int }) {}

export interface ProcessSpec {
  readonly argv: ReadonlyArray<string>
  /** Absolute, `/workspace` or below. */
  readonly cwd: string
  /** Added to the Sandbox's default environment. */
  readonly env: Readonly<Record<string, string>>
  readonly stdin: Uint8Array | null
  /** After this long the whole tree gets TERM, then KILL 2 s later; `exited.timedOut` is true. */
  readonly timeoutMs: number | null
  /**
   * `window`: a stream keeps at most `bytes` unacknowledged bytes, and its writer blocks when that is full (nothing is lost). `head`: a stream keeps
   * its first `bytes` and discards the rest as it is written (the writer never blocks).
   */
  readonly output: { readonly mode: "window" | "head"; readonly bytes: number }
  /**
   * For `start`: bounds the running commands that have this field. While that many run, or the maximum of all kinds, the command waits, in order of
   * arrival and without a time limit. An interruption removes it from the queue. Its time-out counts from its start. Absent: the command is refused
   * when there is no room.
   */
  readonly turnsMax?: number
}

/** The frames that an attached reader of one process receives, in order. Offsets are absolute byte offsets of the stream. */
export type ProcessFrame =
  | { readonly type: "output"; readonly stream: OutputStream; readonly offset: number; readonly bytes: Uint8Array }
  /** The command's own process ended. All its output was sent before this frame. `*Bytes` count all bytes that it wrote. */
  | {
      readonly type: "exited"
      readonly exitCode: number | null
      /** `SIGTERM` spelling; null unless a signal ended it. */
      readonly signal: string | null
      readonly timedOut: boolean
      /** It was killed while the Sandbox was out of memory. */
      readonly outOfMemory: boolean
      /** Epoch milliseconds by the guest's clock. */
      readonly startedAt: number
      readonly finishedAt: number
      readonly stdoutBytes: number
      readonly stderrBytes: number
    }
  /** The last frame: the state of the process tree. `running`: the command left background processes behind (only when it was not killed). */
  | { readonly type: "settled"; readonly processTree: "running" | "gone" | "unconfirmed" }

/** A completed command. The bytes are the first of each stream, as many as `head` keeps; `*Bytes` count all. */
export interface Executed extends Omit<Extract<ProcessFrame, { readonly type: "exited" }>, "type"> {
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
}

export type FileType = "file" | "directory" | "symlink" | "other"

export interface FileStat {
  readonly name: string
  readonly type: FileType
  readonly sizeBytes: number
  /** Four octal digits. */
  readonly mode: string
  /** Epoch milliseconds. */
  readonly modifiedAt: number
}

/** Codes are the contract's; `details` is passed through to the Error body. */
export class FileRefused extends Schema.TaggedError<FileRefused>()("FileRefused", {
  code: Schema.Literals([
    "INVALID_PATH",
    "INVALID_REQUEST",
    "NOT_FOUND",
    "CURSOR_STALE",
    "TEXT_NOT_FOUND",
    "TEXT_AMBIGUOUS",
    "DESTINATION_EXISTS",
    "DIRECTORY_NOT_EMPTY",
    "NOT_A_DIRECTORY",
    "IS_A_DIRECTORY",
    "ALREADY_EXISTS",
    "PRECONDITION_FAILED",
    "PAYLOAD_TOO_LARGE",
    "STORAGE_FULL",
    "ARCHIVE_INCOMPLETE",
    "VOLUME_READ_ONLY",
    "VOLUME_FAILED",
    "HOST_FULL",
    "NO_RESOURCES"
  ]),
  message: Schema.String,
  details: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))
}) {}

/** Identifies one version of a file or of a directory's membership; opaque outside the guest, sealed into a cursor by the service. */
export type Version = string

export interface FileRead {
  readonly offset: number
  readonly nextOffset: number
  readonly sizeBytes: number
  readonly eof: boolean
  readonly version: Version
  /** Exactly `nextOffset - offset` bytes, or an error: the guest broke off, or the file was truncated meanwhile. Valid until the scope closes. */
  readonly body: Readable
}

/** Content of an upload. It uses Node's own streams: eight megabytes through an Effect stream cost as much CPU again as the sockets do. */
export interface FileUpload<E> {
  /** Ends when all bytes have arrived. */
  readonly bytes: Readable
  /** The error if `bytes` closes before its end. */
  readonly broken: () => E
}

export interface FilePage {
  readonly entries: ReadonlyArray<FileStat>
  /** Null at the end; otherwise the next value of `after` for `list`. */
  readonly next: { readonly version: Version; readonly position: string } | null
}

/** How the bytes of an archive are compressed. */
export type ArchiveEncoding = "identity" | "gzip"

export interface Unpacked {
  /** Files, directories and links that were made or replaced. */
  readonly entries: number
  /** Content of files. */
  readonly bytes: number
}

export interface GuestFiles {
  readonly stat: (path: string) => Effect.Effect<FileStat, FileRefused | GuestUnavailable>
  readonly read: (
    path: string,
    options: { readonly offset: number; readonly maxBytes: number; readonly version: Version | null }
  ) => Effect.Effect<FileRead, FileRefused | GuestUnavailable, Scope.Scope>
  /** Atomically replaces the whole file. The length of the body is not known in advance. */
  readonly write: <E>(path: string, body: FileUpload<E>) => Effect.Effect<void, E | FileRefused | GuestUnavailable>
  readonly edit: (
    path: string,
    edit: {
      readonly expectedSha256: string
      readonly oldText: string
      readonly newText: string
      readonly replaceAll: boolean
    }
  ) => Effect.Effect<
    { readonly sizeBytes: number; readonly sha256: string; readonly replacements: number },
    FileRefused | GuestUnavailable
  >
  readonly list: (
    path: string,
    options: {
      readonly pageSize: number
      readonly after: { readonly version: Version; readonly position: string } | null
    }
  ) => Effect.Effect<FilePage, FileRefused | GuestUnavailable>
  readonly createDirectory: (
    path: string,
    options: { readonly recursive: boolean }
  ) => Effect.Effect<void, FileRefused | GuestUnavailable>
  readonly rename: (
    path: string,
    destination: string,
    options: { readonly overwrite: boolean }
  ) => Effect.Effect<void, FileRefused | GuestUnavailable>
  readonly remove: (
    path: string,
    options: { readonly recursive: boolean }
  ) => Effect.Effect<void, FileRefused | GuestUnavailable>
  /** Unpacks a tar archive into a directory, which is made if it is missing. Each file is replaced atomically, even if the archive fails later. */
  readonly unpack: <E>(
    path: string,
    archive: FileUpload<E>,
    encoding: ArchiveEncoding
  ) => Effect.Effect<Unpacked, E | FileRefused | GuestUnavailable>
  /** Packs a directory as a tar archive. The readable fails if the guest breaks off. Valid until the scope closes. */
  readonly pack: (
    path: string,
    encoding: ArchiveEncoding
  ) => Effect.Effect<Readable, FileRefused | GuestUnavailable, Scope.Scope>
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** A command with a connected client. */
export interface InteractiveSpec {
  readonly argv: ReadonlyArray<string>
  /** Absolute, `/workspace` or below. */
  readonly cwd: string
  /** Added to the Sandbox's default environment. */
  readonly env: Readonly<Record<string, string>>
  /** If set, the command runs on a pseudo-terminal and all its output is stdout. */
  readonly terminal: TerminalSize | null
  /** The kind of client; the prefix of `GuestProcess.command`. */
  readonly purpose: "terminal" | "ssh"
}

/** Both directions of an interactive command. */
export interface ProcessChannel {
  /** Can be read once. A slow reader holds the command back. */
  readonly frames: Stream.Stream<ProcessFrame, GuestUnavailable>
  /** Returns when there is room for more input. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void, GuestUnavailable>
  /** End of its input. */
  readonly end: Effect.Effect<void>
  /** Also returns when there is room for more input. */
  readonly resize: (size: TerminalSize) => Effect.Effect<void>
  /** Sends a signal (`SIGTERM` spelling) to the command's own process. An unknown name has no effect. */
  readonly signal: (signal: string) => Effect.Effect<void>
}

/** One process in a Sandbox, as the guest reports it. */
export interface GuestProcess {
  readonly pid: number
  readonly parentPid: number
  /** Identifies the process together with the pid, which the kernel reuses. */
  readonly startTicks: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly state: "running" | "sleeping" | "stopped" | "zombie"
  readonly cpuMs: number
  readonly memoryBytes: number
  /** Truncated to 512 bytes. */
  readonly argv: ReadonlyArray<string>
  /** The owner by effective user id. Absent from an agent of an earlier version, like the next field. */
  readonly user?: string | undefined
  /** The key of the command that it descends from, `terminal-…` and `ssh-…` for interactive ones; null when unknown. */
  readonly command?: string | null | undefined
}

/** How long an execute may wait for its start; then it fails with `SpawnRefused`. */
export const EXECUTE_WAIT_MAX_MS = 60_000

export interface GuestProcesses {
  /**
   * Starts a command and stays connected to it. The command and its tree end with the scope or with the connection. If the Sandbox has no free
   * pseudo-terminal, a command that needs one waits for some seconds, and is then refused (TOO_MANY_PROCESSES).
   */
  readonly open: (spec: InteractiveSpec) => Effect.Effect<ProcessChannel, SpawnRefused | GuestUnavailable, Scope.Scope>
  /** Idempotent by key: a second start of a known key, or of one that was killed or forgotten, does nothing and succeeds. A missing program exits 127, one that cannot run 126. */
  readonly start: (key: string, spec: ProcessSpec) => Effect.Effect<void, SpawnRefused | GuestUnavailable>
  /**
   * Output from the given offsets on, then `exited`, then `settled`, then the end. Any number of readers, any number of times. An offset that is no
   * longer kept is answered from the first kept byte.
   */
  readonly attach: (
    key: string,
    from: { readonly stdoutOffset: number; readonly stderrOffset: number }
  ) => Stream.Stream<ProcessFrame, ProcessUnknown | GuestUnavailable>
  /**
   * Runs a command in `head` mode to its end; then the guest forgets it. The command and its tree end when the caller or the connection goes. While
   * many run, it waits at most `EXECUTE_WAIT_MAX_MS`; its time-out counts from its start.
   */
  readonly execute: (key: string, spec: ProcessSpec) => Effect.Effect<Executed, SpawnRefused | GuestUnavailable>
  /** Start and attach in one round trip. */
  readonly run: (key: string, spec: ProcessSpec) => Stream.Stream<ProcessFrame, SpawnRefused | GuestUnavailable>
  /** Bytes below these offsets are stored elsewhere: the guest may discard them. */
  readonly acknowledge: (
    key: string,
    upTo: { readonly stdoutOffset: number; readonly stderrOffset: number }
  ) => Effect.Effect<void, ProcessUnknown | GuestUnavailable>
  /** Sends TERM to the whole tree (including processes that escaped by setsid or a double fork), and KILL after `graceMs`. Returns immediately; idempotent. */
  readonly kill: (
    key: string,
    options: { readonly graceMs: number }
  ) => Effect.Effect<void, ProcessUnknown | GuestUnavailable>
  /** The outcome is stored elsewhere: the guest may forget the key. Idempotent. */
  readonly forget: (key: string) => Effect.Effect<void, GuestUnavailable>
  /** Every process of this Sandbox's commands, running or left behind, at most 2,048. */
  readonly every: Effect.Effect<
    { readonly processes: ReadonlyArray<GuestProcess>; readonly truncated: boolean },
    GuestUnavailable
  >
  /** Sends TERM to one process, and KILL after `graceMs` if it still lives. Returns immediately. */
  readonly endOne: (
    process: Pick<GuestProcess, "pid" | "startTicks">,
    options: { readonly graceMs: number }
  ) => Effect.Effect<void, ProcessUnknown | GuestUnavailable>
  /** Every key the guest knows. */
  readonly list: Effect.Effect<ReadonlyArray<{ readonly key: string; readonly running: boolean }>, GuestUnavailable>
}

export interface Guest {
  readonly processes: GuestProcesses
  readonly files: GuestFiles
  /** One TCP connection to a port on the Sandbox's loopback, closed with the scope. Flow control is the stream's own. */
  readonly dial: (port: number) => Effect.Effect<Duplex, PortClosed | GuestUnavailable, Scope.Scope>
}
