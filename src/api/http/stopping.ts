/** Errors of a service that starts or stops: for an interrupted handler, and for a request that came too early or too late. */
import { ServiceUnavailable } from "../../../schemas/Errors.ts"
import { outcomeUnknown } from "./BegunRequest.ts"

/** Nothing was changed. */
export const stopping = () =>
  new ServiceUnavailable({ message: "The service is stopping. Send the request again.", details: null })

/** Too many requests came before the first could be served. */
export const starting = () =>
  new ServiceUnavailable({ message: "The service is starting. Send the request again.", details: null })

/** The request was in progress: a blind repetition may do everything twice. */
export const cutShort = () => new ServiceUnavailable(outcomeUnknown("The service stopped"))
