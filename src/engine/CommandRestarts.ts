/** Starts the pending commands of an actor that comes into memory. */
import { Effect } from "effect"
import { BoundedMap } from "../store/BoundedMap.ts"
import type { PendingCommand } from "../store/JournalRecord.ts"
import type { Surroundings } from "./ActorSurroundings.ts"
import type { CommandRunner } from "./CommandRunner.ts"
import type { LiveActor } from "./LiveActor.ts"
import type { Message } from "./Message.ts"

const pauseMaxMs = 300_000
const rememberedMax = 1000

export class CommandRestarts {
  readonly #fork: Surroundings["fork"]
  readonly #commands: CommandRunner
  /** Commands whose result the database rejected, and how often. */
  readonly #rejectedTimes = new BoundedMap<string, number>(rememberedMax)

  constructor(fork: Surroundings["fork"], commands: CommandRunner) {
    this.#fork = fork
    this.#commands = commands
  }

  /** Starts a command. Retries, with back-off, a command whose result the database permanently rejected: the next result may differ. */
  start(actor: LiveActor, command: PendingCommand, span: Message["span"]) {
    const times = this.#rejectedTimes.get(`${actor.id} ${command.key}`)
    if (times === undefined) return this.#commands.start(actor, command, span)
    const pauseMs = Math.min(1000 * 2 ** times, pauseMaxMs)
    this.#fork(
      Effect.andThen(
        Effect.sleep(pauseMs),
        Effect.sync(() => {
          if (!actor.dropped && actor.pending.some(({ key }) => key === command.key)) {
            this.#commands.start(actor, command, span)
          }
        })
      )
    )
  }

  /** The database permanently rejected the command's result. */
  noteRejected(actor: LiveActor, commandKey: string): void {
    const key = `${actor.id} ${commandKey}`
    this.#rejectedTimes.set(key, (this.#rejectedTimes.get(key) ?? 0) + 1)
  }
}
