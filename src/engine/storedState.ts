/** Converts an actor's row to its state. */
import type { ActorRow } from "../store/JournalRecord.ts"
import type { ActorState } from "./ActorDefinition.ts"

export const storedState = ({ id, kind, accountId, sandboxId, revision, snapshot }: ActorRow): ActorState => ({
  id,
  kind,
  accountId,
  sandboxId,
  revision,
  value: snapshot.value,
  context: snapshot.context
})
