/**
 * Spares: machines that are started ahead, without an owner. They are cloned, given an identity except the name, warmed and paused. A Sandbox that
 * gets one waits for neither QEMU nor the translation of the guest's code, which takes most of a start under emulation.
 *
 * A bounded number for each kind of machine. They count in the host's admission like any other, are given up as soon as a Sandbox needs their room,
 * and end with the service; those that a killed service left are found by their name, which says which process made them.
 */
import { Effect, Fiber } from "effect"
import type { RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { identify, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import type { Machine } from "./Machine.ts"
import type { MachineShape } from "./machineArguments.ts"
import type { MachineRecord } from "./SandboxFolder.ts"

/** A Sandbox that has just started is busy with its first commands; the next spare waits that long. */
const REFILL_DELAY_MS = 1_000

const PREFIX = "spare-"
/** Of a boot's id: as many as are needed to tell two boots of a host apart. */
const BOOT_CHARACTERS = 8

/**
 * The name of a spare's folder and record, in the place of a Sandbox's id. It names the process that made the spare, so that another process of the same
 * data folder knows at any moment, also before there is a record, whether the spare is in use.
 */
export const spareName = ({ pid, startTime, bootId }: ProcessIdentity, unique: string): string =>
  `${PREFIX}${pid}-${startTime}-${bootId.slice(0, BOOT_CHARACTERS)}-${unique}`

export const isSpare = (sandboxId: string): boolean => sandboxId.startsWith(PREFIX)

/** The process that made it does not live; nor does that of a name which an earlier version gave. */
export const isOrphan = (sandboxId: string): boolean => {
  const [pid, startTime, boot] = sandboxId.slice(PREFIX.length).split("-")
  const maker = identify(Number(pid))
  return maker === null || maker.startTime !== Number(startTime) || maker.bootId.slice(0, BOOT_CHARACTERS) !== boot
}

export interface Spare {
  readonly machine: Machine
  readonly record: MachineRecord
}

interface Kind {
  readonly ready: Array<Spare>
  making: Fiber.Fiber<void> | null
  /** A caller waits for the spare that is being made. */
  awaited: boolean
}

export interface SparesOptions {
  /** The number for each kind of machine; 0: none. */
  readonly max: number
  /** Must not wait for anything that a start which drops spares may hold. */
  readonly make: (shape: MachineShape) => Effect.Effect<Spare, RuntimeRefused | RuntimeUnavailable>
  readonly discard: (spare: Spare) => Effect.Effect<void>
  /** Runs an effect in the background, independently of the caller. */
  readonly fork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
}

export class Spares {
  private readonly kinds = new Map<string, Kind>()
  private readonly options: SparesOptions
  private closed = false

  constructor(options: SparesOptions) {
    this.options = options
  }

  /** A spare for this caller alone; waits for one that is being made. Null when none will be ready soon. */
  claim(shape: MachineShape): Effect.Effect<Spare | null> {
    const kind = this.kindOf(shape)
    return Effect.suspend(() => {
      const spare = kind.ready.shift()
      if (spare !== undefined) return Effect.succeed(spare)
      if (kind.making === null || kind.awaited) return Effect.succeed(null)
      kind.awaited = true
      return Fiber.await(kind.making).pipe(
        Effect.map(() => kind.ready.shift() ?? null),
        Effect.ensuring(
          Effect.sync(() => {
            kind.awaited = false
          })
        )
      )
    })
  }

  /** Makes the missing spares, after a delay and one at a time. Returns immediately. */
  refill(shape: MachineShape): Effect.Effect<void> {
    const kind = this.kindOf(shape)
    const missing = () => !this.closed && kind.making === null && kind.ready.length < this.options.max
    const refill: Effect.Effect<void> = Effect.suspend(() => {
      if (!missing()) return Effect.void
      // Starts after `making` is set: an immediate failure must find it.
      const made = Effect.andThen(Effect.yieldNow, this.options.make(shape)).pipe(
        Effect.flatMap((spare) =>
          this.closed ? this.options.discard(spare) : Effect.sync(() => this.keep(kind, spare))
        ),
        Effect.as(true),
        // A full host has no room for spares.
        Effect.catchTag("RuntimeRefused", () => Effect.succeed(false)),
        Effect.catchTag("RuntimeUnavailable", ({ message }) =>
          Effect.as(Effect.logWarning(`No machine could be started ahead: ${message}`), false)
        ),
        Effect.tap(() =>
          Effect.sync(() => {
            kind.making = null
          })
        ),
        Effect.flatMap((again) => (again ? refill : Effect.void))
      )
      const fiber = this.options.fork(made)
      kind.making = fiber
      return Effect.void
    })
    return Effect.suspend(() =>
      missing() ? Effect.asVoid(Effect.forkDetach(Effect.andThen(Effect.sleep(REFILL_DELAY_MS), refill))) : Effect.void
    )
  }

  /** Drops all spares, including one that is being made. True when that made room. */
  readonly drop: Effect.Effect<boolean> = Effect.gen({ self: this }, function* () {
    for (const { making } of this.kinds.values()) if (making !== null) yield* Fiber.await(making)
    const spares = [...this.kinds.values()].flatMap(({ ready }) => ready.splice(0))
    yield* Effect.forEach(spares, this.options.discard, { discard: true })
    return spares.length > 0
  })

  /** Drops all spares and makes no more. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.closed = true
    return Effect.asVoid(this.drop)
  })

  private kindOf(shape: MachineShape): Kind {
    const key = JSON.stringify(shape)
    const kind = this.kinds.get(key) ?? { ready: [], making: null, awaited: false }
    this.kinds.set(key, kind)
    return kind
  }

  private keep(kind: Kind, spare: Spare): void {
    kind.ready.push(spare)
    // A spare that dies while it waits is removed.
    void spare.machine.qmp.closed.then(() => {
      const at = kind.ready.indexOf(spare)
      if (at < 0) return
      kind.ready.splice(at, 1)
      this.options.fork(this.options.discard(spare))
    })
  }
}
