/** What a request for a tunnel says, and whether it would be refused. */
import { randomUUID } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { Effect } from "effect"
import { type ContractError, MethodNotAllowed, Unauthenticated } from "../../../schemas/Errors.ts"
import type { ServiceAccesses } from "../../access/serviceAccess/ServiceAccesses.ts"
import { tunnelProtocol } from "../../access/serviceAccess/tunnelBridge.ts"
import { invalidRequest, isContractError } from "./ErrorResponse.ts"
import { refuseQuery } from "./KnownQuery.ts"
import { queryOf } from "./RequestTarget.ts"

const tunnelQuery = { names: ["port", "client"], repeatable: [], prefix: null }

/** From Authorization, or the subprotocol after `atoll.tunnel`: browsers cannot set headers. */
export const capabilityOf = ({ headers }: IncomingMessage): string | null => {
  const bearer = /^bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1]
  if (bearer !== undefined) return bearer
  const [first, second] = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim())
  return first === tunnelProtocol && second ? second : null
}

export const unauthenticated = () =>
  new Unauthenticated({ message: "Send the capability as Authorization: Bearer CAPABILITY." })

export const methodNotAllowed = () => new MethodNotAllowed({ details: { allow: ["GET"] } })

interface Wanted {
  readonly port: number
  readonly client: string
}

export const wantedOf = (request: IncomingMessage): Wanted | ContractError => {
  const refused = refuseQuery(request, tunnelQuery)
  if (refused !== null) return refused
  const query = queryOf(request)
  const port = /^\d{1,5}$/.test(query.get("port") ?? "") ? Number(query.get("port")) : 0
  if (port < 1 || port > 65_535) return invalidRequest([{ path: ["port"], message: "Expected a port from 1 to 65535" }])
  const client = query.get("client") ?? randomUUID()
  return /^[\x21-\x7e]{1,64}$/.test(client)
    ? { port, client }
    : invalidRequest([{ path: ["client"], message: "Expected 1 to 64 printable ASCII characters" }])
}

/** For a request without a handshake: why a handshake would be refused, else that it is missing. Opens nothing. */
export const checkOf = (accesses: ServiceAccesses["Service"]) =>
  Effect.fnUntraced(function* (request: IncomingMessage): Effect.fn.Return<never, ContractError> {
    if (request.method !== "GET" && request.method !== "HEAD") return yield* methodNotAllowed()
    const capability = capabilityOf(request)
    if (capability === null) return yield* unauthenticated()
    const wanted = wantedOf(request)
    if (isContractError(wanted)) return yield* Effect.fail(wanted)
    yield* accesses.check(yield* accesses.recognise(capability), wanted.port)
    return yield* invalidRequest([{ path: ["Upgrade"], message: "Expected a WebSocket handshake" }])
  })
