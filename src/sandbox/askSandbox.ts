/** A client's event to a Sandbox, with the machine's refusals as errors of the contract. */
import { Effect } from "effect"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { NotFound, SandboxUnavailable } from "../../schemas/Errors.ts"
import type { Sandbox } from "../../schemas/Sandbox.ts"
import type { EventRefused } from "../engine/ActorError.ts"
import type { ActorHost } from "../engine/ActorHost.ts"
import type { SandboxRecord } from "./ownSandbox.ts"
import { unavailable } from "./RunningSandbox.ts"
import { isGone } from "./sandboxStates.ts"

/** Deleted meanwhile: not found. Otherwise the state does not allow the request: 502. */
const refused = (code: string, status: string) =>
  code === "SANDBOX_DELETED" && isGone(status) ? new NotFound() : new SandboxUnavailable({ details: { status } })

export const refusals = {
  EventRefused: ({ code, state }: EventRefused) => Effect.fail(refused(code, state)),
  ActorNotFound: () => Effect.fail(new NotFound()),
  MailboxFull: unavailable
}

/** A client's request is decided on no older state than the one that was read for it. */
export const asked = ({ revision }: SandboxRecord, requestId: string) => ({ cause: "client", requestId, revision })

export const askSandbox = (
  host: ActorHost["Service"],
  record: SandboxRecord,
  type: "START" | "STOP" | "DELETE",
  requestId: string
) => host.send(sandboxMachine, record.id, { type }, asked(record, requestId)).pipe(Effect.catchTags(refusals))

/** A Sandbox that was deleted during the wait is not found. */
export const settled = (answer: Effect.Effect<Sandbox>, before: SandboxRecord): Effect.Effect<Sandbox, NotFound> =>
  Effect.flatMap(answer, (sandbox) =>
    isGone(sandbox.status) && !isGone(before.status) ? Effect.fail(new NotFound()) : Effect.succeed(sandbox)
  )
