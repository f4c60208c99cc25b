/**
 * What the service asks of one running Sandbox from the inside: processes, files, connections.
 *
 * The `agent/` client implements it over HTTP/2 for every real runtime; `simulated/` implements it in memory.
 * The other side is untrusted: an implementation validates, sizes and times every answer before it returns it.
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
 * `fault` says what that means for the call. `unreached`: it was never asked, so nothing was done. `lost`: it was asked and its answer did not
 * come; whether it did it is unknown. `protocol`: it answered what its protocol does not allow; it is not to be believed.
 * `message` is for the operator's log; `shown` is what a customer may read of it, where the cause is a known one.
 */
export class GuestUnavailable extends Schema.TaggedError<GuestUnavailable>()("GuestUnavailable", {
  message: Schema.String,
  shown: Schema.optionalKey(PublicText),
  fault: Schema.Literals(["unreached", "lost", "protocol"]).pipe(
    Schema.withConstructorDefault(Effect.succeed("unreached" as const))
  )
}) {}

/** The command could not be started for a reason the caller can mend. */
export class SpawnRefused extends Schema.TaggedError<SpawnRefused>()("SpawnRefused", {
  code: Schema.Literals(["CWD_NOT_FOUND", "CWD_NOT_A_DIRECTORY", "TOO_MANY_PROCESSES", "ARGUMENTS_TOO_LONG"]),
  message: Schema.String
}) {}

/** The guest does not know this process key: it was forgotten, or the Sandbox booted anew. */
export class ProcessUnknown extends Schema.TaggedError<ProcessUnknown>()("ProcessUnknown", { key: Schema.String }) {}

/** Nothing inside the Sandbox listens on that port. */
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
   * `window`: a stream keeps at most `bytes` that were not acknowledged, and its writer blocks when that is full (nothing is lost).
   * `head`: a stream keeps its first `bytes` and discards the rest as it is written (the writer never blocks).
   */
  readonly output: { readonly mode: "window" | "head"; readonly bytes: number }
  /**
   * Of `start`: while so many commands that have one are running, or as many of all kinds as may, it waits for its turn, in order of arrival and for
   * as long as it takes; interrupted, it leaves the line. Its time-out counts from its start. Absent: it is refused where there is no room.
   */
  readonly turnsMax?: number
}

/** What an attached reader of one process sees, in order. Offsets are absolute byte offsets of the stream. */
export type ProcessFrame =
  | { readonly type: "output"; readonly stream: OutputStream; readonly offset: number; readonly bytes: Uint8Array }
  /** The command's own process ended. All its output was sent before this frame. `*Bytes` count everything it wrote. */
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
  /** The last frame: what is left of the process tree. `running`: the command left background processes behind (only when it was not killed). */
  | { readonly type: "settled"; readonly processTree: "running" | "gone" | "unconfirmed" }

/** A command from its start to its end. The bytes are the first of each stream, as many as `head` keeps; `*Bytes` count everything. */
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
  /** Exactly `nextOffset - offset` bytes, or an error: the guest broke off, or the file was cut meanwhile. It lives as long as the scope. */
  readonly body: Readable
}

/** Content on its way in. Node's own streams: eight megabytes through an Effect stream cost as much CPU again as the sockets do. */
export interface FileUpload<E> {
  /** Ends when everything has come. */
  readonly bytes: Readable
  /** What it means that it closed before its end. */
  readonly broken: () => E
}

export interface FilePage {
  readonly entries: ReadonlyArray<FileStat>
  /** Null at the end; else what `list` takes as `after` to go on. */
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
  /** Atomically replaces the whole file. The length of the body is not known before. */
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
  /** Unpacks a tar archive into a directory, which is made if it is missing. Each file is replaced whole, whatever becomes of the rest. */
  readonly unpack: <E>(
    path: string,
    archive: FileUpload<E>,
    encoding: ArchiveEncoding
  ) => Effect.Effect<Unpacked, E | FileRefused | GuestUnavailable>
  /** A directory as a tar archive. The readable fails where the guest breaks off; it lives as long as the scope. */
  readonly pack: (
    path: string,
    encoding: ArchiveEncoding
  ) => Effect.Effect<Readable, FileRefused | GuestUnavailable, Scope.Scope>
}

export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** A command that somebody is connected to. */
export interface InteractiveSpec {
  readonly argv: ReadonlyArray<string>
  /** Absolute, `/workspace` or below. */
  readonly cwd: string
  /** Added to the Sandbox's default environment. */
  readonly env: Readonly<Record<string, string>>
  /** With one, it runs on a pseudo-terminal and its output is all stdout. */
  readonly terminal: TerminalSize | null
  /** Who is connected to it; `GuestProcess.command` begins so. */
  readonly purpose: "terminal" | "ssh"
}

/** Both ways to an interactive command. */
export interface ProcessChannel {
  /** Once; a reader that is slow holds the command back. */
  readonly frames: Stream.Stream<ProcessFrame, GuestUnavailable>
  /** Returns when there is room for more input. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void, GuestUnavailable>
  /** End of its input. */
  readonly end: Effect.Effect<void>
  /** Returns when there is room for more, too. */
  readonly resize: (size: TerminalSize) => Effect.Effect<void>
  /** `SIGTERM` spelling, to the command's own process; one that it does not know changes nothing. */
  readonly signal: (signal: string) => Effect.Effect<void>
}

/** One process in a Sandbox, as the guest tells it. */
export interface GuestProcess {
  readonly pid: number
  readonly parentPid: number
  /** With the pid it names the process for good: a pid is used again. */
  readonly startTicks: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly state: "running" | "sleeping" | "stopped" | "zombie"
  readonly cpuMs: number
  readonly memoryBytes: number
  /** Its beginning, at most 512 bytes. */
  readonly argv: ReadonlyArray<string>
  /** By its effective id. Absent, as the next one: an agent of an earlier version. */
  readonly user?: string | undefined
  /** The key of the command that it descends from, `terminal-…` and `ssh-…` for interactive ones; null: not known. */
  readonly command?: string | null | undefined
}

/** How long a command may wait for its turn; `SpawnRefused` after that. */
export const EXECUTE_WAIT_MAX_MS = 60_000

export interface GuestProcesses {
  /**
   * Starts a command and stays connected to it. It is ended, tree and all, with the scope or with the connection. Where the Sandbox has no
   * pseudo-terminal to give, one that needs it waits for some seconds, and is refused then (TOO_MANY_PROCESSES).
   */
  readonly open: (spec: InteractiveSpec) => Effect.Effect<ProcessChannel, SpawnRefused | GuestUnavailable, Scope.Scope>
  /** Idempotent by key: a second start of a known key, or of one that was killed or forgotten, does nothing and succeeds. A missing program exits 127, one that cannot run 126. */
  readonly start: (key: string, spec: ProcessSpec) => Effect.Effect<void, SpawnRefused | GuestUnavailable>
  /**
   * Output from the given offsets on, then `exited`, then `settled`, then the end. Any number of readers, any number of times.
   * An offset that is no longer kept is answered from the first byte that is.
   */
  readonly attach: (
    key: string,
    from: { readonly stdoutOffset: number; readonly stderrOffset: number }
  ) => Stream.Stream<ProcessFrame, ProcessUnknown | GuestUnavailable>
  /**
   * Runs a command in `head` mode to its end; the guest forgets it then. It is ended, tree and all, when its caller or the connection goes.
   * Where many run at once it waits for its turn, at most `EXECUTE_WAIT_MAX_MS`; its time-out counts from its start.
   */
  readonly execute: (key: string, spec: ProcessSpec) => Effect.Effect<Executed, SpawnRefused | GuestUnavailable>
  /** Start and attach in one round trip. */
  readonly run: (key: string, spec: ProcessSpec) => Stream.Stream<ProcessFrame, SpawnRefused | GuestUnavailable>
  /** Bytes below these offsets are stored elsewhere and may be dropped. */
  readonly acknowledge: (
    key: string,
    upTo: { readonly stdoutOffset: number; readonly stderrOffset: number }
  ) => Effect.Effect<void, ProcessUnknown | GuestUnavailable>
  /** TERM to the whole tree (escapees by setsid or double fork included), KILL after `graceMs`. Returns at once; idempotent. */
  readonly kill: (
    key: string,
    options: { readonly graceMs: number }
  ) => Effect.Effect<void, ProcessUnknown | GuestUnavailable>
  /** The outcome is stored elsewhere: the guest may forget the key. Idempotent. */
  readonly forget: (key: string) => Effect.Effect<void, GuestUnavailable>
  /** Every process that commands of this Sandbox have left or still run, at most 2,048. */
  readonly every: Effect.Effect<
    { readonly processes: ReadonlyArray<GuestProcess>; readonly truncated: boolean },
    GuestUnavailable
  >
  /** TERM to one process, KILL after `graceMs` if it is still there. Returns at once. */
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
