/**
 * The session cookies of accounts and of the operator, and the proof that a request needs beside a cookie, because a browser sends cookies for
 * requests of any page.
 *
 * Their names begin with `__Host-` if browsers use https: then no subdomain (a preview, for example) and no plain http can set them.
 *
 * @source RFC 6265bis section 4.1.3 (prefixes), 5.6.7 (SameSite); W3C Fetch Metadata
 */
import type { IncomingMessage } from "node:http"
import { Context, Effect, Layer } from "effect"
import { Settings } from "../../Config.ts"
import { operatorSessionMaxMs } from "../../console/server/operatorAges.ts"
import { sessionMaxMs } from "../../console/server/Sessions.ts"
import { isCsrfOf, isToken } from "../../console/server/Token.ts"

/** The token of a request, unverified: no endpoint reads more than one cookie. */
const tokens = new WeakMap<IncomingMessage, string>()

interface Cookie {
  /** The token, if it is well-formed; null also for two cookies of the name, of which one is forged. */
  readonly read: (request: IncomingMessage) => string | null
  /** The value of Set-Cookie. */
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

export class SessionCookie extends Context.Service<SessionCookie, Cookie>()("atoll/api/http/SessionCookie") {
  static readonly layer = Layer.effect(SessionCookie, cookieOf("atoll_session", sessionMaxMs))
}

export class OperatorCookie extends Context.Service<OperatorCookie, Cookie>()("atoll/api/http/OperatorCookie") {
  static readonly layer = Layer.effect(OperatorCookie, cookieOf("atoll_operator", operatorSessionMaxMs))
}

/** Empty if no token was read. */
export const tokenOf = (request: IncomingMessage): string => tokens.get(request) ?? ""

/** By the browser's headers. A client without them is no browser, or one too old for SameSite; hence the CSRF header. */
export const isSameOrigin = ({ headers }: Pick<IncomingMessage, "headers">): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined && site !== "same-origin") return false
  const { origin, host } = headers
  return origin === undefined || URL.parse(origin)?.host === host?.toLowerCase()
}

/** Call it after the cookie was read. */
const hasCsrf = (request: IncomingMessage): boolean => {
  const given = request.headers["x-atoll-csrf"]
  return typeof given === "string" && isCsrfOf(tokenOf(request), given)
}

/** The same. True for a request from the console's own page. */
export const isFromItsPage = (request: IncomingMessage, cookieAlone: boolean): boolean =>
  isSameOrigin(request) && (cookieAlone || hasCsrf(request))
