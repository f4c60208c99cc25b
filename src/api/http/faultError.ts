/** The response to a failure that its handler did not answer. A defect and its cause go to the log, and only there. */
import type { IncomingMessage } from "node:http"
import { Cause, Effect } from "effect"
import { type ContractError, Internal, ServiceUnavailable } from "../../../schemas/Errors.ts"
import { OwnerAway, StateUnusable } from "../../engine/ActorError.ts"
import { isDatabaseFault } from "../../store/DatabaseFault.ts"
import type { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { mayHaveChanged, outcomeUnknown, ownerAway } from "./BegunRequest.ts"
import { isContractError } from "./ErrorResponse.ts"
import { requestIdOf } from "./RequestId.ts"

const databaseAway = (wasBegun: boolean) =>
  new ServiceUnavailable(wasBegun ? outcomeUnknown("The service lost its database") : {})

/** The log has the reason. */
const unusable = () =>
  new Internal({
    message: "The stored state cannot be used by this version of the service. Report it with the requestId."
  })

/** @param route A template, as `/api/v2/sandboxes/:id`. */
export const faultError = (
  cause: Cause.Cause<unknown>,
  request: IncomingMessage,
  route: string,
  database: DatabaseWatch["Service"]
): Effect.Effect<ContractError> => {
  const fault = Cause.squash(cause)
  const wasBegun = mayHaveChanged(request)
  if (isContractError(fault)) return Effect.succeed(fault)
  if (isDatabaseFault(fault)) return Effect.as(database.fault(fault), databaseAway(wasBegun))
  if (fault instanceof OwnerAway) return Effect.succeed(ownerAway(wasBegun))
  if (fault instanceof StateUnusable) return Effect.succeed(unusable())
  return Effect.logError("A request met a defect", cause).pipe(
    Effect.annotateLogs({ requestId: requestIdOf(request), method: request.method, route }),
    Effect.as(new Internal(wasBegun ? outcomeUnknown("Something went wrong on our side") : {}))
  )
}
