/**
 * Serves previews by their host names: proxies HTTP/1.1, and upgraded connections byte for byte.
 *
 * Streams are piped, so backpressure works in both directions, through the guest's flow control up to the program.
 *
 * @source contract.md "Previews"; RFC 9110 section 7.6
 */

import { type IncomingMessage, type ServerResponse, STATUS_CODES, request as sendRequest } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Cause, Context, Effect, Exit, FiberSet, Layer, Scope } from "effect"
import { previewMachine } from "../../machines/preview.ts"
import { isTagged } from "../actor/taggedStates.ts"
import { Settings } from "../Config.ts"
import { clientOf } from "../gateway/Clients.ts"
import { discardRest } from "../gateway/discardRest.ts"
import { LiveConnections, type Release } from "../gateway/LiveConnections.ts"
import type { RawGateway } from "../gateway/RawGateway.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import { endSoon } from "../gateway/socketEnd.ts"
import { PortClosed } from "../runtime/Guest.ts"
import { isDatabaseFault } from "../store/DatabaseFault.ts"
import { worker } from "../worker/Worker.ts"
import { type Framing, framingOf, hasBody } from "./Framing.ts"
import {
  changeHeaders,
  type Hop,
  requestHeaders,
  responseHeaders,
  trailersOf,
  upgradeHeaders
} from "./forwardedHeaders.ts"
import { type Dial, PreviewPool } from "./PreviewPool.ts"
import { Previews, type PreviewTarget } from "./Previews.ts"
import { previewIdOf } from "./previewHost.ts"
import { type Page, previewPages } from "./previewPages.ts"
import { previewSchemeOf } from "./previewUrl.ts"

const poolIdleMs = 30_000
/** Other requests may take the gathered places first. */
const gatherTriesMax = 3

const wantsHtml = ({ headers }: IncomingMessage): boolean => (headers.accept ?? "").includes("text/html")

const answerPage = (request: IncomingMessage, response: ServerResponse, page: Page): void => {
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

const head = (status: number, reason: string, headers: ReadonlyArray<string>): string => {
  let text = `HTTP/1.1 ${status} ${reason}\r\n`
  for (let at = 0; at + 1 < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${text}\r\n`
}

const answerPageOnSocket = (socket: Duplex, page: Page): void => {
  const headers = [...Object.entries(page.headers).flat(), "Content-Type", page.contentType]
  headers.push("Content-Length", String(Buffer.byteLength(page.body)), "Connection", "close")
  endSoon(socket, head(page.status, STATUS_CODES[page.status] ?? "", headers) + page.body)
}

/** Copies both ways until both sides have ended, or either breaks. */
const join = (a: Duplex, b: Duplex): void => {
  a.pipe(b).pipe(a)
  for (const [one, other] of [
    [a, b],
    [b, a]
  ] as const) {
    one.on("error", () => other.destroy())
    one.on("close", () => other.destroy())
  }
}

const pairsOf = (raw: ReadonlyArray<string>): Array<[string, string]> => {
  const found: Array<[string, string]> = []
  for (let at = 0; at + 1 < raw.length; at += 2) found.push([raw[at]!, raw[at + 1]!])
  return found
}

/** The parser accepts any three digits as a status, but the writer does not; a body with an unknown coding cannot be passed on either. */
const passesOn = (answer: IncomingMessage): boolean => {
  const { statusCode = 0 } = answer
  return statusCode >= 200 && statusCode <= 999 && framingOf(answer) !== null
}

/** Framing of a response for the visitor. A response without a body (HEAD, 304) keeps its Content-Length. */
const answerFraming = (answer: IncomingMessage, request: IncomingMessage): Framing => {
  const framing = framingOf(answer) ?? "none"
  const hasNoBody = request.method === "HEAD" || answer.statusCode === 204 || answer.statusCode === 304
  if (framing === "chunked") return request.httpVersion === "1.0" || hasNoBody ? "none" : framing
  return answer.statusCode === 204 ? "none" : framing
}

/**
 * The path for the program, or null. An absolute URL overrides the Host header (RFC 9112 section 3.2.2): it is passed on only if
 * both name the same host.
 */
const pathOf = ({ url = "/", headers, method }: IncomingMessage): string | null => {
  if (url.startsWith("/") || (url === "*" && method === "OPTIONS")) return url
  const [, authority, path] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? []
  if (authority === undefined || authority.toLowerCase() !== headers.host?.toLowerCase()) return null
  return path!.startsWith("/") ? path! : `/${path}`
}

/** The program's own reason phrase, if it is writable. */
const reasonOf = ({ statusCode = 0, statusMessage = "" }: IncomingMessage): string =>
  /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage) ? statusMessage : (STATUS_CODES[statusCode] ?? "")

const notAnswered = () => new Error("The program's response does not fit this request.")

/** Hints are optional: those that node:http would refuse are left out. */
const writeHints = (response: ServerResponse, raw: ReadonlyArray<string>): void => {
  const link = pairsOf(raw).flatMap(([name, value]) =>
    // One header may hold several links.
    name.toLowerCase() === "link" ? value.split(/,\s*(?=<)/) : []
  )
  try {
    if (link.length > 0) response.writeEarlyHints({ link })
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
  }
}

/** A connection for one request, outside any pool. */
const once =
  (dial: Dial) =>
  (_options: unknown, created: (error: Error | null, stream: Duplex) => void): undefined => {
    dial().then(
      (stream) => created(null, stream),
      (error: Error) => created(error, undefined as never)
    )
  }

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const previewDomain = settings.previewDomain.toLowerCase()
  const schemeAsServed = previewSchemeOf(settings)
  const previews = yield* Previews
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach
  const fork = yield* FiberSet.makeRuntimePromise()
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const pools = new Map<string, { readonly pool: PreviewPool; readonly release: Release }>()

  const isUsable = isTagged(previewMachine, "usable")
  const mayGoOn = (actor: { readonly status: string }) => isUsable(actor.status)

  /** Opens a connection with its own scope. */
  const dialOf =
    (target: PreviewTarget): Dial =>
    () =>
      fork(
        Effect.uninterruptibleMask(
          Effect.fnUntraced(function* (restore) {
            const scope = yield* Scope.make()
            const stream = yield* restore(reach.dial(target, target.port)).pipe(
              Scope.provide(scope),
              Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
            )
            const end = () => void runFork(Scope.close(scope, Exit.void))
            if (stream.destroyed) end()
            else stream.once("close", end)
            return stream
          })
        )
      )

  const endPool = (actorId: string) => {
    const found = pools.get(actorId)
    pools.delete(actorId)
    found?.release()
    found?.pool.destroy()
  }

  /** The pool counts as a connection of its preview, so it is cut with the preview. Null: the limit is reached. */
  const poolOf = (target: PreviewTarget): PreviewPool | null => {
    const { actorId } = target
    const known = pools.get(actorId)
    if (known !== undefined) return known.pool
    const pool = new PreviewPool(dialOf(target))
    const release = connections.open({ ...target, cut: () => endPool(actorId), mayGoOn })
    if (release === null) return null
    pools.set(actorId, { pool, release })
    return pool
  }

  yield* worker(
    "preview pools",
    Effect.forever(
      Effect.andThen(
        Effect.sleep(poolIdleMs),
        Effect.sync(() => {
          for (const [actorId, { pool }] of pools) {
            if (pool.isIdle && Date.now() - pool.lastUsedAt > poolIdleMs) endPool(actorId)
          }
        })
      )
    )
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => [...pools.keys()].forEach(endPool)))

  const hopOf = (request: IncomingMessage): Hop => {
    const { address, said, scheme } = clientOf(request)
    return { scheme: scheme ?? schemeAsServed, address: address || "unknown", said }
  }

  const refusalOf = (error: Error, { port }: PreviewTarget, isHtml: boolean): Page => {
    if (error instanceof PortClosed) return previewPages.nothingListens(port, isHtml)
    return "_tag" in error && error._tag === "GuestUnavailable"
      ? previewPages.sandboxSilent(isHtml)
      : previewPages.brokeOff(isHtml)
  }

  const forward = (
    request: IncomingMessage,
    response: ServerResponse,
    target: PreviewTarget,
    pool: PreviewPool
  ): void => {
    const framing = framingOf(request)
    const path = pathOf(request)
    if (framing === null || path === null) {
      // A proxy in front may have seen another end of the message.
      response.shouldKeepAlive = false
      answerPage(request, response, previewPages.malformed(wantsHtml(request)))
      return
    }
    const release = connections.open({
      ...target,
      mayGoOn,
      cut: (why) => {
        isCut = true
        // A visitor without a response yet gets the one of a closed preview.
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
    // A kept-alive connection may be closing, so it carries only requests that can be repeated.
    const canRepeat = !hasBody(framing) && ["GET", "HEAD", "OPTIONS"].includes(method)
    let outgoing: ReturnType<typeof sendRequest> | null = null
    let isCut = false
    const attempt = (isFirst: boolean): void => {
      const fail = (error: Error) => {
        if (response.destroyed || isCut) return
        if (response.headersSent) response.destroy()
        else answerPage(request, response, refusalOf(error, target, wantsHtml(request)))
      }
      const sent = sendRequest({
        method,
        path,
        headers: requestHeaders(request, framing, hopOf(request)),
        setHost: false,
        ...(canRepeat && isFirst ? { agent: pool } : { createConnection: once(dialOf(target)) })
      })
      outgoing = sent
      sent.on("error", (error) => {
        const again = sent.reusedSocket && canRepeat && isFirst && !response.headersSent
        if (again && !response.destroyed && !isCut) attempt(false)
        else fail(error)
      })
      sent.on("information", ({ statusCode, rawHeaders }) => {
        const takesHints = request.httpVersion !== "1.0" && !response.headersSent && !response.destroyed
        if (statusCode === 103 && takesHints) writeHints(response, rawHeaders)
      })
      // The visitor requested no upgrade. Without a listener the request would end without a response.
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
    response.once("close", () => {
      release()
      if (!response.writableFinished) outgoing?.destroy()
    })
    request.on("error", () => outgoing?.destroy())
    attempt(true)
  }

  const relay = (answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void => {
    const framing = answerFraming(answer, request)
    response.sendDate = false
    response.writeHead(answer.statusCode ?? 502, reasonOf(answer), responseHeaders(answer, framing))
    // The head is sent immediately: an event stream may send nothing more for long.
    response.flushHeaders()
    answer.pipe(response, { end: false })
    answer.once("end", () => {
      const trailers = framing === "chunked" ? trailersOf(answer) : []
      if (trailers.length > 0) response.addTrailers(trailers)
      response.end()
    })
    answer.once("close", () => {
      if (!answer.complete) response.destroy()
    })
    answer.on("error", () => response.destroy())
  }

  const change = (request: IncomingMessage, socket: Socket, first: Buffer, target: PreviewTarget): void => {
    const isHtml = false
    const path = pathOf(request)
    if (path === null) {
      answerPageOnSocket(socket, previewPages.malformed(isHtml))
      return
    }
    const release = connections.open({
      ...target,
      mayGoOn,
      cut: () => {
        sent?.destroy()
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
      headers: upgradeHeaders(request, hopOf(request)),
      setHost: false,
      createConnection: once(dialOf(target))
    })
    socket.on("error", () => sent.destroy())
    socket.once("close", () => sent.destroy())
    sent.on("error", (error) => {
      if (socket.bytesWritten > 0 || socket.writableEnded) socket.destroy()
      else answerPageOnSocket(socket, refusalOf(error, target, isHtml))
    })
    sent.on("upgrade", (answer, stream, rest) => {
      socket.write(head(answer.statusCode ?? 101, reasonOf(answer), changeHeaders(answer)))
      if (rest.length > 0) socket.write(rest)
      if (first.length > 0) stream.write(first)
      join(socket, stream)
    })
    sent.on("response", (answer) => {
      if (!passesOn(answer)) {
        answerPageOnSocket(socket, refusalOf(notAnswered(), target, isHtml))
        sent.destroy()
        return
      }
      // Chunked coding is removed here; the end of the connection marks the end of the body.
      const framing = answerFraming(answer, request)
      const headers = [...responseHeaders(answer, framing === "chunked" ? "none" : framing), "Connection", "close"]
      socket.write(head(answer.statusCode ?? 502, reasonOf(answer), headers))
      answer.pipe(socket, { end: false })
      answer.once("end", () => endSoon(socket))
      answer.once("close", () => {
        if (!answer.complete) socket.destroy()
      })
      answer.on("error", () => socket.destroy())
    })
    sent.end()
  }

  const find = (request: IncomingMessage) => {
    const previewId = previewIdOf(request.headers.host, previewDomain)
    return previewId == null ? Promise.resolve(null) : fork(previews.find(previewId))
  }

  /** Runs `then` once this process has free places, or there are none; usually immediately. No other request can take them before `then` runs. */
  const withPlaces = (target: PreviewTarget, then: () => void, tries = gatherTriesMax): void | Promise<void> => {
    const gathering = tries > 0 ? connections.gather(target) : null
    return gathering === null ? then() : fork(gathering).then(() => withPlaces(target, then, tries - 1))
  }

  const failed = (cause: unknown) => void runFork(Effect.logError("Could not serve a preview", Cause.die(cause)))

  const gateway: RawGateway = {
    takes: (request) => previewIdOf(request.headers.host, previewDomain) !== undefined,
    request: (request, response) => {
      find(request)
        .then((target) => {
          if (response.destroyed) return
          if (target === null) return answerPage(request, response, previewPages.notFound(wantsHtml(request)))
          return withPlaces(target, () => {
            if (response.destroyed) return
            const pool = poolOf(target)
            if (pool === null) answerPage(request, response, previewPages.tooMany(wantsHtml(request)))
            else forward(request, response, target, pool)
          })
        })
        .catch((cause) => {
          if (isDatabaseFault(cause)) return answerPage(request, response, previewPages.unserved(wantsHtml(request)))
          failed(cause)
          response.destroy()
        })
    },
    upgrade: (request, socket, first) => {
      socket.on("error", () => {})
      find(request)
        .then((target) => {
          if (socket.destroyed) return
          if (target === null) return answerPageOnSocket(socket, previewPages.notFound(false))
          return withPlaces(target, () => {
            if (!socket.destroyed) change(request, socket as Socket, first, target)
          })
        })
        .catch((cause) => {
          if (isDatabaseFault(cause)) return answerPageOnSocket(socket, previewPages.unserved(false))
          failed(cause)
          socket.destroy()
        })
    }
  }
  return gateway
})

export class PreviewGateway extends Context.Service<PreviewGateway, RawGateway>()("atoll/preview/PreviewGateway") {
  static readonly layer = Layer.effect(PreviewGateway, make)
}
