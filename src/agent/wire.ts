/**
 * The agent's answers to the service as data: every answer, field by field, with its bounds.
 *
 * The agent is untrusted once a command runs beside it. So nothing that it says is believed further than this table goes:
 * `src/runtime/agentClient/heldToShape.ts` makes the service's decoders of it, and the standing suite of hostile agents its lies
 * (`test/support/agent/hostile/`). Frames of a process have their heads and bounds in `processes/processFrames.ts`.
 *
 * A field that an older agent does not send is `optional`; a field that is not named here is dropped.
 */

export type Shape =
  | { readonly is: "integer"; readonly min: number; readonly max: number }
  /** An integer in decimal digits: a header. */
  | { readonly is: "decimal"; readonly max: number }
  /** Well-formed text without NUL, of at most `max` UTF-16 units. */
  | { readonly is: "text"; readonly max: number; readonly like: RegExp }
  /** A sentence for people: cut to `max` units, control characters replaced. */
  | { readonly is: "prose"; readonly max: number }
  | { readonly is: "flag" }
  | { readonly is: "oneOf"; readonly values: ReadonlyArray<string> }
  | { readonly is: "nullable"; readonly of: Shape }
  | { readonly is: "optional"; readonly of: Shape }
  | { readonly is: "list"; readonly of: Shape; readonly max: number }
  | { readonly is: "record"; readonly fields: Readonly<Record<string, Shape>> }

/** The type of a value that fits a shape. */
export type Said<S> = S extends { readonly is: "integer" | "decimal" }
  ? number
  : S extends { readonly is: "text" | "prose" }
    ? string
    : S extends { readonly is: "flag" }
      ? boolean
      : S extends { readonly is: "oneOf"; readonly values: ReadonlyArray<infer V> }
        ? V
        : S extends { readonly is: "nullable"; readonly of: infer O }
          ? Said<O> | null
          : S extends { readonly is: "optional"; readonly of: infer O }
            ? Said<O> | undefined
            : S extends { readonly is: "list"; readonly of: infer O }
              ? ReadonlyArray<Said<O>>
              : S extends { readonly is: "record"; readonly fields: infer F }
                ? { readonly [K in keyof F]: Said<F[K]> }
                : never

const integer = (min: number, max: number) => ({ is: "integer", min, max }) as const
const decimal = (max: number) => ({ is: "decimal", max }) as const
const text = (max: number, like: RegExp) => ({ is: "text", max, like }) as const
const prose = (max: number) => ({ is: "prose", max }) as const
const flag = { is: "flag" } as const
const oneOf = <const V extends ReadonlyArray<string>>(...values: V) => ({ is: "oneOf", values }) as const
const nullable = <const S extends Shape>(of: S) => ({ is: "nullable", of }) as const
const optional = <const S extends Shape>(of: S) => ({ is: "optional", of }) as const
const list = <const S extends Shape>(max: number, of: S) => ({ is: "list", of, max }) as const
const record = <const F extends Readonly<Record<string, Shape>>>(fields: F) => ({ is: "record", fields }) as const

const INT4_MAX = 2 ** 31 - 1
const COUNT_MAX = Number.MAX_SAFE_INTEGER
/** Epoch milliseconds that a Date can hold. */
const TIME_MAX = 8.64e15

/** The largest offset of a process stream: a petabyte, far below the point where adding to a double stops being exact. */
export const OUTPUT_END_MAX = 2 ** 50
/** How many commands the service may know concurrently: running ones, and finished ones that were not forgotten. */
export const PROCESSES_MAX = 2_048
/** Processes of one listing, and bytes of the command line of each. */
export const EVERY_PROCESS_MAX = 2_048
export const PROCESS_ARGV_MAX_BYTES = 512
/** Names that useradd accepts, and numbers. */
export const USER_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/
/** How many commands one agent runs concurrently. */
export const RUNNING_MAX = 256
/** How many of these may be executes; the rest is for operations and people. */
export const EXECUTES_MAX = 192
/** The largest page of a listing. */
export const PAGE_ENTRIES_MAX = 10_000
/** One entry in JSON: 255 bytes of name, each escaped as six, and the rest. */
export const PAGE_ENTRY_MAX_BYTES = 2 * 1024
/** The name of the last entry that was unpacked: 1024 characters. */
const LAST_PATH_MAX_UNITS = 2 * 1024
/** The size of small answers, including refusals. */
export const SMALL_ANSWER_MAX_BYTES = 16 * 1024
/** Pattern of the ids that the agent makes: versions, positions, the boot's id. */
const opaque = text(256, /^[!-~]*$/)
/** Made by the service, or by the agent for interactive commands. */
const commandKey = text(256, /^[!-~]+$/)
const count = integer(0, COUNT_MAX)
const time = integer(0, TIME_MAX)

/** `SIGTERM`; real-time signals count from the first: `SIGRTMIN`, `SIGRTMIN+6`. */
const signal = text(12, /^SIG(RTMIN(\+([1-9]|[12]\d|30))?|3[23]|[A-Z][A-Z0-9]{1,8})$/)

export const exitedShape = record({
  /** As in wait(2). */
  exitCode: nullable(integer(0, 255)),
  signal: nullable(signal),
  timedOut: flag,
  outOfMemory: optional(flag),
  startedAt: time,
  finishedAt: time,
  stdoutBytes: integer(0, OUTPUT_END_MAX),
  stderrBytes: integer(0, OUTPUT_END_MAX)
})

export const settledShape = record({ processTree: oneOf("running", "gone", "unconfirmed") })

/** A 4xx. `routes` lists the codes with which each route may refuse. */
export const refusalShape = record({
  code: text(64, /^[A-Z][A-Z_]*$/),
  message: optional(prose(500)),
  details: optional(
    nullable(
      record({
        reason: optional(text(64, /^[a-z0-9_]*$/)),
        /** For ARCHIVE_INCOMPLETE: how much was unpacked. */
        entries: optional(count),
        bytes: optional(count),
        lastPath: optional(nullable(prose(LAST_PATH_MAX_UNITS))),
        limitBytes: optional(count),
        occurrences: optional(integer(0, INT4_MAX)),
        actualSha256: optional(text(64, /^[0-9a-f]{64}$/))
      })
    )
  )
})

const nothing = record({})

const fileStat = record({
  // 255 bytes, each of which may be shown as one character of two UTF-16 units.
  name: text(510, /^(?!\.{1,2}$)[^/]+$/),
  type: oneOf("file", "directory", "symlink", "other"),
  sizeBytes: count,
  mode: text(4, /^[0-7]{4}$/),
  modifiedAt: integer(-TIME_MAX, TIME_MAX)
})

const page = record({
  entries: list(PAGE_ENTRIES_MAX, fileStat),
  next: nullable(record({ version: opaque, position: opaque }))
})

/**
 * The body of a 200. `frames` are a process's output; `bytes` are announced by their headers; `content` ends with a mark; `tunnel` carries another
 * program's bytes.
 */
export type Answer =
  | { readonly kind: "json"; readonly maxBytes: number; readonly shape: Shape }
  | { readonly kind: "bytes"; readonly headers: Shape }
  | { readonly kind: "frames" | "content" | "tunnel" }

const json = <const S extends Shape>(shape: S, maxBytes = SMALL_ANSWER_MAX_BYTES) =>
  ({ kind: "json", maxBytes, shape }) as const
const frames = { kind: "frames" } as const

const spawnRefusals = [
  "CWD_NOT_FOUND",
  "CWD_NOT_A_DIRECTORY",
  "TOO_MANY_PROCESSES",
  "ARGUMENTS_TOO_LONG",
  "SHELL_MISSING"
] as const
const unknown = ["PROCESS_UNKNOWN"] as const
const fileRefusals = [
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
  // Faults of the Sandbox itself, answered with 503.
  "VOLUME_READ_ONLY",
  "VOLUME_FAILED",
  "HOST_FULL",
  "NO_RESOURCES"
] as const

/** Every route that the service uses, by its name in the service. */
export const routes = {
  health: {
    path: "/v1/health",
    refusals: [],
    answer: json(
      record({
        protocol: integer(0, INT4_MAX),
        generation: nullable(integer(1, INT4_MAX)),
        bootId: opaque,
        pid: integer(1, INT4_MAX),
        processTrees: oneOf("cgroup", "mark")
      })
    )
  },
  /** `monotonicUs`: CLOCK_MONOTONIC. */
  clock: { path: "/v1/clock", refusals: [], answer: json(record({ monotonicUs: count, epochMs: time })) },
  start: { path: "/v1/processes", refusals: spawnRefusals, answer: json(nothing) },
  execute: { path: "/v1/processes/execute", refusals: spawnRefusals, answer: frames },
  run: { path: "/v1/processes/run", refusals: spawnRefusals, answer: frames },
  channel: { path: "/v1/processes/channel", refusals: spawnRefusals, answer: frames },
  output: { path: "/v1/processes/output", refusals: unknown, answer: frames },
  acknowledge: { path: "/v1/processes/acknowledge", refusals: unknown, answer: json(nothing) },
  kill: { path: "/v1/processes/kill", refusals: unknown, answer: json(nothing) },
  forget: { path: "/v1/processes/forget", refusals: [], answer: json(nothing) },
  list: {
    path: "/v1/processes",
    refusals: [],
    answer: json(record({ processes: list(PROCESSES_MAX, record({ key: commandKey, running: flag })) }), 1024 ** 2)
  },
  every: {
    path: "/v1/processes/every",
    refusals: [],
    answer: json(
      record({
        processes: list(
          EVERY_PROCESS_MAX,
          record({
            pid: integer(1, INT4_MAX),
            parentPid: integer(0, INT4_MAX),
            startTicks: count,
            startedAt: time,
            state: oneOf("running", "sleeping", "stopped", "zombie"),
            cpuMs: count,
            memoryBytes: count,
            argv: list(PROCESS_ARGV_MAX_BYTES, prose(PROCESS_ARGV_MAX_BYTES)),
            user: optional(text(32, USER_NAME)),
            command: optional(nullable(commandKey))
          })
        ),
        truncated: flag
      }),
      // Each byte of a command line may be escaped as six.
      EVERY_PROCESS_MAX * (PROCESS_ARGV_MAX_BYTES * 6 + 1024)
    )
  },
  endOne: { path: "/v1/processes/end", refusals: unknown, answer: json(nothing) },
  fileStat: { path: "/v1/files/stat", refusals: fileRefusals, answer: json(fileStat) },
  fileRead: {
    path: "/v1/files/read",
    refusals: fileRefusals,
    answer: {
      kind: "bytes",
      headers: record({
        "atoll-next-offset": decimal(COUNT_MAX),
        "atoll-size": decimal(COUNT_MAX),
        "atoll-version": opaque
      })
    }
  },
  fileWrite: { path: "/v1/files/write", refusals: fileRefusals, answer: json(nothing) },
  fileEdit: {
    path: "/v1/files/edit",
    refusals: fileRefusals,
    answer: json(record({ sizeBytes: count, sha256: text(64, /^[0-9a-f]{64}$/), replacements: integer(0, INT4_MAX) }))
  },
  fileList: {
    path: "/v1/files/list",
    refusals: fileRefusals,
    answer: json(page, PAGE_ENTRIES_MAX * PAGE_ENTRY_MAX_BYTES)
  },
  createDirectory: { path: "/v1/files/directory", refusals: fileRefusals, answer: json(nothing) },
  renameFile: { path: "/v1/files/rename", refusals: fileRefusals, answer: json(nothing) },
  removeFile: { path: "/v1/files/remove", refusals: fileRefusals, answer: json(nothing) },
  unpackArchive: {
    path: "/v1/files/unpack",
    refusals: [...fileRefusals, "ARCHIVE_INCOMPLETE"],
    answer: json(record({ entries: count, bytes: count }))
  },
  packDirectory: { path: "/v1/files/pack", refusals: fileRefusals, answer: { kind: "content" } },
  dial: { path: null, refusals: ["PORT_CLOSED"], answer: { kind: "tunnel" } }
} as const satisfies Readonly<
  Record<string, { readonly path: string | null; readonly refusals: ReadonlyArray<string>; readonly answer: Answer }>
>
