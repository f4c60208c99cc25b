/**
 * The actors of this process: which are in memory (`ActorResidency`), their messages (`ActorMailboxes`), their commits (`ActorCommits`) and their
 * deadlines (`ActorDeadlines`).
 */
import type { ActorInsert } from "../store/JournalRecord.ts"
import { ActorCommits } from "./ActorCommits.ts"
import { ActorDeadlines } from "./ActorDeadlines.ts"
import type { ActorDefinition, ActorState } from "./ActorDefinition.ts"
import { ActorMailboxes } from "./ActorMailboxes.ts"
import { ActorResidency } from "./ActorResidency.ts"
import type { OwnActorsOptions, Surroundings } from "./ActorSurroundings.ts"
import { CommandRestarts } from "./CommandRestarts.ts"
import type { Inbox } from "./Inbox.ts"
import type { LiveActor } from "./LiveActor.ts"
import type { Message } from "./Message.ts"

export class OwnActors {
  readonly #residency: ActorResidency
  readonly #commits: ActorCommits
  readonly #mailboxes: ActorMailboxes

  constructor(options: OwnActorsOptions, around: Surroundings) {
    const inbox: Inbox = {
      deliver: (definition, id, message) => this.#mailboxes.deliver(definition, id, message),
      enqueue: (actor, message) => this.#mailboxes.enqueue(actor, message),
      redeliver: (actor, messages) => this.#mailboxes.redeliver(actor, messages),
      pump: (actor) => this.#mailboxes.pump(actor)
    }
    const commands = around.commands(inbox.enqueue)
    const restarts = new CommandRestarts(around.fork, commands)
    const deadlines = new ActorDeadlines(around, inbox.enqueue, (id, kind) =>
      this.#residency.isOurs(id) ? this.#residency.activate(id, around.definitionOf(kind)) : null
    )
    this.#residency = new ActorResidency(options, around, { commands, restarts, deadlines }, inbox)
    this.#commits = new ActorCommits(around, { residency: this.#residency, deadlines, restarts }, inbox)
    this.#mailboxes = new ActorMailboxes(options, around, {
      commands,
      residency: this.#residency,
      commits: this.#commits
    })
  }

  get size(): number {
    return this.#residency.size
  }

  /** True if no command runs and no message waits. */
  get isQuiet(): boolean {
    return this.#residency.isQuiet
  }

  get isClosing(): boolean {
    return this.#residency.isClosing
  }

  isOurs(id: string): boolean {
    return this.#residency.isOurs(id)
  }

  /** A new object outside the live set, for a process that does not own the actor. */
  newActor(id: string, definition: ActorDefinition): LiveActor {
    return this.#residency.newActor(id, definition)
  }

  /** The committed state, if this process owns the actor and has it in memory; else null. */
  peek(kind: string, id: string): ActorState | null {
    return this.#residency.peek(kind, id)
  }

  /** The revision that is committed, if this process owns the actor, has it in memory and writes no commit of it; else null. */
  committedRevision(id: string): number | null {
    return this.#residency.committedRevision(id)
  }

  /** Loads an existing actor that this process owns. */
  activate(id: string, definition: ActorDefinition): void {
    this.#residency.activate(id, definition)
  }

  /** Starts a newly inserted actor; `span` is the parent of its commands. */
  adopt(inserted: ActorInsert, span: Message["span"]): void {
    this.#residency.adopt(inserted, span)
  }

  /** An owned actor has something to do, now or at `dueAt`, according to the database at that revision. */
  expect(id: string, definition: ActorDefinition, revision: number, hasPending: boolean, dueAt: number | null): void {
    this.#residency.expect(id, definition, revision, hasPending, dueAt)
  }

  /** Drops actors whose shards moved, and actors that were unused for long. */
  sweep(): void {
    this.#residency.sweep()
  }

  /** Stops: sends waiting messages to the next owners. From now on this process owns no actor. */
  close(): void {
    this.#residency.close()
  }

  /** Puts a message into its actor's mailbox, or sends it to the process that owns the actor. */
  deliver(definition: ActorDefinition, id: string, message: Message): void {
    this.#mailboxes.deliver(definition, id, message)
  }

  /** Calls back once no commit is running, perhaps immediately. */
  onceWritten(done: () => void): void {
    this.#commits.onceWritten(done)
  }
}
