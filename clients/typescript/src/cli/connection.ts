/** The service and the key of a command: the environment's, else those that `atoll login` stored. */
import { Atoll } from "../Atoll.ts"
import { type Credentials, storedCredentials } from "./credentials.ts"
import { Refused, WrongUsage } from "./failure.ts"
import { remark } from "./standardStreams.ts"

const defaultUrl = "http://127.0.0.1:8080"

const variable = (name: string): string | undefined => process.env[name] || undefined

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

export const isLoopback = (url: string): boolean => loopback.test(new URL(url).hostname)

/** A service's address as it may be typed: its scheme, and `/api/v2` behind it, are optional. */
export const serviceUrl = (typed: string): string => {
  const text = typed.trim()
  const host = /^\[[\da-f:]+\]|^[^/:]+/i.exec(text)?.[0] ?? ""
  const withScheme = text.includes("://") ? text : `${loopback.test(host) ? "http" : "https"}://${text}`
  const url = URL.canParse(withScheme) ? new URL(withScheme) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new WrongUsage(
      `${JSON.stringify(typed)} is no address of a service: one looks like https://atoll.example.com.`
    )
  }
  return (url.origin + url.pathname).replace(/\/+$/, "").replace(/\/api\/v2$/, "")
}

/** The address of the service: the option's, the environment's, the stored one, or the default. */
export const urlInUse = (option: string | undefined): string => {
  const named = option ?? variable("ATOLL_URL")
  if (named !== undefined) return serviceUrl(named)
  // Only a command that needs the stored key reports an unreadable file.
  try {
    return storedCredentials()?.url ?? defaultUrl
  } catch {
    return defaultUrl
  }
}

/** A stored key goes to the service that it was stored for, and to no other. */
export const credentialsInUse = (option: string | undefined): Credentials => {
  const apiKey = variable("ATOLL_API_KEY")
  if (apiKey !== undefined) return { url: urlInUse(option), apiKey }
  const stored = storedCredentials()
  const url = urlInUse(option)
  if (stored === null) {
    throw new Refused(
      `Nobody is logged in. Log in with an API key, which you make in the service's console: \`atoll login\`. Or set ATOLL_API_KEY and ATOLL_URL.`
    )
  }
  if (url !== stored.url) {
    throw new Refused(
      `The key that is stored is for ${stored.url}, and is not sent to ${url}. Log in there (\`atoll login --url ${url}\`), or set ATOLL_API_KEY.`
    )
  }
  return stored
}

const sayAfterMs = 1_500

/** Tells the user that the service is away while it is retried. */
const patientFetch = (url: string): typeof globalThis.fetch => {
  let awaySince: number | null = null
  let isTold = false
  return async (...request) => {
    try {
      const answer = await globalThis.fetch(...request)
      if (isTold) remark(`${url} answers again.`)
      awaySince = null
      isTold = false
      return answer
    } catch (thrown) {
      // The reader of stderr has gone.
      if (request[1]?.signal?.aborted === true) throw thrown
      awaySince ??= Date.now()
      if (!isTold && Date.now() - awaySince > sayAfterMs) {
        isTold = true
        remark(`${url} does not answer; trying again …`)
      }
      throw thrown
    }
  }
}

/** For a service that answered when the command began, and is away for a moment. */
const patienceDefaultSeconds = 60
/** For one that never answered: a person waits, and may mean another address. */
const unreachedSeconds = 3

/** @param patienceSeconds How long an absent service is retried. */
export const connect = ({ url, apiKey }: Credentials, patienceSeconds?: number): Atoll => {
  const patience =
    patienceSeconds === undefined ? { patienceSeconds: patienceDefaultSeconds, unreachedSeconds } : { patienceSeconds }
  try {
    return new Atoll({ url, apiKey, ...patience, fetch: patientFetch(url) })
  } catch (thrown) {
    throw thrown instanceof TypeError ? new Refused(thrown.message) : thrown
  }
}
