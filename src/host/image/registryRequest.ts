/** One GET of a registry: every address on its way is checked, and credentials stay with the host that they are for. */
import { type IncomingMessage, request as plainRequest } from "node:http"
import { request as tlsRequest } from "node:https"
import { forbiddenAddress, registryFailed } from "./imageRefusals.ts"
import { type AllowedRegistries, checkedAddress, type Resolve } from "./registryAddress.ts"

export interface RequestOptions {
  readonly allowed: AllowedRegistries
  /** The end of a connection on which nothing, or next to nothing, arrives for so long. */
  readonly stallMs: number
  readonly signal: AbortSignal
  /** Default: the host's resolver. */
  readonly resolve?: Resolve
}

export interface RegistryAnswer {
  readonly status: number
  readonly url: URL
  readonly message: IncomingMessage
}

const REDIRECTS_MAX = 5
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const once = async (
  url: URL,
  headers: Readonly<Record<string, string>>,
  { allowed, stallMs, signal, resolve }: RequestOptions
): Promise<RegistryAnswer> => {
  const address = await checkedAddress(url, allowed, resolve)
  const send = url.protocol === "https:" ? tlsRequest : plainRequest
  return await new Promise((done, fail) => {
    const sent = send(url, {
      headers: { "user-agent": "atoll", "accept-encoding": "identity", ...headers },
      // Never kept: a kept connection may be to an address that is not allowed any more.
      agent: false,
      timeout: stallMs,
      signal,
      lookup: (_name, { all }, answer) =>
        all === true ? answer(null, [{ address, family: 4 }]) : answer(null, address, 4)
    })
    const giveUp = () => sent.destroy(registryFailed(`${url.host} did not answer within ${stallMs} ms`))
    sent.on("timeout", giveUp)
    // Headers may come a byte at a time.
    const timer = setTimeout(giveUp, stallMs)
    sent.on("error", (cause) => {
      clearTimeout(timer)
      fail(signal.aborted ? signal.reason : cause)
    })
    sent.on("response", (message) => {
      clearTimeout(timer)
      done({ status: message.statusCode ?? 0, url, message })
    })
    sent.end()
  })
}

const nextOf = ({ message, url }: RegistryAnswer): URL => {
  const next = URL.parse(message.headers.location ?? "", url.href)
  if (next === null || next.username !== "" || next.password !== "") throw forbiddenAddress()
  next.hash = ""
  return next
}

/** Follows redirects. `authorization` goes to the host of `url` alone. */
export const registryRequest = async (
  url: URL,
  headers: Readonly<Record<string, string>>,
  authorization: string | null,
  options: RequestOptions
): Promise<RegistryAnswer> => {
  let at = url
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const own = authorization !== null && at.origin === url.origin ? { authorization } : {}
    const answer = await once(at, { ...headers, ...own }, options)
    if (!REDIRECTS.has(answer.status)) return answer
    answer.message.destroy()
    at = nextOf(answer)
  }
  throw registryFailed(`${url.host} redirects more than ${REDIRECTS_MAX} times`)
}

/** The whole body, which must come within `stallMs`. Null: it is longer than `maxBytes`. */
export const bodyOf = async (
  { message, url }: RegistryAnswer,
  maxBytes: number,
  { stallMs }: Pick<RequestOptions, "stallMs">
): Promise<Buffer | null> => {
  const late = () => message.destroy(registryFailed(`${url.host} did not complete its answer within ${stallMs} ms`))
  const timer = setTimeout(late, stallMs)
  const pieces: Array<Buffer> = []
  let bytes = 0
  try {
    for await (const piece of message as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > maxBytes) return null
      pieces.push(piece)
    }
    return Buffer.concat(pieces)
  } finally {
    clearTimeout(timer)
  }
}
