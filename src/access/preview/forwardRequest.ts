/** A visitor's request on its way to the program, and the answer back. */
import { type ClientRequest, type IncomingMessage, type ServerResponse, request as sendRequest } from "node:http"
import type { Duplex } from "node:stream"
import { answerPage, refusalOf, wantsHtml } from "./answerPage.ts"
import { exchangeSimply } from "./exchangeSimply.ts"
import { type ForwardOptions, mayGoOn, once } from "./ForwardOptions.ts"
import { type Framing, framingOf, hasBody } from "./Framing.ts"
import { requestHeaders, trailersOf } from "./forwardedHeaders.ts"
import type { PreviewPool } from "./PreviewPool.ts"
import { previewPages } from "./previewPages.ts"
import { notAnswered, passesOn, pathOf, relay, writeHints } from "./programAnswer.ts"
import type { Dial } from "./Upstream.ts"

const sendBody = (request: IncomingMessage, sent: ClientRequest, framing: Framing): void => {
  if (!hasBody(framing)) {
    sent.end()
    return
  }
  request.pipe(sent, { end: false })
  request.once("end", () => {
    const trailers = trailersOf(request)
    if (trailers.length > 0) sent.addTrailers(trailers)
    sent.end()
  })
}

/** Whether the connection is kept, new, or one on which the request was sent. */
type Way = "kept" | "new" | Duplex

const connectionOf = (way: Way, pool: PreviewPool, dial: Dial) =>
  way === "kept" ? { agent: pool } : { createConnection: way === "new" ? once(dial) : () => way }

const takesHints = (request: IncomingMessage, response: ServerResponse): boolean =>
  request.httpVersion !== "1.0" && !response.headersSent && !response.destroyed

/** Only such a request can be sent again, and so go on a connection that the program might be closing just now. */
const canBeRepeated = (method: string, framing: Framing): boolean =>
  !hasBody(framing) && ["GET", "HEAD", "OPTIONS"].includes(method)

export const forwardRequest = (
  request: IncomingMessage,
  response: ServerResponse,
  pool: PreviewPool,
  { target, hop, dial, connections }: ForwardOptions
): void => {
  const framing = framingOf(request)
  const path = pathOf(request)
  if (framing === null || path === null) {
    // A proxy before us may have understood another end of it.
    response.shouldKeepAlive = false
    answerPage(request, response, previewPages.malformed(wantsHtml(request)))
    return
  }
  let outgoing: { readonly destroy: () => void } | null = null
  let isCut = false
  const release = connections.open({
    ...target,
    mayGoOn,
    cut: (why) => {
      isCut = true
      // Who has no answer yet gets the one that comes from now on.
      if (why === "stopping" || response.headersSent || response.destroyed) request.socket.destroy()
      else {
        response.shouldKeepAlive = false
        answerPage(request, response, previewPages.notFound(wantsHtml(request)))
      }
      outgoing?.destroy()
    }
  })
  if (release === null) {
    answerPage(request, response, previewPages.tooMany(wantsHtml(request)))
    return
  }
  const { method = "GET" } = request
  const canRepeat = canBeRepeated(method, framing)
  const headers = requestHeaders(request, framing, hop)
  const fail = (error: Error) => {
    if (response.destroyed || isCut) return
    if (response.headersSent) response.destroy()
    else answerPage(request, response, refusalOf(error, target.port, wantsHtml(request)))
  }
  const again = (error: Error) => {
    if (response.headersSent || response.destroyed || isCut) fail(error)
    else attempt("new")
  }
  const attempt = (way: Way): void => {
    const sent = sendRequest({ method, path, headers, setHost: false, ...connectionOf(way, pool, dial) })
    outgoing = sent
    sent.on("error", (error) => {
      if (sent.reusedSocket && canRepeat && way === "kept") again(error)
      else fail(error)
    })
    sent.on("information", ({ statusCode, rawHeaders }) => {
      if (statusCode === 103 && takesHints(request, response)) writeHints(response, rawHeaders)
    })
    // Nobody asked for another protocol. Without a listener the request would end without a word.
    sent.on("upgrade", (_answer, stream) => {
      stream.destroy()
      fail(notAnswered())
    })
    sent.on("response", (answer) => {
      if (isCut) answer.destroy()
      else if (passesOn(answer)) relay(answer, request, response)
      else {
        sent.destroy()
        fail(notAnswered())
      }
    })
    sendBody(request, sent, framing)
  }
  response.once("close", () => {
    release()
    if (!response.writableFinished) outgoing?.destroy()
  })
  request.on("error", () => outgoing?.destroy())
  if (!canRepeat) attempt("new")
  else if (!pool.nextIsSimple()) attempt("kept")
  else {
    const onOther = (replayed: Duplex) => {
      pool.noteOther()
      attempt(replayed)
    }
    const onFailure = (error: Error, wasKept: boolean) => (wasKept ? again(error) : fail(error))
    outgoing = exchangeSimply({ request, response, upstreams: pool.upstreams, path, headers, onOther, onFailure })
  }
}
