/**
 * The cookies of sessions, an account's and the operator's, and what a request must have beside one, for a browser sends it along whoever made it ask.
 *
 * Their names begin with `__Host-` where browsers come by https: then no subdomain (a preview, say) and no plain http can set it.
 *
 * @source RFC 6265bis section 4.1.3 (prefixes), 5.6.7 (SameSite); W3C Fetch Metadata
 */
import type { IncomingMessage } from "node:http"
import { Context, Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { operatorSessionMaxMs } from "../console/server/operatorAges.ts"
import { sessionMaxMs } from "../console/server/Sessions.ts"
import { isCsrfOf, isToken } from "../console/server/Token.ts"

/** The token that a request came with, whatever it is worth: no endpoint reads more than one cookie. */
const tokens = new WeakMap<IncomingMessage, string>()

interface Cookie {
  /** The token, if it looks like one; null also where there are two, of which one is not ours. */
  readonly read: (request: IncomingMessage) => string | null
  /** As Set-Cookie. */
  readonly set: (token: string) => string
  readonly cleared: string
}

const cookieOf = (plainName: string, maxAgeMs: number) =>
  Effect.map(Settings, ({ publicUrl, tlsCertFile }): Cookie => {
    const isSecure = publicUrl?.startsWith("https:") ?? tlsCertFile !== null
    const name = isSecure ? `__Host-${plainName}` : plainName
    const attributes = `Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`
    const start = `${name}=`
    return {
      read: (request) => {
        const found = (request.headers.cookie ?? "")
          .split(";")
          .map((pair) => pair.trim())
          .filter((pair) => pair.startsWith(start))
        const token = found[0]?.slice(start.length)
        if (found.length !== 1 || token === undefined || !isToken(token)) return null
        tokens.set(request, token)
        return token
      },
      set: (token) => `${start}${token}; ${attributes}; Max-Age=${maxAgeMs / 1000}`,
      cleared: `${start}; ${attributes}; Max-Age=0`
    }
  })

export class SessionCookie extends Context.Service<SessionCookie, Cookie>()("atoll/http/SessionCookie") {
  static readonly layer = Layer.effect(SessionCookie, cookieOf("atoll_session", sessionMaxMs))
}

export class OperatorCookie extends Context.Service<OperatorCookie, Cookie>()("atoll/http/OperatorCookie") {
  static readonly layer = Layer.effect(OperatorCookie, cookieOf("atoll_operator", operatorSessionMaxMs))
}

/** Empty where none was read. */
export const tokenOf = (request: IncomingMessage): string => tokens.get(request) ?? ""

/** As far as the browser says: one that says nothing is none, or so old that its cookie's SameSite is not heeded either; hence the CSRF header. */
export const isSameOrigin = ({ headers }: Pick<IncomingMessage, "headers">): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined && site !== "same-origin") return false
  const { origin, host } = headers
  return origin === undefined || URL.parse(origin)?.host === host?.toLowerCase()
}

/** After the cookie was read. */
const hasCsrf = (request: IncomingMessage): boolean => {
  const given = request.headers["x-atoll-csrf"]
  return typeof given === "string" && isCsrfOf(tokenOf(request), given)
}

/** The same. Of a browser, which sends the cookie along whoever made it ask. */
export const isFromItsPage = (request: IncomingMessage, cookieAlone: boolean): boolean =>
  isSameOrigin(request) && (cookieAlone || hasCsrf(request))
