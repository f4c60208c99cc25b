/**
 * Measures the frequency of the host's time stamp counter. A guest under emulation has the same frequency, because QEMU passes the host's counter on.
 * A guest that measures it itself, against an emulated timer, can be wrong by a factor when the host takes its processor away during the measurement.
 *
 * @source linux/native/ticks.c; Linux Documentation/admin-guide/kernel-parameters.txt, tsc_early_khz
 */
import { execFile } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"

const run = promisify(execFile)

const WINDOW_MIN_NS = 500_000_000
/** The largest error of a frequency that is used. */
const ERROR_MAX = 1e-4
const READING_BYTES = 32

export interface TicksReading {
  /** The counter just before and just after the clock was read. */
  readonly before: bigint
  readonly after: bigint
  readonly clockNs: bigint
}

export const decodeReading = (bytes: Buffer): TicksReading => {
  if (bytes.length !== READING_BYTES) throw new Error(`ticks wrote ${bytes.length} bytes and not ${READING_BYTES}`)
  const [before, seconds, nanoseconds, after] = [0, 8, 16, 24].map((at) => bytes.readBigUInt64LE(at)) as [
    bigint,
    bigint,
    bigint,
    bigint
  ]
  return { before, after, clockNs: seconds * 1_000_000_000n + nanoseconds }
}

/** The frequency in kHz and its largest possible error, as a ratio. Null when the readings give none. */
export const frequencyOf = (
  first: TicksReading,
  second: TicksReading
): { readonly khz: number; readonly error: number } | null => {
  const ns = Number(second.clockNs - first.clockNs)
  const ticks = Number(second.before + second.after - first.before - first.after) / 2
  const slack = Number(first.after - first.before + second.after - second.before) / 2
  if (ns <= 0 || ticks <= 0) return null
  return { khz: (ticks / ns) * 1e6, error: slack / ticks }
}

export class HostTicks {
  readonly #program: string
  readonly #uid: number | null
  #first: TicksReading | null = null

  /** @param program `ticks` of the base image. @param uid The user that runs it; null: the service's user. */
  constructor(program: string, uid: number | null) {
    this.#program = program
    this.#uid = uid
  }

  /**
   * The frequency in whole kHz. Null where it is not known precisely enough, so that the guest should measure it. It is more precise the longer ago
   * the first call was.
   */
  async khz(): Promise<number | null> {
    try {
      this.#first ??= await this.#read()
      let second = await this.#read()
      if (second.clockNs - this.#first.clockNs < WINDOW_MIN_NS) {
        await sleep(WINDOW_MIN_NS / 1e6)
        second = await this.#read()
      }
      const found = frequencyOf(this.#first, second)
      return found === null || found.error > ERROR_MAX ? null : Math.round(found.khz)
    } catch {
      return null
    }
  }

  async #read(): Promise<TicksReading> {
    const user = this.#uid === null ? {} : { uid: this.#uid, gid: this.#uid }
    const { stdout } = await run(this.#program, [], { ...user, encoding: "buffer", timeout: 10_000, env: {} })
    return decodeReading(stdout)
  }
}
