/** Whether a Sandbox is the account's own, decided once for every request that names one. */
import { Effect } from "effect"
import { sandboxMachine } from "../../machines/sandbox.ts"
import type { SandboxContext } from "../../schemas/contexts/Sandbox.ts"
import { NotFound } from "../../schemas/Errors.ts"
import { readActor } from "../engine/readActor.ts"
import type { ActorRecord, Actors } from "../store/Actors.ts"
import { isGone } from "./sandboxStates.ts"

export type SandboxRecord = ActorRecord<SandboxContext, null>

/** The Sandbox as committed, also a deleted one. NotFound: another account's, or none. */
export const ownSandbox = (
  actors: Actors["Service"],
  accountId: string,
  sandboxId: string
): Effect.Effect<SandboxRecord, NotFound> =>
  Effect.flatMap(readActor(actors, sandboxMachine, sandboxId), (record) =>
    record?.accountId === accountId ? Effect.succeed(record as SandboxRecord) : Effect.fail(new NotFound())
  )

/** The same, but NotFound for a deleted one, too. */
export const ownLivingSandbox = (
  actors: Actors["Service"],
  accountId: string,
  sandboxId: string
): Effect.Effect<SandboxRecord, NotFound> =>
  Effect.filterOrFail(
    ownSandbox(actors, accountId, sandboxId),
    ({ status }) => !isGone(status),
    () => new NotFound()
  )
