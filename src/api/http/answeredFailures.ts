/** Turns every failure of a handler into the Error body, except the service's own faults. */
import type { IncomingMessage } from "node:http"
import { Cause, Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApiError } from "effect/http-api"
import type { ContractError } from "../../../schemas/Errors.ts"
import { errorResponse, fromSchemaError, isContractError } from "./ErrorResponse.ts"
import { requestIdOf } from "./RequestId.ts"

export type Handler = Effect.Effect<HttpServerResponse.HttpServerResponse, unknown, never>

/** Contract errors and decoding errors become responses; everything else passes on, and ends as 500. */
export const answerFailures = (handler: Handler): Handler =>
  Effect.catchCause(handler, (cause) => {
    for (const reason of cause.reasons) {
      if (!Cause.isFailReason(reason)) return Effect.failCause(cause)
      const fault = reason.error
      const error: ContractError | null = isContractError(fault)
        ? fault
        : HttpApiError.HttpApiSchemaError.is(fault) && fault.kind !== "Body" && fault.kind !== "ResponseHeaders"
          ? fromSchemaError(fault)
          : null
      if (error === null) return Effect.die(fault)
      return Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
        errorResponse(error, requestIdOf(request.source as IncomingMessage))
      ) as Effect.Effect<HttpServerResponse.HttpServerResponse>
    }
    return Effect.failCause(cause)
  })
