/** What is answered by a service that ends: by a handler that was cut, and to a request that came too late for one. */
import { ServiceUnavailable } from "../../schemas/Errors.ts"

export const stopping = () =>
  new ServiceUnavailable({ message: "The service is stopping. Send the request again.", details: null })
