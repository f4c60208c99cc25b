/** What is answered by a service that begins or ends: by a handler that was cut, and to a request that came too early or too late for one. */
import { ServiceUnavailable } from "../../schemas/Errors.ts"
import { outcomeUnknown } from "./BegunRequest.ts"

/** Nothing was changed. */
export const stopping = () =>
  new ServiceUnavailable({ message: "The service is stopping. Send the request again.", details: null })

/** Too many requests came before the first could be served. */
export const starting = () =>
  new ServiceUnavailable({ message: "The service is starting. Send the request again.", details: null })

/** It was being done: who simply repeats it may do everything twice. */
export const cutShort = () => new ServiceUnavailable(outcomeUnknown("The service stopped"))
