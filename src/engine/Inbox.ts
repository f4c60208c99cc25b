/** The way into the mailboxes of this process's actors. */
import type { ActorDefinition } from "./ActorDefinition.ts"
import type { LiveActor } from "./LiveActor.ts"
import type { Message } from "./Message.ts"

export interface Inbox {
  /** Puts a message into its actor's mailbox, or sends it to the process that owns the actor. */
  readonly deliver: (definition: ActorDefinition, id: string, message: Message) => void
  readonly enqueue: (actor: LiveActor, message: Message) => void
  /** The actor or its revision moved: the present owner decides about these messages. */
  readonly redeliver: (actor: LiveActor, messages: ReadonlyArray<Message>) => void
  /** Handles the messages of an actor that is not busy any more. */
  readonly pump: (actor: LiveActor) => void
}
