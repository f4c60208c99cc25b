/**
 * One host of a simulated fleet: a world with a capacity, and the links to it. A link may be cut during a call: then
 * the host applies the call, or has applied it already, and its answer is lost. Its power may be cut: then it applies
 * no pending call any more.
 */
import { Effect, type Fiber, Stream } from "effect"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import type { HostCapacity } from "../../../../src/runtime/distant/HostDescription.ts"
import { type Guest, GuestUnavailable } from "../../../../src/runtime/Guest.ts"
import { type Runtime, RuntimeUnavailable } from "../../../../src/runtime/Runtime.ts"

/** The caller: a service, while its process lives. */
export interface Asker {
  readonly isDead: boolean
}

const cutMessage = "The simulated host does not answer."
const unreached = new RuntimeUnavailable({ message: cutMessage })
const guestUnreached = new GuestUnavailable({ message: cutMessage })
const guestLost = new GuestUnavailable({ message: cutMessage, fault: "lost" })

/** Called for each request to a present guest. */
export type Asked = (sandboxId: string, generation: number) => void

export class SimulatedHost {
  readonly id: string
  readonly world: SimulatedWorld
  readonly capacity: HostCapacity
  readonly #volumeBytes: number
  readonly #delayMs: () => number
  readonly #asked: Asked
  readonly #runtime: Runtime["Service"]
  /** The fleet's own machines, which prove that one boots: they take no reserved room. */
  readonly canaries = new Set<string>()
  /** Its pending calls, for all callers. */
  readonly #doing = new Set<Fiber.Fiber<unknown, unknown>>()
  readonly #onCut = new Set<() => void>()
  #isReachable = true
  #boots = 1

  /**
   * @param volumeBytes Of each Sandbox.
   * @param delayMs The delay of a call.
   */
  constructor(
    id: string,
    world: SimulatedWorld,
    capacity: HostCapacity,
    volumeBytes: number,
    delayMs: () => number,
    asked: Asked
  ) {
    this.id = id
    this.world = world
    this.capacity = capacity
    this.#volumeBytes = volumeBytes
    this.#delayMs = delayMs
    this.#asked = asked
    this.#runtime = simulatedRuntime(world)
  }

  get isReachable(): boolean {
    return this.#isReachable
  }

  /** Of its process: another one after each start. */
  get boot(): string {
    return `${this.id}.${this.#boots}`
  }

  /** The network to it is gone; its Sandboxes go on. */
  cutWays(): void {
    this.#isReachable = false
    for (const cut of [...this.#onCut]) cut()
  }

  mendWays(): void {
    this.#isReachable = true
  }

  /** Its program ends and restarts; its machines go on. */
  restartProcess(): void {
    this.cutWays()
    this.#drop()
    this.#boots++
  }

  /** It fails, with every machine; volumes are kept. */
  cutPower(): void {
    this.cutWays()
    this.#drop()
    this.world.cutPower()
    this.#boots++
  }

  #drop(): void {
    for (const fiber of this.#doing) fiber.interruptUnsafe()
  }

  /** Fails once the link to it is cut. */
  #cut<E>(error: E): Effect.Effect<never, E> {
    return Effect.callback((resume) => {
      const cut = () => resume(Effect.fail(error))
      this.#onCut.add(cut)
      return Effect.sync(() => void this.#onCut.delete(cut))
    })
  }

  /**
   * The caller may go away, and the link may be cut: a call that was sent is applied all the same, unless the host gets
   * its cancellation.
   */
  #ask<A, E>(asker: Asker, what: Effect.Effect<A, E>, before: E, after: E): Effect.Effect<A, E> {
    return Effect.callback((resume) => {
      if (asker.isDead) return
      if (!this.#isReachable) return resume(Effect.fail(before))
      const fiber = Effect.runFork(Effect.delay(what, this.#delayMs()))
      this.#doing.add(fiber)
      const cut = () => {
        this.#onCut.delete(cut)
        resume(Effect.fail(after))
      }
      this.#onCut.add(cut)
      fiber.addObserver((exit) => {
        this.#doing.delete(fiber)
        if (this.#onCut.delete(cut) && !asker.isDead) resume(exit)
      })
      return Effect.sync(() => {
        if (this.#onCut.delete(cut) && !asker.isDead) fiber.interruptUnsafe()
      })
    })
  }

  #stream<A, E>(asker: Asker, stream: Stream.Stream<A, E>, cut: E): Stream.Stream<A, E> {
    return Stream.suspend(() => {
      if (asker.isDead) return Stream.never
      return this.#isReachable ? Stream.interruptWhen(stream, this.#cut(cut)) : Stream.fail(cut)
    })
  }

  /** For as long as the link lasts. */
  #told<A>(asker: Asker, stream: Stream.Stream<A>): Stream.Stream<A> {
    return this.#stream<A, "cut">(asker, stream, "cut").pipe(Stream.catch(() => Stream.empty))
  }

  /** A link to it, where it can be reached. */
  dial(asker: Asker): Effect.Effect<Runtime["Service"], RuntimeUnavailable> {
    return this.#ask(
      asker,
      Effect.sync(() => this.runtimeFor(asker)),
      unreached,
      unreached
    )
  }

  /** The host as that service sees it. */
  runtimeFor(asker: Asker): Runtime["Service"] {
    const own = this.#runtime
    const ask = <A, E>(what: Effect.Effect<A, E | RuntimeUnavailable>) =>
      this.#ask<A, E | RuntimeUnavailable>(asker, what, unreached, unreached)
    return {
      ...own,
      provision: (spec, turn) =>
        ask(
          Effect.suspend(() => {
            if (spec.volumeBytes !== this.#volumeBytes) this.canaries.add(spec.sandboxId)
            return own.provision(spec, turn)
          })
        ),
      stop: (...of) => ask(own.stop(...of)),
      destroy: (sandboxId) => ask(own.destroy(sandboxId)),
      suspend: (sandboxId, generation) => ask(own.suspend(sandboxId, generation)),
      snapshots: own.snapshots,
      inventory: ask(own.inventory),
      sample: (sandboxId, generation) => ask(own.sample(sandboxId, generation)),
      guest: (sandboxId, generation) =>
        this.#isReachable
          ? Effect.map(own.guest(sandboxId, generation), (guest) =>
              this.#guest(asker, guest, () => {
                if (this.world.machines.get(sandboxId)?.spec.generation === generation)
                  this.#asked(sandboxId, generation)
              })
            )
          : Effect.fail(guestUnreached),
      connect: () => Effect.fail(guestUnreached),
      downs: this.#told(asker, own.downs),
      stalls: this.#told(asker, own.stalls),
      console: this.#told(asker, own.console)
    }
  }

  #guest(asker: Asker, { processes, ...rest }: Guest, asked: () => void): Guest {
    const ask = <A, E>(what: Effect.Effect<A, E | GuestUnavailable>) =>
      this.#ask<A, E | GuestUnavailable>(asker, Effect.andThen(Effect.sync(asked), what), guestUnreached, guestLost)
    const stream = <A, E>(frames: Stream.Stream<A, E | GuestUnavailable>) =>
      this.#stream<A, E | GuestUnavailable>(asker, frames, guestUnreached)
    return {
      ...rest,
      processes: {
        ...processes,
        start: (key, spec) => ask(processes.start(key, spec)),
        attach: (key, from) => stream(processes.attach(key, from)),
        run: (key, spec) => stream(processes.run(key, spec)),
        execute: (key, spec) => ask(processes.execute(key, spec)),
        acknowledge: (key, upTo) => ask(processes.acknowledge(key, upTo)),
        kill: (key, options) => ask(processes.kill(key, options)),
        forget: (key) => ask(processes.forget(key)),
        every: ask(processes.every),
        endOne: (process, options) => ask(processes.endOne(process, options)),
        list: ask(processes.list)
      }
    }
  }
}
