/** The state of an actor as its row holds it. */
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
