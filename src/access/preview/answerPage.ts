/** The pages that a preview answers with in place of its program. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { PortClosed } from "../../runtime/Guest.ts"
import { discardRest } from "../gateway/discardRest.ts"
import { endSoon } from "../gateway/socketEnd.ts"
import { type Page, previewPages } from "./previewPages.ts"

export const wantsHtml = ({ headers }: IncomingMessage): boolean => (headers.accept ?? "").includes("text/html")

export const answerPage = (request: IncomingMessage, response: ServerResponse, page: Page): void => {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  response.writeHead(page.status, {
    ...page.headers,
    "Content-Type": page.contentType,
    "Content-Length": Buffer.byteLength(page.body)
  })
  response.end(page.body)
  request.unpipe()
  discardRest(request)
}

export const head = (status: number, reason: string, headers: ReadonlyArray<string>): string => {
  let text = `HTTP/1.1 ${status} ${reason}\r\n`
  for (let at = 0; at + 1 < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${text}\r\n`
}

export const answerPageOnSocket = (socket: Duplex, page: Page): void => {
  const headers = [...Object.entries(page.headers).flat(), "Content-Type", page.contentType]
  headers.push("Content-Length", String(Buffer.byteLength(page.body)), "Connection", "close")
  endSoon(socket, head(page.status, STATUS_CODES[page.status] ?? "", headers) + page.body)
}

/** Why the program could not be asked, or did not answer. */
export const refusalOf = (error: Error, port: number, isHtml: boolean): Page => {
  if (error instanceof PortClosed) return previewPages.nothingListens(port, isHtml)
  return "_tag" in error && error._tag === "GuestUnavailable"
    ? previewPages.sandboxSilent(isHtml)
    : previewPages.brokeOff(isHtml)
}
