/**
 * The node:http or node:https server with its limits, and with the Error body even for requests that cannot be parsed.
 *
 * @source contract-details.md "Errors": every error body, those from the router itself included
 */
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { TLSSocket } from "node:tls"
import { InvalidRequest } from "../../../schemas/Errors.ts"
import { fileContentMaxBytes } from "../../../schemas/Limits.ts"
import { noteUnasked } from "../../access/gateway/discardRest.ts"
import { endSoon } from "../../access/gateway/socketEnd.ts"
import type { CertificateAndKey } from "./Certificate.ts"
import { holdEarlyRequests } from "./EarlyRequests.ts"
import { errorBody, headersOf, invalidRequest } from "./ErrorResponse.ts"
import { isUploading, mayBeLong } from "./LongUpload.ts"
import { PatientResponse } from "./PatientResponse.ts"
import { rawAnswer } from "./RawAnswer.ts"
import { requestIdFrom } from "./RequestId.ts"
import { requireOneHost } from "./requireOneHost.ts"

/** A path parameter of 4096 characters, percent-encoded, and a cursor of that length fit beside the other headers. */
const headMaxBytes = 64 * 1024
const headWithinMs = 20_000
const requestWithinMs = 300_000
/** Longer than load balancers keep idle connections, so that they close them first. */
const idleMs = 65_000

const speaksHttps = "This port serves HTTPS: use https:// instead of http://."

const refusals: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: `Expected at most ${headMaxBytes} bytes of URL and headers` },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: "The request did not arrive in time" },
  ERR_SSL_HTTP_REQUEST: { status: 400, message: speaksHttps }
}

/**
 * The stream for the response. A client that sent plain HTTP to HTTPS has no TLS session: the TCP connection below is still open
 * while this error is handled, and only then.
 */
const answerable = (error: NodeJS.ErrnoException, socket: Duplex): Duplex => {
  if (error.code !== "ERR_SSL_HTTP_REQUEST" || !(socket instanceof TLSSocket)) return socket
  const below: unknown = Reflect.get(socket, "_parent")
  return below instanceof Socket ? below : socket
}

/** Responds to malformed or too large requests, and closes the connection. */
const refuse = (error: NodeJS.ErrnoException, broken: Duplex): void => {
  // node:http emits this error once for each request, and leaves the rest to the listener.
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && isUploading(broken)) return
  const socket = answerable(error, broken)
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = refusals[error.code ?? ""] ?? {
    status: 400,
    message: "Expected a well-formed HTTP request"
  }
  const requestId = requestIdFrom(undefined)
  const issues = [{ path: [], message }]
  const refused =
    message === speaksHttps ? new InvalidRequest({ message, details: { issues } }) : invalidRequest(issues)
  const body = errorBody(refused, requestId)
  endSoon(socket, rawAnswer(status, body, requestId, headersOf(refused)))
}

const options: ServerOptions<typeof IncomingMessage, typeof PatientResponse> = {
  ServerResponse: PatientResponse,
  maxHeaderSize: headMaxBytes,
  headersTimeout: headWithinMs,
  requestTimeout: requestWithinMs,
  keepAliveTimeout: idleMs,
  // The edge requires it, so that its absence gets the same response as every other fault.
  requireHostHeader: false
}

/**
 * A request with `Expect: 100-continue` gets the 100 and arrives as one normal request. Without this, listeners of both events would handle it
 * twice. If no endpoint accepts its size, it gets no 100, and the refusal comes immediately, without the body.
 */
const answerWhoAsksFirst = (server: Server): void => {
  // With a listener node:http sends no 100 by itself.
  server.on("checkContinue", () => {})
  const passOn: (event: string, ...args: Array<unknown>) => boolean = server.emit.bind(server)
  server.emit = (event: string, ...args: Array<unknown>): boolean => {
    if (event !== "checkContinue") return passOn(event, ...args)
    const [request, response] = args as [IncomingMessage, ServerResponse]
    const isTaken = Number(request.headers["content-length"] ?? 0) <= fileContentMaxBytes || mayBeLong(request)
    if (isTaken) response.writeContinue()
    else {
      noteUnasked(request)
      response.shouldKeepAlive = false
    }
    return server.emit("request", request, response)
  }
}

/**
 * HTTP/1.1, with or without TLS: previews, tunnels and terminals take over whole connections, which HTTP/2 does not have for a single request.
 *
 * @param certificate Null: without TLS.
 */
export const protocolServer = (certificate: CertificateAndKey | null = null): Server => {
  const server =
    certificate === null
      ? createServer(options)
      : createHttpsServer({ ...options, ...certificate, handshakeTimeout: headWithinMs })
  // An expectation other than 100-continue may be ignored (RFC 9110 section 10.1.1); by default the answer would be a bare 417.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  answerWhoAsksFirst(server)
  server.on("clientError", refuse)
  holdEarlyRequests(server)
  requireOneHost(server)
  return server
}
