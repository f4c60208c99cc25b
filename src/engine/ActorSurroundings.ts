/** What the actors of a process need from their host. */
import type { Clock, Effect, Fiber } from "effect"
import type { Sharding } from "effect/cluster"
import type { Tracing } from "../platform/trace/Tracing.ts"
import type { Journal } from "../store/Journal.ts"
import type { ActorDefinition, ActorState } from "./ActorDefinition.ts"
import type { CommandRunner } from "./CommandRunner.ts"
import type { DeadlineTimers } from "./DeadlineTimers.ts"
import type { LiveActor } from "./LiveActor.ts"
import type { Message } from "./Message.ts"
import type { ShardEpochs } from "./ShardEpochs.ts"

export interface OwnActorsOptions {
  readonly mailboxMax: number
  readonly passivateAfterMs: number
  /** How long a message looks for an owner: longer than the actors of a dead process are without one. */
  readonly ownerPatienceMs: number
  /**
   * A message that has been in a mailbox for longer is not passed on to the next owner: this process may have been frozen, and what was decided
   * meanwhile must not be undone by it. The lease of a process.
   */
  readonly passOnWithinMs: number
}

export interface Surroundings {
  readonly journal: Journal["Service"]
  readonly sharding: Sharding.Sharding["Service"]
  readonly epochs: ShardEpochs["Service"]
  readonly clock: Clock.Clock
  readonly timers: DeadlineTimers
  readonly fork: (effect: Effect.Effect<unknown>) => Fiber.Fiber<unknown, unknown>
  /** Null without tracing. */
  readonly traced: Tracing | null
  /** Makes the runner of their commands; results arrive as messages. */
  readonly commands: (enqueue: (actor: LiveActor, message: Message) => void) => CommandRunner
  /** Throws for an unregistered kind. */
  readonly definitionOf: (kind: string) => ActorDefinition
  readonly committed: (state: ActorState) => void
  /** Sends a message to the process that owns its actor. */
  readonly carry: (definition: ActorDefinition, id: string, message: Message) => void
}
