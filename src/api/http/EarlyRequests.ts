/**
 * Requests between listening and serving. The port is bound before the handlers are built, and node drops a request
 * without a listener, without a response. So they wait here and are served first; beyond a limit they get 503.
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
    // The listener is installed only after this event.
    process.nextTick(() => {
      server.off("request", hold)
      for (const [request, response] of waiting.splice(0)) server.emit("request", request, response)
    })
  }
  server.on("newListener", onNewListener)
}
