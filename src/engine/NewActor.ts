/** An actor's first revision. */
import type { ActorInsert } from "../store/JournalRecord.ts"
import type { ActorDefinition } from "./ActorDefinition.ts"
import { plainText } from "./plainText.ts"
import { begin, earliest, store } from "./Transition.ts"

/** Every machine's input has a timestamp. */
interface Stamped {
  readonly at: number
}

export interface NewActor<Input = Stamped> {
  readonly id: string
  readonly accountId: string
  readonly sandboxId: string
  readonly input: Input
  readonly payload: unknown
  readonly cause: string
  readonly requestId: string | null
  readonly idempotency: ActorInsert["idempotency"]
}

/** Revision 1, ready to insert, with the commands and deadlines of the machine's first state. */
export const firstRevision = (definition: ActorDefinition, actor: NewActor): ActorInsert => {
  const input = plainText(actor.input)
  const { snapshot, commands, deadlines } = begin(definition.machine, input)
  const { at } = input
  return {
    row: {
      id: actor.id,
      kind: definition.kind,
      accountId: actor.accountId,
      sandboxId: actor.sandboxId,
      machineVersion: definition.version,
      revision: 1,
      snapshot: store(snapshot),
      pending: commands,
      deadlines,
      changedAt: at
    },
    input,
    payload: actor.payload,
    dueAt: earliest(deadlines),
    createdAt: at,
    transition: {
      at,
      event: { type: "CREATED", at },
      from: null,
      to: snapshot.value as string,
      commands,
      cause: actor.cause,
      requestId: actor.requestId
    },
    idempotency: actor.idempotency
  }
}
