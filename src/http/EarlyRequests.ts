/**
 * Requests that arrive between listening and serving: the port is bound before the handlers are built, and node drops a request
 * that nobody listens for without an answer. They wait here, and are served first; those that are too many are told to come again.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { refuseNow } from "./refuseNow.ts"
import { starting } from "./stopping.ts"

const waitingMax = 1000

export const holdEarlyRequests = (server: Server): void => {
  const waiting: Array<readonly [IncomingMessage, ServerResponse]> = []
  const hold = (request: IncomingMessage, response: ServerResponse) => {
    if (waiting.length < waitingMax) waiting.push([request, response])
    else refuseNow(request, response, starting())
  }
  server.on("request", hold)
  const onNewListener = (event: string | symbol) => {
    if (event !== "request") return
    server.off("newListener", onNewListener)
    // The listener is in place only after this event.
    process.nextTick(() => {
      server.off("request", hold)
      for (const [request, response] of waiting.splice(0)) server.emit("request", request, response)
    })
  }
  server.on("newListener", onNewListener)
}
