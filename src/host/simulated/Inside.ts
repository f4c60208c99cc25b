/** A simulated machine as its guest sees it: every call first asks whether the machine still runs. */
import { Effect } from "effect"
import { GuestUnavailable } from "../../runtime/Guest.ts"
import { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import type { SimulatedCall, SimulatedMachine, SimulatedWorld } from "./SimulatedWorld.ts"

export class Inside {
  readonly machine: SimulatedMachine
  readonly check: Effect.Effect<void, GuestUnavailable>
  readonly #world: SimulatedWorld

  constructor(world: SimulatedWorld, machine: SimulatedMachine) {
    this.#world = world
    this.machine = machine
    this.check = Effect.suspend(() => (this.isHere() ? Effect.void : Effect.fail(this.gone())))
  }

  isHere(): boolean {
    const { machine } = this
    return this.#world.machines.get(machine.spec.sandboxId) === machine && machine.state === "running"
  }

  gone(): GuestUnavailable {
    return new GuestUnavailable({ message: `The simulated machine of ${this.machine.spec.sandboxId} does not run.` })
  }

  /** Lets the test delay or refuse the call. */
  intercept(call: SimulatedCall): Effect.Effect<void, GuestUnavailable> {
    return this.#world.intercept(call, this.machine.spec.sandboxId).pipe(
      Effect.mapError(
        (error) => new GuestUnavailable({ message: error instanceof RuntimeUnavailable ? error.message : "refused" })
      ),
      Effect.andThen(this.check)
    )
  }
}
