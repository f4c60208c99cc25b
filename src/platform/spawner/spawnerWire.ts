/**
 * What the spawner program and its user say to each other. The program starts commands on its few pages (vfork); Node forks, which copies the page
 * tables of a large process, and afterwards takes a fault for every page that it writes.
 *
 * @source src/host/linux/native/spawner.c: the form of requests and events
 */
export const REQUEST_MAX_BYTES = 4 * 1024 * 1024
const Request = { start: 1, credit: 2, forget: 3, inherit: 4 } as const
const EVENT_BYTES = 16
export const SpawnerEvent = { started: 1, failed: 2, output: 3, exited: 4, drained: 5 } as const
const NONE = -1

/** A request: its numbers, then its strings, padded to whole numbers. */
const encode = (numbers: ReadonlyArray<number>, strings: ReadonlyArray<string>): Buffer => {
  const text = Buffer.from(strings.map((string) => `${string}\0`).join(""))
  const bytes = Buffer.alloc(4 * (1 + numbers.length + Math.ceil(text.length / 4)))
  bytes.writeInt32LE(bytes.length - 4, 0)
  numbers.forEach((value, index) => bytes.writeInt32LE(value, 4 + 4 * index))
  text.copy(bytes, 4 * (1 + numbers.length))
  return bytes
}

export interface SpawnerStart {
  readonly id: number
  /** Null: the program's own. */
  readonly runAs: { readonly uid: number; readonly gid: number } | null
  /** How many bytes of each stream may be sent before more credit. */
  readonly creditBytes: number
  /** The answer `started` may come together with later events. */
  readonly unwaited: boolean
  /** The command's `cgroup.threads`; a daemon's is the folder of its cgroup, version 2. */
  readonly cgroup: string | null
  /** A file. Null: no input. */
  readonly input: string | null
  readonly cwd: string
  readonly argv: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
}

export const startRequest = (start: SpawnerStart): Buffer => {
  const { id, runAs, creditBytes, unwaited, cgroup, input, cwd, argv } = start
  const entries = Object.entries(start.env).map(([name, value]) => `${name}=${value}`)
  const who = [runAs?.uid ?? NONE, runAs?.gid ?? NONE]
  return encode(
    [Request.start, id, ...who, creditBytes, unwaited ? 1 : 0, argv.length, entries.length],
    [cgroup ?? "", input ?? "", cwd, ...argv, ...entries]
  )
}

/** In place of a descriptor's number: the command's own output. */
export const OWN_OUTPUT = -1

/**
 * The next start with this id is a daemon that inherits these descriptors of the spawner's parent.
 *
 * @param pairs One of the parent's and its number in the daemon, in their order.
 */
export const inheritRequest = (
  id: number,
  parent: number,
  pairs: ReadonlyArray<readonly [from: number, to: number]>
): Buffer => encode([Request.inherit, id, parent, ...pairs.flat()], [])

export const creditRequest = (id: number, stream: number, bytes: number): Buffer =>
  encode([Request.credit, id, stream, bytes], [])

export const forgetRequest = (id: number): Buffer => encode([Request.forget, id], [])

/** @param value The pid, error, stream, status, or whether all pipes are closed. @param second The stage, or whether the cgroup is empty. */
type Happened = (kind: number, id: number, value: number, second: number, payload: Buffer) => void

/** Cuts the program's output into events. */
export class SpawnerEvents {
  #rest: Buffer = Buffer.alloc(0)
  readonly #happened: Happened

  constructor(happened: Happened) {
    this.#happened = happened
  }

  take(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let at = 0
    while (bytes.length - at >= EVENT_BYTES) {
      const kind = bytes.readInt32LE(at)
      const length = kind === SpawnerEvent.output ? bytes.readInt32LE(at + 12) : 0
      if (bytes.length - at < EVENT_BYTES + length) break
      const payload = bytes.subarray(at + EVENT_BYTES, at + EVENT_BYTES + length)
      this.#happened(kind, bytes.readInt32LE(at + 4), bytes.readInt32LE(at + 8), bytes.readInt32LE(at + 12), payload)
      at += EVENT_BYTES + length
    }
    this.#rest = bytes.subarray(at)
  }
}

/** The exit code, or the number of the signal. @source waitpid(2): the low seven bits are the signal, the next byte the exit code */
export const statusOf = (status: number): { readonly code: number | null; readonly signal: number } => {
  const signal = status & 0x7f
  return { code: signal === 0 ? (status >> 8) & 0xff : null, signal }
}
