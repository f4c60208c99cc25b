/** The simulated runtime behind gates, and its effects that a crash of the service may have cut off. */

import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { simulatedRuntime } from "../../../src/host/simulated/SimulatedRuntime.ts"
import type { SimulatedMachine, SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { GuestUnavailable } from "../../../src/runtime/Guest.ts"
import { type Runtime, RuntimeRefused, RuntimeUnavailable, type SandboxSpec } from "../../../src/runtime/Runtime.ts"
import type { GateCall, GateFault, Gates } from "./Gates.ts"

const faultOf = (fault: GateFault) =>
  fault === "refuse"
    ? new RuntimeRefused({ code: "HOST_FULL", message: publicText`The race refuses it.` })
    : new RuntimeUnavailable({ message: "The race fails it." })

const unavailable = () => new RuntimeUnavailable({ message: "The race loses the answer." })

export class GatedRuntime {
  /** Every machine that ever booted. */
  readonly machines = new Set<SimulatedMachine>()
  /** Boots that were under way when their service crashed: the host may still finish them. */
  readonly unfinishedBoots: Array<SandboxSpec> = []
  /** The host may have a machine of these again although they are deleted, until it is compared with the rows. */
  readonly lateBoots = new Set<string>()
  /** By `sandboxId#generation`: see `sent`. */
  readonly #sent = new Map<string, Map<string, ReadonlySet<string>>>()
  readonly service: Runtime["Service"]
  readonly #world: SimulatedWorld

  constructor(world: SimulatedWorld, gates: Gates) {
    this.#world = world
    world.intercept = (call) =>
      // Images travel between hosts only.
      call === "guest" || call === "readImage" || call === "storeImage"
        ? Effect.void
        : gates.arrive(call, "before").pipe(Effect.mapError(faultOf))
    const runtime = simulatedRuntime(world)
    const after =
      (call: GateCall) =>
      <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.tap(effect, () => gates.arrive(call, "after").pipe(Effect.mapError(unavailable)))
    this.service = {
      ...runtime,
      snapshots: {
        ...runtime.snapshots,
        capture: (...given) => after("capture")(runtime.snapshots.capture(...given)),
        restore: (...given) => after("restore")(runtime.snapshots.restore(...given)),
        receive: (...given) => after("receive")(runtime.snapshots.receive(...given)),
        accept: (...given) => after("accept")(runtime.snapshots.accept(...given)),
        remove: (...given) => after("removeSnapshot")(runtime.snapshots.remove(...given))
      },
      images: {
        ...runtime.images,
        pull: (...given) => after("pullImage")(runtime.images.pull(...given)),
        receive: (...given) => after("receiveImage")(runtime.images.receive(...given)),
        accept: (...given) => after("acceptImage")(runtime.images.accept(...given)),
        remove: (...given) => after("removeImage")(runtime.images.remove(...given))
      },
      provision: (spec, turn) =>
        runtime.provision(spec, turn).pipe(
          Effect.onInterrupt(() => Effect.sync(() => void this.unfinishedBoots.push(spec))),
          Effect.tap(() => Effect.sync(() => this.#note(spec.sandboxId))),
          after("provision")
        ),
      stop: (sandboxId, generation) => after("stop")(runtime.stop(sandboxId, generation)),
      destroy: (sandboxId) => after("destroy")(runtime.destroy(sandboxId)),
      resize: (sandboxId, generation, sizes) => after("resize")(runtime.resize(sandboxId, generation, sizes)),
      suspend: (sandboxId, generation) => after("suspend")(runtime.suspend(sandboxId, generation)),
      guest: (sandboxId, generation) =>
        Effect.map(runtime.guest(sandboxId, generation), (guest) => {
          const lost = (call: GateCall) =>
            gates.arrive(call, "after").pipe(Effect.mapError(() => new GuestUnavailable({ message: "lost answer" })))
          return {
            ...guest,
            processes: {
              ...guest.processes,
              start: (key, spec) =>
                Effect.suspend(() => {
                  this.#send(sandboxId, generation, key)
                  return Effect.tap(guest.processes.start(key, spec), () => lost("start"))
                }),
              kill: (key, options) => Effect.tap(guest.processes.kill(key, options), () => lost("kill"))
            }
          }
        })
    }
  }

  /** The operations whose start was sent to the guest of that generation, each with those that had begun there when it was first sent. */
  sent(sandboxId: string, generation: number): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#sent.get(`${sandboxId}#${generation}`) ?? new Map()
  }

  #send(sandboxId: string, generation: number, operationId: string): void {
    const machine = `${sandboxId}#${generation}`
    const sent = this.#sent.get(machine) ?? new Map()
    this.#sent.set(machine, sent)
    if (!sent.has(operationId)) sent.set(operationId, new Set(this.#world.machines.get(sandboxId)?.starts.keys()))
  }

  /** The host finishes a boot of a dead service. */
  finishBoot(index: number) {
    const spec = this.unfinishedBoots[index % Math.max(1, this.unfinishedBoots.length)]
    if (spec === undefined) return Effect.void
    this.unfinishedBoots.splice(this.unfinishedBoots.indexOf(spec), 1)
    this.lateBoots.add(spec.sandboxId)
    const { intercept } = this.#world
    return Effect.suspend(() => {
      this.#world.intercept = () => Effect.void
      const boot = simulatedRuntime(this.#world).provision(spec)
      return Effect.ensuring(
        Effect.ignore(boot),
        Effect.sync(() => {
          this.#world.intercept = intercept
          this.#note(spec.sandboxId)
        })
      )
    })
  }

  #note(sandboxId: string) {
    const machine = this.#world.machines.get(sandboxId)
    if (machine !== undefined) this.machines.add(machine)
  }
}
