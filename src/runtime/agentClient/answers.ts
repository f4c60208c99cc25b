/** Checks answers of the agent against the protocol of the route: the requested answer, or a refusal. */
import type { ClientHttp2Stream } from "node:http2"
import { Effect } from "effect"
import { refusalShape } from "../../agent/wire.ts"
import { GuestUnavailable } from "../Guest.ts"
import { heldTo, ProtocolBreach } from "./heldToShape.ts"
import { readAnswer } from "./readAnswer.ts"

interface Route {
  readonly path: string | null
  readonly refusals: ReadonlyArray<string>
}

interface JsonRoute extends Route {
  readonly answer: { readonly maxBytes: number }
}

/** Refusals that any route may give: the agent did nothing, and the request is at fault. */
const anywhere: ReadonlySet<string> = new Set([
  "INVALID_REQUEST",
  "ROUTE_UNKNOWN",
  "PAYLOAD_TOO_LARGE",
  "PROCESS_UNKNOWN",
  "IDENTITY_KNOWN"
])

/** A route's refusal; `message` can be shown. */
export class RouteRefused {
  readonly _tag = "RouteRefused"
  readonly code: string
  readonly message: string
  readonly details: Readonly<Record<string, unknown>> | null

  constructor(code: string, message: string, details: Readonly<Record<string, unknown>> | null) {
    this.code = code
    this.message = message
    this.details = details
  }
}

const decodeRefusal = heldTo(refusalShape)

/** A breach of the protocol, which ends the session. The agent's own text is not repeated. */
export const protocolFault = (cause: unknown): GuestUnavailable =>
  new GuestUnavailable({
    message: `The Sandbox's agent broke its protocol${cause instanceof ProtocolBreach ? `: ${cause.message}` : ""}`,
    fault: "protocol"
  })

export const brokenOff = () =>
  new GuestUnavailable({ message: "The Sandbox's agent broke off a stream", fault: "lost" })

export const held = <A>(decode: () => A): Effect.Effect<A, GuestUnavailable> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(decode())
    } catch (cause) {
      return Effect.fail(protocolFault(cause))
    }
  })

/** A refusal that this call does not expect. */
export const unexpected = ({ code }: RouteRefused): GuestUnavailable =>
  new GuestUnavailable({ message: `The Sandbox's agent refused with ${code}` })

/** The Sandbox cannot carry out the call, and its agent reports why. */
const CANNOT = 503

/** Reads an answer that is not 200. Any other 5xx is a failure of the agent itself, possibly in the middle of the call. */
export const refusalOf = (
  route: Route,
  status: number,
  stream: ClientHttp2Stream
): Effect.Effect<RouteRefused, GuestUnavailable> => {
  if (status >= 500 && status < 600 && status !== CANNOT) {
    return Effect.fail(
      new GuestUnavailable({ message: `The Sandbox's agent failed with status ${status}`, fault: "lost" })
    )
  }
  if (status < 400 || status >= 600)
    return Effect.fail(protocolFault(new ProtocolBreach("the status must be 200 or an error")))
  return Effect.flatMap(readAnswer(stream), (body) =>
    held(() => {
      const { code, message = "", details = null } = decodeRefusal(body)
      if (!route.refusals.includes(code) && !anywhere.has(code))
        throw new ProtocolBreach("code must be one of the route's")
      return new RouteRefused(code, message, details)
    })
  )
}

/** The JSON answer of a route, decoded. */
export const answerOf = <A>(
  route: JsonRoute,
  status: number,
  stream: ClientHttp2Stream,
  decode: (body: unknown) => A,
  maxBytes = route.answer.maxBytes
): Effect.Effect<A, RouteRefused | GuestUnavailable> =>
  status === 200
    ? Effect.flatMap(readAnswer(stream, maxBytes), (body) => held(() => decode(body)))
    : Effect.flatMap(refusalOf(route, status, stream), Effect.fail)
