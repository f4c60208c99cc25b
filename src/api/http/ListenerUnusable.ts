/** Errors for a port that the service cannot listen on. */
import { Schema } from "effect"
import type { HttpServerError } from "effect/http"
import type { SettingsShape } from "../../Config.ts"

/** The address is unusable. `message` is a sentence for the operator. */
export class ListenerUnusable extends Schema.TaggedError<ListenerUnusable>()("ListenerUnusable", {
  message: Schema.String
}) {}

export const listenerUnusable =
  ({ host, port }: SettingsShape) =>
  ({ cause }: HttpServerError.ServeError): ListenerUnusable => {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined
    switch (code) {
      case "EADDRINUSE":
        return new ListenerUnusable({
          message: `Port ${port} of ${host} is in use by another program. Stop it, or set ATOLL_PORT to another port.`
        })
      case "EACCES":
        return new ListenerUnusable({
          message: `Port ${port} needs root or CAP_NET_BIND_SERVICE. Set ATOLL_PORT to one above 1023.`
        })
      case "EADDRNOTAVAIL":
      case "ENOTFOUND":
      case "EAI_AGAIN":
        return new ListenerUnusable({ message: `ATOLL_HOST, ${host}, is no address of this machine.` })
      default:
        return new ListenerUnusable({ message: `Cannot listen on ${host} port ${port}: ${String(cause)}.` })
    }
  }
