/** A visitor's connection that changes its protocol, joined with the program's. */
import { type ClientRequest, type IncomingMessage, request as sendRequest } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { readEach } from "../../runtime/readInPlace.ts"
import { endSoon } from "../gateway/socketEnd.ts"
import { answerPageOnSocket, head, refusalOf } from "./answerPage.ts"
import { type ForwardOptions, mayGoOn, once } from "./ForwardOptions.ts"
import { changeHeaders, responseHeaders, upgradeHeaders } from "./forwardedHeaders.ts"
import { previewPages } from "./previewPages.ts"
import { answerFraming, notAnswered, passesOn, pathOf, reasonOf } from "./programAnswer.ts"

/** Both ways until both have ended, or either breaks. */
const join = (visitor: Socket, program: Duplex): void => {
  visitor.pipe(program)
  readEach(program, (piece) => {
    if (!visitor.write(piece)) program.pause()
    return visitor.writableLength === 0
  })
  visitor.on("drain", () => program.resume())
  program.on("end", () => visitor.end())
  for (const [one, other] of [
    [visitor, program],
    [program, visitor]
  ] as const) {
    one.on("error", () => other.destroy())
    one.on("close", () => other.destroy())
  }
}

/** A program that does not change the protocol: its answer, and the end of the connection. */
const answerOnSocket = (answer: IncomingMessage, request: IncomingMessage, socket: Socket): void => {
  // Chunks are taken apart here; the end of the connection is the end of the body.
  const framing = answerFraming(answer, request)
  const headers = [...responseHeaders(answer, framing === "chunked" ? "none" : framing), "Connection", "close"]
  socket.write(head(answer.statusCode ?? 502, reasonOf(answer), headers))
  answer.pipe(socket, { end: false })
  answer.once("end", () => endSoon(socket))
  answer.once("close", () => {
    if (!answer.complete) socket.destroy()
  })
  answer.on("error", () => socket.destroy())
}

export const forwardUpgrade = (
  request: IncomingMessage,
  socket: Socket,
  first: Buffer,
  { target, hop, dial, connections }: ForwardOptions
): void => {
  const isHtml = false
  const path = pathOf(request)
  if (path === null) {
    answerPageOnSocket(socket, previewPages.malformed(isHtml))
    return
  }
  let outgoing: ClientRequest | null = null
  const release = connections.open({
    ...target,
    mayGoOn,
    cut: () => {
      outgoing?.destroy()
      socket.destroy()
    }
  })
  if (release === null) {
    answerPageOnSocket(socket, previewPages.tooMany(isHtml))
    return
  }
  socket.setTimeout(0)
  socket.setNoDelay(true)
  socket.once("close", release)
  const sent = sendRequest({
    method: request.method ?? "GET",
    path,
    headers: upgradeHeaders(request, hop),
    setHost: false,
    createConnection: once(dial)
  })
  outgoing = sent
  socket.on("error", () => sent.destroy())
  socket.once("close", () => sent.destroy())
  sent.on("error", (error) => {
    if (socket.bytesWritten > 0 || socket.writableEnded) socket.destroy()
    else answerPageOnSocket(socket, refusalOf(error, target.port, isHtml))
  })
  sent.on("upgrade", (answer, stream, rest) => {
    socket.write(head(answer.statusCode ?? 101, reasonOf(answer), changeHeaders(answer)))
    if (rest.length > 0) socket.write(rest)
    if (first.length > 0) stream.write(first)
    join(socket, stream)
  })
  sent.on("response", (answer) => {
    if (!passesOn(answer)) {
      answerPageOnSocket(socket, refusalOf(notAnswered(), target.port, isHtml))
      sent.destroy()
      return
    }
    answerOnSocket(answer, request, socket)
  })
  sent.end()
}
