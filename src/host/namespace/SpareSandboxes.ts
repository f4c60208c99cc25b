/**
 * Makes the Sandboxes that are started ahead (`Spares`), and hands them over to new Sandboxes.
 *
 * A spare is a whole Sandbox with a user, a volume, cgroups and, if wanted, a network, in which nothing has run but the agent. Where its owner begins with
 * another volume, it gets that first (`VolumeGift`). One rename of its folder then hands it over. Mount point, cgroups and marks keep the spare's name
 * (`HostLayout.nameOf`), because they cannot change while it runs.
 *
 * While a process makes and keeps a spare, it holds the spare's key in the host mutex. The kernel frees the key when the process dies, so a spare
 * whose key is free has no owner any more.
 */
import { existsSync } from "node:fs"
import { rename } from "node:fs/promises"
import { type Cause, Effect, type Fiber } from "effect"
import { makeAgentGuest } from "../../runtime/agentClient/AgentGuest.ts"
import type { AgentSession } from "../../runtime/agentClient/AgentSession.ts"
import { type RuntimeRefused, RuntimeUnavailable, type SandboxSpec } from "../../runtime/Runtime.ts"
import { hostAddresses } from "../linux/forbiddenRanges.ts"
import type { HostMutex } from "../linux/HostMutex.ts"
import type { HostUsers } from "../linux/HostUsers.ts"
import { hostFull } from "../linux/hostFull.ts"
import { isSpareName, newSpareName } from "../linux/SandboxRecords.ts"
import type { StoredSnapshot } from "../linux/SnapshotStore.ts"
import { Spares } from "../linux/Spares.ts"
import type { Daemon } from "../linux/startDaemon.ts"
import { warm } from "../linux/warm.ts"
import type { HostLayout } from "./HostLayout.ts"
import { isShortage } from "./isShortage.ts"
import { isUp, type RuntimeRecord, type SandboxState } from "./SandboxState.ts"
import { type GiftOptions, VolumeGift } from "./VolumeGift.ts"

export type SpareShape = Pick<SandboxSpec, "vcpus" | "memoryBytes" | "volumeBytes" | "networkEnabled">

export type UsualSizes = Omit<SpareShape, "networkEnabled">

/** A Sandbox whose agent has answered. */
export interface StartedSandbox {
  readonly record: RuntimeRecord
  readonly session: AgentSession
  readonly monitor: Daemon
  /** From now on the session connects to the agent's socket in this folder. */
  readonly moveTo: (state: SandboxState) => void
}

interface Spare extends StartedSandbox {
  readonly name: string
  readonly uid: number | null
  /** The host's addresses, which its network may not reach. */
  readonly addresses: string
  /** Gives the key of its name back. */
  readonly release: () => void
}

export interface SpareSandboxesOptions {
  /** The number for each shape while none is asked for; 0: none at any time. */
  readonly min: number
  /** The number for each shape while many are asked for. */
  readonly max: number
  /** The sizes of a Sandbox whose request names none: others get no spare. Null: each size gets some. */
  readonly usual: UsualSizes | null
  /** With what a spare is given another volume. Null: it cannot be. */
  readonly gifts: Pick<GiftOptions, "cgroups" | "admission" | "snapshots" | "blanks"> | null
  readonly layout: HostLayout
  readonly users: HostUsers
  readonly turns: HostMutex
  /** True while a Sandbox with an owner boots. */
  readonly isBusy: () => boolean
  /** Boots a Sandbox of this name. Null when too many others boot now. */
  readonly start: (name: string, shape: SpareShape, uid: number | null) => Promise<StartedSandbox | null>
  /** Resolves when the Sandbox's agent answers. */
  readonly answers: (started: StartedSandbox) => Promise<unknown>
  /** Removes a Sandbox of this name with all that it has. The caller holds its key. */
  readonly destroy: (name: string) => Promise<void>
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly fork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
}

const REFILL_AFTER_MS = 100
/** Commands that a spare runs before it has an owner: afterwards the agent's code for a first command is compiled. */
const WARM_RUNS = 5
/** A spare has always the first generation: only a new Sandbox gets one. */
export const SPARE_GENERATION = 1

const addressesNow = (): string => hostAddresses().toSorted().join()

export class SpareSandboxes {
  readonly #options: SpareSandboxesOptions
  readonly #spares: Spares<SpareShape, Spare>

  constructor(options: SpareSandboxesOptions) {
    this.#options = options
    this.#spares = new Spares({
      min: options.min,
      max: options.max,
      refillAfterMs: REFILL_AFTER_MS,
      isBusy: options.isBusy,
      make: (shape) => this.#made(shape),
      discard: (spare) => this.#discarded(spare),
      ended: ({ monitor }) => monitor.ended,
      fork: options.fork
    })
  }

  /** Makes the missing spares of this shape in the background. */
  refill(shape: SpareShape): Promise<void> {
    const kind = this.#kindFor(shape)
    return kind === null ? Promise.resolve() : this.#options.run(this.#spares.refill(kind))
  }

  /** The shape of the spares for such Sandboxes. Null: they get none. */
  #kindFor(shape: SpareShape): SpareShape | null {
    const { usual, gifts } = this.#options
    if (usual === null) return shapeOf(shape)
    const { vcpus, memoryBytes, volumeBytes } = shape
    if (vcpus !== usual.vcpus || memoryBytes !== usual.memoryBytes) return null
    if (volumeBytes !== usual.volumeBytes && gifts === null) return null
    return shapeOf({ ...shape, volumeBytes: usual.volumeBytes })
  }

  /** Ends the spares that were kept for many Sandboxes, once few are asked for. */
  dropUnused(): Promise<void> {
    return this.#options.run(this.#spares.dropUnused)
  }

  /** When the host has no room for `start`, drops the spares and tries again: a Sandbox takes precedence over what has no owner. */
  async givingWay<A>(start: () => Promise<A>): Promise<A> {
    try {
      return await start()
    } catch (cause) {
      if (!isShortage(cause) || !(await this.#options.run(this.#spares.drop))) throw cause
      return await start()
    }
  }

  /**
   * Turns a spare into this new Sandbox. Null when there is none, or it failed.
   * @param begin Called once there is one.
   * @param origin The snapshot with which its volume begins. Null: the volume is empty.
   */
  async take(
    spec: SandboxSpec,
    state: SandboxState,
    begin: () => void,
    origin: StoredSnapshot | null
  ): Promise<StartedSandbox | null> {
    const { layout, users, run, min, gifts } = this.#options
    const kind = this.#kindFor(spec)
    if (min === 0 || spec.generation !== SPARE_GENERATION || kind === null) return null
    const isOther = origin !== null || kind.volumeBytes !== spec.volumeBytes
    if (isOther && gifts === null) return null
    const spare = await run(this.#spares.claim(kind))
    if (spare === null) return null
    try {
      begin()
      if (!isUp(spare.record) || spare.addresses !== addressesNow()) throw new Error("it is out of date")
      if (isOther) await this.#gift(spare, spec.volumeBytes, origin).give()
      await users.pass(spare.uid, spec.sandboxId)
      await rename(layout.state(spare.name).folder, state.folder)
      spare.moveTo(state)
      layout.forgetName(spec.sandboxId)
      await Promise.all([layout.volumes.note(spec.sandboxId), this.#options.answers(spare)])
      // It has no volume of this name any more.
      void layout.volumes.forget(spare.name).catch(() => {})
      return spare
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      await run(Effect.logWarning(`Sandbox ${spec.sandboxId} does not get a spare that was started ahead: ${reason}`))
      spare.session.close()
      // After the rename it is the Sandbox's own: the caller ends it.
      if (existsSync(layout.state(spare.name).folder)) await this.#options.destroy(spare.name).catch(() => {})
      return null
    } finally {
      spare.release()
    }
  }

  #gift({ name, record: { init } }: Spare, volumeBytes: number, origin: StoredSnapshot | null): VolumeGift {
    const { layout, gifts } = this.#options
    if (gifts === null || init === null) throw new Error("it cannot be given a volume")
    const { cgroups, admission, snapshots, blanks } = gifts
    return new VolumeGift({
      layout,
      cgroups,
      admission,
      snapshots,
      blanks,
      state: layout.state(name),
      init,
      volumeBytes,
      origin
    })
  }

  /** Ends the spares of processes that have ended. */
  async endOrphans(): Promise<void> {
    const { layout, turns, users, destroy } = this.#options
    const registered = users.registered()
    // Its maker may have been killed when the spare had a user, and its folder not yet or no longer.
    const withUser = [...registered.keys()].filter(isSpareName)
    for (const name of new Set([...layout.spareNames(), ...withUser])) {
      const release = await turns.holdIfFree(name)
      if (release === null) continue
      try {
        // Its maker may have handed it over before the key was free.
        if (existsSync(layout.state(name).folder)) await destroy(name)
        else await users.release(registered.get(name) ?? null, name)
      } finally {
        release()
      }
    }
  }

  /** Ends all spares, also those of processes that have ended, and makes no more. */
  async close(): Promise<void> {
    const { run } = this.#options
    await run(this.#spares.close)
    const orphans = Effect.promise(() => this.endOrphans())
    const warned = (cause: Cause.Cause<never>) => Effect.logWarning("The spares of an ended process stay", cause)
    await run(Effect.catchCause(orphans, warned))
  }

  #made(shape: SpareShape): Effect.Effect<Spare, RuntimeRefused | RuntimeUnavailable> {
    return Effect.tryPromise({
      try: () => this.#make(shape),
      catch: (cause) =>
        isShortage(cause)
          ? hostFull()
          : new RuntimeUnavailable({ message: cause instanceof Error ? cause.message : String(cause) })
    }).pipe(
      Effect.uninterruptible,
      Effect.flatMap((spare) => (spare === null ? Effect.fail(hostFull()) : Effect.succeed(spare)))
    )
  }

  async #make(shape: SpareShape): Promise<Spare | null> {
    const { users, turns, start, run, destroy } = this.#options
    const name = newSpareName()
    const release = await turns.hold(name)
    try {
      const addresses = addressesNow()
      const uid = await users.take(name)
      const started = await start(name, shape, uid)
      if (started !== null) {
        await run(warm(makeAgentGuest(started.session), WARM_RUNS))
        return { ...started, name, uid, addresses, release }
      }
      await destroy(name)
    } catch (cause) {
      await destroy(name).catch(() => {})
      release()
      throw cause
    }
    release()
    return null
  }

  #discarded({ name, session, release }: Spare): Effect.Effect<void> {
    return Effect.promise(async () => {
      session.close()
      await this.#options.destroy(name)
    }).pipe(
      Effect.catchCause((cause) => Effect.logWarning(`The spare Sandbox ${name} could not be removed`, cause)),
      Effect.ensuring(Effect.sync(release))
    )
  }
}

const shapeOf = ({ vcpus, memoryBytes, volumeBytes, networkEnabled }: SpareShape): SpareShape => ({
  vcpus,
  memoryBytes,
  volumeBytes,
  networkEnabled
})
