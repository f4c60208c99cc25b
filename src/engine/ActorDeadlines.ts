/** Fires the deadlines of this process's actors, as messages. An actor has one timer, for its earliest deadline; it need not be in memory. */
import type { Surroundings } from "./ActorSurroundings.ts"
import type { Inbox } from "./Inbox.ts"
import type { LiveActor } from "./LiveActor.ts"
import { unawaited } from "./Message.ts"

export class ActorDeadlines {
  readonly #around: Pick<Surroundings, "timers" | "clock">
  readonly #enqueue: Inbox["enqueue"]
  readonly #wake: (id: string, kind: string) => LiveActor | null

  /** @param wake Loads an actor; null if another process owns it. */
  constructor(
    around: Pick<Surroundings, "timers" | "clock">,
    enqueue: Inbox["enqueue"],
    wake: (id: string, kind: string) => LiveActor | null
  ) {
    this.#around = around
    this.#enqueue = enqueue
    this.#wake = wake
  }

  /** Replaces the actor's timer. */
  setTimer(id: string, kind: string, dueAt: number | null): void {
    this.#around.timers.set(id, dueAt, () => {
      const actor = this.#wake(id, kind)
      if (actor !== null) this.#fire(actor)
    })
  }

  #fire(actor: LiveActor): void {
    const fire = () => {
      const now = this.#around.clock.currentTimeMillisUnsafe()
      let next: number | null = null
      for (const name in actor.deadlines) {
        const { at, event } = actor.deadlines[name]!
        if (at > now) next = Math.min(at, next ?? at)
        else this.#enqueue(actor, unawaited(event, "deadline", { deadline: { name, at } }))
      }
      // Fired deadlines stay in the state until their commit, but are not fired again meanwhile.
      this.setTimer(actor.id, actor.definition.kind, next)
    }
    // A loading actor fires once it knows its deadlines.
    if (actor.revision === 0) this.#enqueue(actor, unawaited(null, "wake", { succeed: fire }))
    else fire()
  }
}
